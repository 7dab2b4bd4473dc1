import { eq } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { MaybePromise } from '../../src/domain/ports/store'
import type { Vault } from '../../src/domain/ports/vault'
import { type Noun, type Records, type Write, withIds } from '../../src/domain/ports/writes'
import type { SealedMember } from '../sealed/binding'
import { keyColumns } from '../sealed/keys'
import { memberColumns, profileColumns } from '../sealed/members'
import { providerColumns } from '../sealed/providers'
import {
  noteColumns,
  replayColumns,
  requestColumns,
  unreadRiskColumns,
  unreadRiskHash,
} from '../sealed/requests'
import { all, placeholders, type QueryEngine, then } from './engine'
import type { Tables } from './tables'

type Row = Readonly<Record<string, unknown>>

/** Values that the caller already has. They are not read or generated again. */
interface Known {
  /** Ids for new records of each noun, in the order of the writes. */
  readonly ids?: Partial<Record<Noun, readonly number[]>>
  readonly requestKeys?: readonly string[]
  readonly members?: ReadonlyMap<number, SealedMember>
}

interface Written {
  /** Record id of each write. */
  readonly ids: readonly number[]
  /** Results that the caller awaits after it has sent COMMIT. */
  readonly pending: MaybePromise<unknown>
}

/** Maximum statements in flight, so that a large load does not fill the connection. */
const mostSent = 200

const tableNames = {
  organization: 'organizations',
  partner: 'partners',
  key: 'partnerKeys',
  region: 'regions',
  provider: 'providers',
  member: 'members',
  request: 'bookingRequests',
  note: 'requestNotes',
  unreadRisk: 'unreadRisks',
  replay: 'replays',
} as const satisfies Record<Noun, keyof Tables>

/** Nouns without generated ids. A region gets its id from the caller, and the others are found by their request. */
const unnumbered: readonly Noun[] = ['region', 'replay', 'unreadRisk']
const numbered = (Object.keys(tableNames) as Noun[]).filter((noun) => !unnumbered.includes(noun))

/** Requires an open transaction. */
export function recordQueries(engine: QueryEngine, vault: Vault) {
  const statements = writeStatements(engine)

  function freeIds(writes: readonly Write[], given: Known['ids'] = {}): MaybePromise<FreeIds> {
    const taken = numbered.flatMap((noun) => {
      const count = writes.filter((write) => 'add' in write && write.add === noun).length
      if (count === 0) return []
      const known = given[noun] ?? []
      const more = engine.takeIds(tableNames[noun], count - known.length)
      return [then(more, (more) => [noun, [...known, ...more].values()] as const)]
    })
    return then(all(taken), (ids) => new Map(ids))
  }

  function membersIn(writes: readonly Write[]): MaybePromise<Members> {
    const changed = writes.filter((write) => 'set' in write && write.set === 'member' && write.to.profile)
    const found = (changed as { id: number }[]).map(({ id }) => statements.findMember({ id }))
    return then(all(found), (rows) => new Map(rows.flat().map((row) => [row.id, row])))
  }

  return {
    /** Writes the records of a decision in order. @throws the engine's error if a record violates a constraint */
    write(writes: readonly Write[], known: Known = {}): MaybePromise<Written> {
      const read = all([freeIds(writes, known.ids), known.members ?? membersIn(writes)])
      const keys = known.requestKeys?.values()
      return then(read, ([free, members]) => writeAll(statements, writes, { vault, free, members, keys }))
    },
  }
}

type FreeIds = ReadonlyMap<Noun, Iterator<number>>
type Members = ReadonlyMap<number, SealedMember>

interface Given {
  readonly vault: Vault
  readonly free: FreeIds
  readonly members: Members
  readonly keys: Iterator<string> | undefined
}

function writeAll(
  { add, set, remove, tie }: ReturnType<typeof writeStatements>,
  writes: readonly Write[],
  given: Given,
): MaybePromise<Written> {
  const ids: number[] = []
  const added = new Map<Noun, number>()

  /** Sends the statements of similar writes. Adds the record ids of the writes to `ids`. */
  function send([write, ...others]: Alike): MaybePromise<unknown>[] {
    if (!('add' in write)) {
      const changed = [write.id, ...others.map((other) => (other as typeof write).id)]
      for (const id of changed) ids.push(id)
      if ('remove' in write) {
        const isHashed = write.remove === 'unreadRisk'
        const keys = isHashed ? changed.map((id) => unreadRiskHash(given.vault, id)) : changed
        return [remove(tableNames[write.remove], 'id', keys)]
      }
      const sent = set(tableNames[write.set], changed, changedColumns(write, given))
      return write.set === 'provider' ? [sent, ...tie(write.id, write.to, false)] : [sent]
    }
    const row = columnsOf(write.add, withIds(write.row, added), given)
    const known = (row.id as number | undefined) ?? given.free.get(write.add)?.next().value
    const inserted = add(tableNames[write.add], known === undefined ? row : { ...row, id: known })
    // On PostgreSQL the id is known before the insert. SQLite returns the id at once, not as a promise.
    const id = known ?? (inserted as number)
    added.set(write.add, id)
    ids.push(id)
    return write.add === 'provider' ? [inserted, ...tie(id, write.row, true)] : [inserted]
  }

  function sendFrom(first: number): MaybePromise<Written> {
    const sent: MaybePromise<unknown>[] = []
    let next = first
    while (next < writes.length && sent.length < mostSent) {
      const alike = alikeFrom(writes, next)
      sent.push(...send(alike))
      next += alike.length
    }
    const pending = all(sent)
    return next < writes.length ? then(pending, () => sendFrom(next)) : { ids, pending }
  }
  return sendFrom(0)
}

