import { type Column, getTableColumns, getTableName, type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Vault } from '../../src/domain/vault'
import { type Noun, type Write, withIds } from '../../src/domain/writes'
import type { SealedMember } from '../sealed/binding'
import type { Drizzle } from './drizzle'
import { idList } from './id-list'
import type { memberQueries } from './members'
import { addedColumns, changedColumns, type Row } from './record-columns'
import {
  bookingRequests,
  inPersonRegions,
  licenses,
  members,
  organizations,
  partnerKeys,
  partners,
  providers,
  regions,
  replays,
  requestNotes,
} from './schema'

/** Rows that are written by one statement: a message of so many is no burden to either side. */
const mostRows = 1_000
/** Statements that are made before the server is heard again: it waits for this process no longer than that takes. */
const mostSent = 50

const tables: Record<Noun, PgTable & { id: Column }> = {
  organization: organizations,
  partner: partners,
  key: partnerKeys,
  region: regions,
  provider: providers,
  member: members,
  request: bookingRequests,
  note: requestNotes,
  replay: replays,
}

/** What is known before the writes are: each where the caller has it already. */
export interface Known {
  /** Ids that were taken for records to be added, by noun, in order. */
  readonly ids?: Partial<Record<Noun, readonly number[]>>
  /** The record keys of requests to be added, in order. */
  readonly requestKeys?: readonly string[]
  /** What the sealed values of members are bound to, by id. */
  readonly members?: ReadonlyMap<number, SealedMember>
}

/** What was written: the ids of the record of each write, in order, and whether all that was to be added was. */
export interface Written {
  readonly ids: readonly number[]
  /** False where a slot was taken by another transaction: then this one is to be given up. */
  readonly isWhole: boolean
}

/** One statement for writes of one kind that follow one another, and how many rows it has to add. */
interface Statement {
  readonly text: SQL
  readonly adding: number
}

/** Writes records as sets: what follows one another and is of one kind goes with one statement. */
export function recordSets(db: Drizzle, vault: Vault, queries: ReturnType<typeof memberQueries>) {
  return {
    /** Writes in order, inside the transaction that is open: of no use any more where others were faster. */
    async write(writes: readonly Write[], known: Known = {}): Promise<Written> {
      const free = await freeIds(writes, known.ids ?? {})
      const members = known.members ?? (await sealedMembersOf(writes))
      const ids: number[] = []
      let isWhole = true
      let sent: Promise<void>[] = []
      const send = async ({ text, adding }: Statement) => {
        const rows = await db.execute(text)
        if (adding > 0 && rows.length < adding) isWhole = false
      }
      const isDone = () => allOf(sent, () => isWhole)
      for (const run of runsOf(prepared(writes, { free, members, keys: known.requestKeys?.values() }, ids))) {
        // Sent together, and done one after another. Of much, the server waits for no more than is made in a moment.
        sent.push(...statementsOf(run).map(send))
        if (run.length < mostRows && sent.length < mostSent) continue
        if (!(await isDone())) return { ids, isWhole }
        sent = []
      }
      await isDone()
      return { ids, isWhole }
    },
  }

  /** Ids for records to be added. They are never given again, whether or not they are used. */
  async function takeIds(noun: Noun, count: number): Promise<number[]> {
    if (count === 0) return []
    const sequence = sequenceOf(noun)
    const rows = await db.execute(sql`select nextval(${sequence}) from generate_series(1, ${count}::int4)`)
    return (rows as unknown as [string][]).map(([id]) => Number(id))
  }

  /** The columns of each write as it is asked for. @param ids takes the id of each */
  function* prepared(writes: readonly Write[], given: Given, ids: number[]): Generator<Kind> {
    const added = new Map<Noun, number>()
    for (const write of writes) {
      const kind = prepareOne(write, given, added)
      if (kind.verb === 'add') added.set(kind.noun, kind.id)
      ids.push(kind.id)
      yield kind
    }
  }

  /** @param added the ids of what the writes before it add */
  function prepareOne(write: Write, { free, members, keys }: Given, added: ReadonlyMap<Noun, number>): Kind {
    if ('remove' in write) return { verb: 'remove', noun: write.remove, id: write.id, row: {} }
    if ('set' in write) {
      const row = changedColumns(vault, write, members.get(write.id))
      return { verb: 'set', noun: write.set, id: write.id, row }
    }
    const row = addedColumns(vault, write.add, withIds(write.row, added), keys)
    const id = ownIdOf(row) ?? (free.get(write.add)?.next().value as number)
    return { verb: 'add', noun: write.add, id, row: { ...row, id } }
  }

  async function freeIds(writes: readonly Write[], taken: Partial<Record<Noun, readonly number[]>>) {
    const free = new Map<Noun, Iterator<number>>()
    for (const noun of numbered) {
      const count = writes.filter((write) => 'add' in write && write.add === noun).length
      const given = taken[noun] ?? []
      const more = await takeIds(noun, Math.max(0, count - given.length))
      free.set(noun, [...given, ...more].values())
    }
    return free
  }

  async function sealedMembersOf(writes: readonly Write[]): Promise<ReadonlyMap<number, SealedMember>> {
    const ids = writes.flatMap((write) => ('set' in write && write.set === 'member' ? write.id : []))
    return ids.length > 0 ? queries.listSealed(ids) : new Map()
  }
}

