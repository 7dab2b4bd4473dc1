import type { Command } from 'commander'
import { type AuditAction, auditActions } from '../domain/audit'
import { type Kind, Refusal } from '../domain/errors'
import type { Records } from '../operations/context'
import { noteAct } from '../operations/maintenance'
import { makeAct } from './storage'
import { printNotice } from './terminal/output'

/** What a command is about to do, to which record as soon as that is known. */
export interface Tried {
  /** Null for what leaves no line when it is done. */
  readonly action: AuditAction | null
  /** As `partner`; null for commands that are about no single record. */
  readonly noun: string | null
  id: number | null
}

/** The records that commands are about, by their first word. */
const nouns: Readonly<Record<string, string>> = {
  organization: 'organization',
  partner: 'partner',
  token: 'partner',
  provider: 'provider',
  request: 'request',
  member: 'member',
}

/** What commands do that are not called as the audit log calls it. */
const alsoKnown: Readonly<Record<string, AuditAction>> = { 'provider.away': 'provider.time-off-add' }

/** What a command tries, by its words: `provider time-off remove` is provider.time-off-remove. A dry run tries nothing. */
export function triedBy(command: Command, flags: object): Tried {
  const words: string[] = []
  for (let one: Command | null = command; one?.parent; one = one.parent) words.unshift(one.name())
  const [first = '', ...others] = words
  const name = first === 'backup' ? `database.${others[0] ?? 'back-up'}` : `${first}.${others.join('-')}`
  const isDryRun = 'dryRun' in flags && flags.dryRun === true
  const action = isDryRun ? null : (alsoKnown[name] ?? auditActions.find((known) => known === name) ?? null)
  return { action, noun: nouns[first] ?? null, id: null }
}

/** Audited commands that change no record. */
const reading = /^(database\.|request\.(list|show|suggest)$|member\.(show|find|export)$)/

/** Whether a command changes records, which only an active database allows. */
export function changesRecords({ action }: Tried): boolean {
  return action !== null && !reading.test(action)
}

/** Says nothing of what was tried: the storage could not do it. */
const storageKinds: readonly Kind[] = ['storage_busy', 'storage_failed', 'database_unusable']

/** Does what a command is for; one that is refused leaves a line in the audit log, as one that is done. */
export async function auditRefusals(
  records: Records,
  tried: Tried,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (tried.action && error instanceof Refusal && !storageKinds.includes(error.kind)) {
      const record = tried.noun && tried.id !== null ? `${tried.noun} ${tried.id}` : null
      await noteAct(records, makeAct(), tried.action, record, error.kind).catch(() =>
        printNotice('that this was refused could not be noted in the audit log'),
      )
    }
    throw error
  }
}
