import type { Command } from 'commander'
import { type AuditAction, auditActions } from '../domain/audit'
import { type Kind, Refusal } from '../domain/errors'
import type { Records } from '../operations/context'
import { noteAct } from '../operations/maintenance'
import { makeAct } from './storage'
import { printNotice } from './terminal/output'

export interface Tried {
  /** Null if the command is not audited. */
  readonly action: AuditAction | null
  readonly noun: string | null
  readonly showsPeople: boolean
  /** Id of the record; null until the record is found. */
  id: number | null
}

const nouns: Readonly<Record<string, string>> = {
  organization: 'organization',
  partner: 'partner',
  token: 'partner',
  provider: 'provider',
  request: 'request',
  member: 'member',
}

/** Audit actions whose names differ from their commands. */
const alsoKnown: Readonly<Record<string, AuditAction>> = { 'provider.away': 'provider.time-off-add' }

/** Derives the action from the command: `provider time-off remove` is provider.time-off-remove. A dry run has no action. */
export function triedBy(command: Command, flags: object): Tried {
  const words: string[] = []
  for (let one: Command | null = command; one?.parent; one = one.parent) words.unshift(one.name())
  const [first = '', ...others] = words
  const name = first === 'backup' ? `database.${others[0] ?? 'back-up'}` : `${first}.${others.join('-')}`
  const isDryRun = 'dryRun' in flags && flags.dryRun === true
  const action = isDryRun ? null : (alsoKnown[name] ?? auditActions.find((known) => known === name) ?? null)
  return {
    action,
    noun: nouns[first] ?? null,
    showsPeople: /^(request|member|appointments|provider\.away|audit\.affected)\b/.test(name),
    id: null,
  }
}

const reading = /^(database\.|request\.(list|show|suggest)$|audit\.affected$|member\.(show|find|export)$)/

/** Commands that change records are refused on a deactivated database. */
export function changesRecords({ action }: Tried): boolean {
  return action !== null && !reading.test(action)
}

const storageKinds: readonly Kind[] = ['storage_busy', 'storage_failed', 'database_unusable']

/** Runs `work`. If `work` is refused, writes an audit line with the reason. */
export async function auditRefusals(records: Records, tried: Tried, work: () => Promise<void>) {
  try {
    await work()
  } catch (error) {
    if (tried.action && error instanceof Refusal && !storageKinds.includes(error.kind)) {
      const record = tried.noun && tried.id !== null ? `${tried.noun} ${tried.id}` : null
      await noteAct(records, makeAct(), tried.action, record, error.kind).catch(() =>
        printNotice('the audit log could not record this refusal'),
      )
    }
    throw error
  }
}