type Alike = readonly [Write, ...Write[]]

/**
 * Returns the writes from index `first` on that one statement can do: removals of records of one noun, or equal changes
 * of requests.
 */
function alikeFrom(writes: readonly Write[], first: number): Alike {
  const one = writes[first] as Write
  const isAlike = (other: Write) =>
    'remove' in one
      ? 'remove' in other && other.remove === one.remove
      : 'set' in one && one.set === 'request' && 'set' in other && other.to === one.to
  let end = first + 1
  while (end < writes.length && isAlike(writes[end] as Write)) end++
  return [one, ...writes.slice(first + 1, end)]
}

function columnsOf(noun: Noun, row: object, { vault, keys }: Given): Row {
  switch (noun) {
    case 'key':
      return keyColumns(vault, row)
    case 'provider':
      return providerColumns(row)
    case 'member':
      return { ...memberColumns(vault, row as Records['member']) }
    case 'request':
      return requestColumns(vault, row, keys?.next().value)
    case 'note':
      return { ...noteColumns(vault, row as Records['note']) }
    case 'unreadRisk':
      return unreadRiskColumns(vault, row as Records['unreadRisk'])
    case 'replay':
      return { ...replayColumns(vault, row as Records['replay']) }
    default:
      return { ...row }
  }
}

function changedColumns(write: Extract<Write, { set: Noun }>, { vault, members }: Given): Row {
  if (write.set === 'request') return requestColumns(vault, write.to)
  if (write.set === 'provider') return providerColumns(write.to)
  if (write.set !== 'member') return write.to
  const { profile, ...to } = write.to
  const member = members.get(write.id)
  return profile && member ? { ...to, ...profileColumns(vault, profile, member) } : to
}

/** A hash for an unread risk. */
type Id = number | string

type Statement = (values: Row) => MaybePromise<number>

/** Prepares statements at their first use, once per table and set of columns. */
function writeStatements({ db, tables, prepare, prepareWrite, isAmong, list }: QueryEngine) {
  const { id, all } = placeholders('id', 'all')
  const tableOf = (name: keyof Tables) =>
    tables[name] as unknown as SQLiteTable & Record<string, SQLiteColumn>
  const prepared = new Map<string, Statement>()
  function run(key: string, make: () => Statement, values: Row): MaybePromise<number> {
    const statement = prepared.get(key) ?? make()
    prepared.set(key, statement)
    return statement(values)
  }

  function add(name: keyof Tables, row: Row): MaybePromise<number> {
    const columns = Object.keys(row)
    const make = () => prepareWrite(db.insert(tableOf(name)).values(placeholders(...columns) as never))
    return run(`add ${name} ${columns}`, make, row)
  }

  /** A list of ids is one parameter, so one statement serves lists of any length. */
  const idIn = (column: SQLiteColumn, ids: readonly Id[]) =>
    ids.length === 1 ? eq(column, id) : isAmong(column, all)
  const idsIn = (ids: readonly Id[]) => (ids.length === 1 ? { id: ids[0] } : { all: list(ids) })
  const isOne = (ids: readonly Id[]) => ids.length === 1

  function remove(name: keyof Tables, column: string, ids: readonly Id[]): MaybePromise<number> {
    const make = () =>
      prepareWrite(db.delete(tableOf(name)).where(idIn(tableOf(name)[column] as SQLiteColumn, ids)))
    return run(`remove ${name} ${isOne(ids)}`, make, idsIn(ids))
  }

  return {
    add,
    remove,

    tie(providerId: number, row: Partial<Records['provider']>, isNew: boolean): MaybePromise<unknown>[] {
      const { licenses, inPersonRegionIds } = row
      return [
        ...(licenses && !isNew ? [remove('licenses', 'providerId', [providerId])] : []),
        ...(licenses ?? []).map((license) => add('licenses', { ...license, providerId })),
        ...(inPersonRegionIds && !isNew ? [remove('inPersonRegions', 'providerId', [providerId])] : []),
        ...(inPersonRegionIds ?? []).map((regionId) => add('inPersonRegions', { regionId, providerId })),
      ]
    },

    set(name: keyof Tables, ids: readonly number[], { id: _, ...row }: Row): MaybePromise<unknown> {
      const columns = Object.keys(row).sort()
      if (columns.length === 0) return undefined
      const to = placeholders(...columns) as never
      const make = () =>
        prepareWrite(
          db
            .update(tableOf(name))
            .set(to)
            .where(idIn(tableOf(name).id as SQLiteColumn, ids)),
        )
      return run(`set ${name} ${columns} ${isOne(ids)}`, make, { ...row, ...idsIn(ids) })
    },

    findMember: prepare(db.select().from(tables.members).where(eq(tables.members.id, id))),
  }
}
