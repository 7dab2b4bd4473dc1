import type { CopiedRow, CopiedTable, CopiedValue } from '../../src/domain/moment'
import { unusable } from '../findings/unusable'
import { dataKeyName } from '../sealed/data-key'

/** A column, by what stands in it. */
export interface CopiedColumn {
  readonly name: string
  readonly kind: 'flag' | 'number' | 'text' | 'bytes'
}

/** A table that both engines have, as an engine reads and fills it. */
export interface EngineTable extends CopiedTable {
  readonly kinds: readonly CopiedColumn[]
  readonly key: readonly string[]
}

/** What goes from one engine to the other, in an order in which no record points at one of a later table. */
const keys = {
  settings: ['name'],
  organizations: ['id'],
  partners: ['id'],
  partner_keys: ['id'],
  regions: ['id'],
  providers: ['id'],
  licenses: ['id'],
  in_person_regions: ['provider_id', 'region_id'],
  members: ['id'],
  booking_requests: ['id'],
  request_notes: ['id'],
  replays: ['request_id'],
  audit: ['id'],
} as const

/** The names of those tables. */
export const copiedNames = Object.keys(keys) as (keyof typeof keys)[]

/**
 * The settings that go with them. The rest is of one engine, one server or one place: its migrations, its last backups, who
 * listens where; and the state of the audit log, which each engine seals with other things beside.
 */
const copiedSettings = [dataKeyName, 'purpose', 'zone_data']

/** The condition that leaves out the other settings. */
export const isCopiedSetting = `name IN ('${copiedSettings.join("', '")}')`

/** A column as Drizzle describes it on either engine. */
interface Described {
  readonly name: string
  readonly dataType: string
  getSQLType(): string
}

/** @param columns as a schema has them: the order in which they are told is that of their names, on every engine */
export function engineTable(name: keyof typeof keys, columns: readonly Described[]): EngineTable {
  const kinds = columns
    .map((column) => ({ name: column.name, kind: kindOf(column) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  return { name, kinds, columns: kinds.map((column) => column.name), key: keys[name] }
}

function kindOf(column: Described): CopiedColumn['kind'] {
  if (column.dataType === 'boolean') return 'flag'
  const type = column.getSQLType()
  if (type === 'text') return 'text'
  return type === 'blob' || type === 'bytea' ? 'bytes' : 'number'
}

/**
 * How much is read and written at once: so many records at most, the first time fewer, and from then on as many as take about
 * so much by what those before them took. A person's profile may be a hundred bytes or a hundred thousand.
 */
const portion = { rows: 500, firstRows: 32, bytes: 2 * 2 ** 20 }

/** The key of a record, as the name of one that is damaged. */
function nameOfRow({ name, columns, key }: EngineTable, row: CopiedRow): string {
  const values = key.map((column) => row[columns.indexOf(column)])
  return `the record of ${name} with ${key.join(', ')} ${values.join(', ')}`
}

/** The values of a record as every engine tells them. @throws Refusal database_unusable for one that is damaged */
function toCopied(table: EngineTable, values: readonly unknown[]): CopiedRow {
  return table.kinds.map(({ name, kind }, at) => {
    const value = copiedValue(kind, values[at])
    if (value !== undefined) return value
    const row = values as CopiedRow
    throw unusable(`${nameOfRow(table, row)} is damaged: its ${name} is no ${kind}; restore a backup`)
  })
}

/** Undefined for what is none of a kind. */
function copiedValue(kind: CopiedColumn['kind'], value: unknown): CopiedValue | undefined {
  if (value === null) return null
  if (kind === 'flag') return flagOf(value)
  if (kind === 'text') return typeof value === 'string' ? value : undefined
  if (kind === 'bytes') return value instanceof Uint8Array ? value : undefined
  const number = Number(value)
  return Number.isSafeInteger(number) && value !== '' ? number : undefined
}

function flagOf(value: unknown): boolean | undefined {
  if (value === true || value === 1) return true
  return value === false || value === 0 ? false : undefined
}

/** Tables whose ids the engine gives: those of the others are told by what they are of, or by the program. */
const givesIds: ReadonlySet<string> = new Set<keyof typeof keys>([
  'organizations',
  'partners',
  'partner_keys',
  'providers',
  'licenses',
  'members',
  'booking_requests',
  'request_notes',
])

/** Whether the engine gives the ids of a table. */
export function hasGivenIds({ name }: CopiedTable): boolean {
  return givesIds.has(name)
}

/**
 * The statement of one portion of a table's records (keyset pagination).
 *
 * @param isFirst whether it is the first, which takes how many it shall have; the others take the key of the last record of
 *   the one before, and that
 * @param place the engine's word for the n-th value that it takes
 */
export function portionStatement(table: EngineTable, isFirst: boolean, place: (n: number) => string): string {
  const { name, columns, key } = table
  const conditions = name === 'settings' ? [isCopiedSetting] : []
  if (!isFirst) conditions.push(`(${quoted(key)}) > (${key.map((_, at) => place(at + 1)).join(', ')})`)
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''
  return `SELECT ${quoted(columns)} FROM ${name} ${where} ORDER BY ${quoted(key)} LIMIT ${place(isFirst ? 1 : key.length + 1)}`
}

/** Names of columns, as either engine reads them. */
export function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}

/**
 * The records of a table in the order of its key, some at a time, between which others have their turn.
 *
 * @param read gives a portion: of the first its length, of the others the key behind which it begins, and its length
 */
export async function* portionsOf(
  table: EngineTable,
  read: (isFirst: boolean, values: readonly CopiedValue[]) => Promise<readonly (readonly unknown[])[]>,
): AsyncGenerator<readonly CopiedRow[]> {
  const keyOf = (row: CopiedRow) => table.key.map((column) => row[table.columns.indexOf(column)] ?? null)
  let after: readonly CopiedValue[] | null = null
  for (let length = portion.firstRows; ; ) {
    const found: readonly (readonly unknown[])[] = await read(after === null, [...(after ?? []), length])
    const rows = found.map((row) => toCopied(table, row))
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < length) return
    after = keyOf(last)
    length = nextLength(rows)
    await new Promise(setImmediate)
  }
}

function isLong(value: CopiedValue): value is string | Uint8Array {
  return typeof value === 'string' || value instanceof Uint8Array
}

function nextLength(rows: readonly CopiedRow[]): number {
  const sizes = rows.flat().map((value) => (isLong(value) ? value.length : 8))
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  return Math.max(1, Math.min(portion.rows, Math.floor((portion.bytes * rows.length) / bytes)))
}

/** The refusal of a copy whose log is not as it was written. @param whose as `the database` */
export function brokenLog(whose: string, { id, fault }: { readonly id: number; readonly fault: string }) {
  return unusable(
    `the audit log of ${whose} is not as it was written: line ${id}: ${fault}; nothing was made`,
  )
}

/** The refusal of a record that the engine does not take. @param constraint the rule's own name, where it has one */
export function ruleBroken(table: EngineTable, row: CopiedRow, constraint: string | null) {
  const rule =
    constraint === null ? 'a rule of the new database' : `a rule of the new database, ${constraint}`
  return unusable(`${nameOfRow(table, row)} breaks ${rule}: mend it first; nothing was made`)
}

/** The table of an engine that has a name. */
export function tableNamed(tables: readonly EngineTable[], name: string): EngineTable {
  const table = tables.find((each) => each.name === name)
  if (!table) throw new Error(`no table goes by the name ${name}`)
  return table
}