/** Waits for what was sent. What refers to a row that others were faster than fails too, and says nothing more than that. */
async function allOf(sent: readonly Promise<void>[], isWhole: () => boolean): Promise<boolean> {
  try {
    await Promise.all(sent)
  } catch (error) {
    if (isWhole()) throw error
  }
  return isWhole()
}

/** Nouns whose ids the database gives. */
const numbered: readonly Noun[] = ['organization', 'partner', 'key', 'provider', 'member', 'request', 'note']

/** The sequence that an identity column takes its ids from. */
function sequenceOf(noun: Noun): string {
  return `${getTableName(tables[noun])}_id_seq`
}

/** What writes are prepared with. */
interface Given {
  /** Ids for what is added, by noun. */
  readonly free: ReadonlyMap<Noun, Iterator<number>>
  readonly members: ReadonlyMap<number, SealedMember>
  readonly keys: Iterator<string> | undefined
}

interface Kind {
  readonly verb: 'add' | 'set' | 'remove'
  readonly noun: Noun
  readonly id: number
  readonly row: Row
}

/** The id that a record comes with: a region's own, and that of a replay's request. */
function ownIdOf(row: Row): number | undefined {
  return row.id as number | undefined
}

/** Stretches of writes that one statement can make: of one kind, with the same columns, and no record twice. */
function* runsOf(kinds: Iterable<Kind>): Generator<readonly Kind[]> {
  let run: Kind[] = []
  let [shape, ids] = ['', new Set<number>()]
  for (const kind of kinds) {
    const ownShape = shapeOf(kind)
    // Of a partner's keys one ends before another has none: one after the other, as they are told.
    const isSame = ownShape === shape && kind.noun !== 'key' && !ids.has(kind.id) && run.length < mostRows
    if (!isSame && run.length > 0) {
      yield run
      run = []
      ids = new Set()
    }
    shape = ownShape
    run.push(kind)
    ids.add(kind.id)
  }
  if (run.length > 0) yield run
}

/** Of whichever order: each file of a directory names what it tells in its own. */
function shapeOf({ verb, noun, row }: Kind): string {
  return verb === 'set' ? [verb, noun, ...Object.keys(row).sort()].join() : `${verb} ${noun}`
}

