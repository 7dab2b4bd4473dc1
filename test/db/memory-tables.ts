import type { Act, AuditEntry, AuditLine, AuditState } from '../../src/domain/audit'
import { addLine } from '../../src/domain/audit'
import { Refusal } from '../../src/domain/errors'
import { foldEmail } from '../../src/domain/member'
import { holdsSlot } from '../../src/domain/request-states'
import type { Change, Decision, Noun, Records, Write } from '../../src/domain/writes'
import { linesOf, shownAs, withIds } from '../../src/domain/writes'
import { hashes } from '../support/audit-lines'

// The tables of an engine in memory, and how what was decided is written to them.

export type Row<N extends Noun> = Omit<Records[N], 'memberId'> & {
  readonly id: number
  readonly memberId: N extends 'request' ? number | null : N extends 'replay' ? number : never
}
export type Tables = { [N in Noun]: Map<number, Row<N>> }

/** All that connections share. A transaction works on a copy, which takes its place when it is through. */
export interface Kept {
  tables: Tables
  nextId: number
  lastUses: Map<string, number>
  changes: readonly Change[]
  /** How many of the oldest changes were dropped. */
  dropped: number
  audit: readonly AuditLine[]
  auditState: AuditState
}

export const eachNoun = <T>(make: (noun: Noun) => T) =>
  Object.fromEntries((Object.keys(shownAs) as Noun[]).map((noun) => [noun, make(noun)])) as Record<Noun, T>

export function transact<T>(kept: Kept, work: (copy: Kept) => T): T {
  const tables: unknown = eachNoun((noun) => new Map<number, object>(kept.tables[noun]))
  const copy = { ...kept, tables: tables as Tables }
  const answer = work(copy)
  Object.assign(kept, copy)
  return answer
}

export function carryOut<T>(kept: Kept, decision: Decision<T>, act: Act | null): T {
  if (decision instanceof Refusal) throw decision
  const ids: number[] = []
  const added = new Map<Noun, number>()
  for (const write of decision.writes) ids.push(apply(kept, write, added))
  kept.changes = kept.changes.concat(decision.taken.map((recordId) => ({ noun: 'taken', recordId })))
  if (act) append(kept, linesOf(decision, act, ids[0]))
  return decision.answer(ids)
}

/** @param added the ids of what the writes before it have added */
export function apply(kept: Kept, write: Write, added = new Map<Noun, number>()): number {
  const noun = 'add' in write ? write.add : 'set' in write ? write.set : write.remove
  const table = kept.tables[noun] as Map<number, object>
  const row = 'add' in write ? withIds(write.row, added) : null
  const id = 'add' in write ? (ownId(write.add, row) ?? kept.nextId++) : write.id
  if ('remove' in write) table.delete(id)
  else {
    table.set(id, { ...(row ?? table.get(id)), ...('set' in write && write.to), id })
    if ('add' in write) added.set(noun, id)
    holdUnique(kept, noun, id)
  }
  const shown = shownAs[noun]
  if (shown) kept.changes = [...kept.changes, { noun: shown, recordId: id }]
  return id
}

/** Regions bring their ids, and what is kept for retries has its request's. */
function ownId(noun: Noun, row: object | null): number | null {
  if (noun === 'region') return (row as Row<'region'>).id
  return noun === 'replay' ? Number((row as Row<'replay'>).requestId) : null
}

/** What no other record of the noun may have: nulls are no matter. */
function uniqueKeys(noun: Noun, row: object): unknown[] {
  if (noun === 'key') return [(row as Row<'key'>).kid]
  if (noun === 'member') return [foldEmail((row as Row<'member'>).profile.email) || null]
  if (noun === 'replay') {
    const { partnerId, retry } = row as Row<'replay'>
    return [`${partnerId} ${retry.key}`]
  }
  if (noun !== 'request') return []
  const { authorizationNumber, state, providerId, startsAt } = row as Row<'request'>
  const isHeld = startsAt !== null && holdsSlot(state)
  return [authorizationNumber, isHeld ? `${providerId} ${startsAt}` : null]
}

const slotTaken = () => new Refusal('slot_unavailable', 'the slot is not available')

/** What the schema of a database would refuse. */
function holdUnique({ tables }: Kept, noun: Noun, id: number): void {
  const keys = uniqueKeys(noun, tables[noun].get(id) as object)
  for (const other of tables[noun].values()) {
    const theirs = other.id === id ? [] : uniqueKeys(noun, other)
    const isTwice = keys.some((key, index) => key !== null && key === theirs[index])
    if (isTwice) throw noun === 'request' ? slotTaken() : new Error(`the ${noun} is there`)
  }
  const licenses = (noun === 'provider' && tables.provider.get(id)?.licenses) || []
  if (licenses.some(({ regionId }) => !tables.region.has(regionId))) throw new Error('no such region')
}

export function append(kept: Kept, entries: readonly AuditEntry[]): void {
  for (const entry of entries) {
    const { line, state } = addLine(hashes, kept.auditState, kept.audit.length + 1, entry)
    kept.audit = [...kept.audit, line]
    kept.auditState = state
  }
}

export const rowsOf = <N extends Noun>({ tables }: Kept, noun: N): Row<N>[] =>
  [...tables[noun].values()].sort((a, b) => a.id - b.id)
