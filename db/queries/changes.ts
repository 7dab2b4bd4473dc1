import { and, asc, gte, lte, max, sql } from 'drizzle-orm'
import type { TakenSlot, Version } from '../../src/domain/ports/directory-feed'
import type { MaybePromise } from '../../src/domain/ports/store'
import { type Change, type ChangedNoun, directoryNouns, type Outcome } from '../../src/domain/ports/writes'
import { placeholders, type QueryEngine, then } from './engine'

/** Maximum number of stored changes. A reader that missed more changes loads the whole directory. */
export const keptChanges = 10_000

/** `booked` is the slot of a booking. Readers then need not load all slots of the provider. */
export type Changed = readonly [noun: ChangedNoun, recordId: number, booked?: TakenSlot | undefined]

export interface Since {
  readonly version: Version
  readonly changes: readonly Change[]
  /** New bookings by provider. Omits a provider with a change `taken`, because all slots of that provider are loaded. */
  readonly booked: ReadonlyMap<number, readonly TakenSlot[]>
}

/** From requestId on, all values are null unless the change is a booking. */
type Row = readonly [
  version: number,
  noun: ChangedNoun,
  recordId: number,
  ...([requestId: null] | [requestId: number, startsAt: number, endsAt: number, localOffsetMinutes: number]),
]

/** Versions are in commit order, with gaps. SQLite has one writer; PostgreSQL uses a lock. */
export function changeQueries({ db, tables, prepare, prepareArrays, prepareWrite }: QueryEngine) {
  const { changes } = tables
  const { version, noun, recordId, requestId, startsAt, endsAt, localOffsetMinutes } = changes
  const open = placeholders('version')
  const newest = prepare(db.select({ version: max(version) }).from(changes))
  const isFrom = gte(version, open.version)
  const from = prepareArrays(
    db
      .select({ version, noun, recordId, requestId, startsAt, endsAt, localOffsetMinutes })
      .from(changes)
      .where(isFrom)
      .orderBy(asc(version)),
  )
  const isNotTaken = sql`(${noun} <> 'taken' or ${version} = ${open.version})`
  const untaken = prepare(
    db.select({ version, noun, recordId }).from(changes).where(and(isFrom, isNotTaken)).orderBy(asc(version)),
  )
  const columns = ['noun', 'recordId', 'requestId', 'startsAt', 'endsAt', 'localOffsetMinutes'] as const
  const add = prepareWrite(db.insert(changes).values(placeholders(...columns)))
  const oldest = sql`(select max(${version}) from ${changes}) - ${sql.raw(String(keptChanges))}`
  const forget = prepareWrite(db.delete(changes).where(lte(version, oldest)))
  const unbooked = { requestId: null, startsAt: null, endsAt: null, localOffsetMinutes: null }

  return {
    newestVersion: (): MaybePromise<Version> =>
      then(newest(), ([row]) => (row?.version ?? 0) as unknown as Version),

    /** Returns null if the row of `version` is missing, because later rows may be missing too. */
    since: (version: Version): MaybePromise<Since | null> =>
      then(from({ version }), (rows) => {
        const [first, ...rest] = rows as unknown as readonly Row[]
        return first?.[0] === (version as unknown as number) ? toSince(version, rest) : null
      }),

    /** Like `since`, but omits taken slots: there are many, and they do not make a decision stale. */
    sinceExceptTaken: (version: Version): MaybePromise<readonly Change[] | null> =>
      then(untaken({ version }), (rows) =>
        rows[0]?.version === (version as unknown as number) ? rows.slice(1) : null,
      ),

    add: ([noun, recordId, booked]: Changed) => add({ noun, recordId, ...(booked ?? unbooked) }),

    forget: () => forget(),
  }
}

function toSince(version: Version, rows: readonly Row[]): Since {
  const changes = rows
    .filter(([, , , requestId]) => requestId === null)
    .map(([, noun, recordId]) => ({ noun, recordId }))
  const again = new Set(changes.flatMap(({ noun, recordId }) => (noun === 'taken' ? recordId : [])))
  const booked = new Map<number, TakenSlot[]>()
  for (const [, , providerId, requestId, startsAt, endsAt, localOffsetMinutes] of rows) {
    if (requestId === null || again.has(providerId)) continue
    const slot = { requestId, startsAt, endsAt, localOffsetMinutes } as TakenSlot
    const slots = booked.get(providerId)
    if (slots) slots.push(slot)
    else booked.set(providerId, [slot])
  }
  return { version: (rows.at(-1)?.[0] as unknown as Version | undefined) ?? version, changes, booked }
}

/** @param ids the record id of each write */
export function changesOf({ writes, taken }: Outcome<unknown>, ids: readonly number[]): Changed[] {
  const changed: Changed[] = []
  let slot: TakenSlot | undefined
  for (const [index, write] of writes.entries()) {
    const id = ids[index] as number
    const shown = directoryNouns['add' in write ? write.add : 'set' in write ? write.set : write.remove]
    if (shown) changed.push([shown, id])
    if ('add' in write && write.add === 'request') {
      const { startsAt, endsAt, localOffsetMinutes } = write.row
      slot = { requestId: id, startsAt, endsAt, localOffsetMinutes } as TakenSlot
    }
  }
  return [...changed, ...taken.map((providerId): Changed => ['taken', providerId, slot])]
}