function statementsOf(run: readonly Kind[]): Statement[] {
  const [{ verb, noun }] = run as [Kind]
  const table = tables[noun]
  const ids = run.map(({ id }) => id)
  if (verb === 'remove') {
    return [{ text: sql`delete from ${table} where ${table.id} = any(${idList(ids)}::int8[])`, adding: 0 }]
  }
  const isNew = verb === 'add'
  const rows = run.map(({ id, row }) => ({ ...row, id }))
  const own = isNew ? adding(noun, rows) : changing(table, rows)
  const tied = noun === 'provider' ? tying(run, ids, isNew) : []
  return [own, ...tied].filter((statement) => statement !== null)
}

function adding(noun: Noun, rows: readonly Row[]): Statement {
  const table = tables[noun]
  const insert = inserting(table, rows)
  // The last word on double booking: whoever is overtaken is told by what is missing.
  const unlessTaken = sql` on conflict on constraint booking_requests_slot do nothing returning ${sql.identifier('id')}`
  return noun === 'request'
    ? { text: sql`${insert}${unlessTaken}`, adding: rows.length }
    : { text: insert, adding: 0 }
}

function inserting(table: PgTable, rows: readonly Row[]): SQL {
  const names = columnsOf(table).filter(([property]) => rows.some((row) => property in row))
  const columns = sql.join(
    names.map(([, column]) => sql.identifier(column.name)),
    sql`, `,
  )
  // Who waits for a slot of another transaction's has one order with all others, so that no two wait for each other.
  const order = table === bookingRequests ? sql` order by provider_id, starts_at` : sql``
  return sql`insert into ${table} (${columns}) select ${columns} from ${recordset(table, rows)}${order}`
}

/** Null where nothing of the row itself changes. */
function changing(table: PgTable & { id: Column }, rows: readonly Row[]): Statement | null {
  const [first = {}] = rows
  const names = columnsOf(table).filter(([property]) => property !== 'id' && property in first)
  if (names.length === 0) return null
  const to = names.map(([, { name }]) => sql`${sql.identifier(name)} = given.${sql.identifier(name)}`)
  const given = sql`${recordset(table, rows)} as given`
  const id = sql.identifier(table.id.name)
  return {
    text: sql`update ${table} set ${sql.join(to, sql`, `)} from ${given} where ${table.id} = given.${id}`,
    adding: 0,
  }
}

/** Rows as a parameter of one text, from which the server makes rows of the table again. */
function recordset(table: PgTable, rows: readonly Row[]): SQL {
  const columns = columnsOf(table)
  const told = rows.map((row) =>
    Object.fromEntries(
      columns.flatMap(([property, column]) =>
        row[property] === undefined ? [] : [[column.name, toJson(column, row[property])]],
      ),
    ),
  )
  return sql`json_populate_recordset(null::${table}, ${JSON.stringify(told)}::text::json)`
}

function toJson(column: Column, value: unknown): unknown {
  const driven = value === null ? null : column.mapToDriverValue(value)
  return Buffer.isBuffer(driven) ? `\\x${driven.toString('hex')}` : driven
}

/** What ties providers to regions is written anew. */
function tying(run: readonly Kind[], ids: readonly number[], isNew: boolean): (Statement | null)[] {
  const of = (
    name: 'licenses' | 'inPersonRegionIds',
    table: typeof licenses | typeof inPersonRegions,
    toRow: (each: unknown) => Row,
  ) => {
    if (!run.some(({ row }) => name in row)) return []
    const rows = run.flatMap(({ id, row }) =>
      (row[name] as readonly unknown[]).map((each) => ({ ...toRow(each), providerId: id })),
    )
    const remove = sql`delete from ${table} where ${table.providerId} = any(${idList(ids)}::int8[])`
    return [
      isNew ? null : { text: remove, adding: 0 },
      rows.length > 0 ? { text: inserting(table, rows), adding: 0 } : null,
    ]
  }
  return [
    ...of('licenses', licenses, (license) => license as Row),
    ...of('inPersonRegionIds', inPersonRegions, (regionId) => ({ regionId })),
  ]
}

function columnsOf(table: PgTable): [property: string, column: Column][] {
  return Object.entries(getTableColumns(table))
}
