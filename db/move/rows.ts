import type { Refusal } from '../../src/domain/errors'
import type { AuditSpans, CopySource, CopyTarget, TableSnapshot } from '../../src/domain/ports/database-copy'
import type { MaybePromise } from '../../src/domain/ports/store'
import { unusable } from '../findings/findings'
import type { AuditQueries } from '../queries/audit'
import { type CopiedColumn, type CopiedTable, copiedTables, isCopiedSetting, tableNamed } from './tables'

export type Run = (text: string, params: readonly unknown[]) => MaybePromise<readonly unknown[][]>

/** Rows in one batch. Each row may have 100 kB, so the limit bounds the memory. */
export const rowsAtOnce = 250

/** @param lastIdOf returns SQL for the highest id that a table ever generated */
export async function sourceOver(
  run: Run,
  log: AuditQueries,
  lastIdOf: (table: string) => string,
): Promise<Pick<CopySource, 'tables' | 'linesOf' | 'verifyLog'>> {
  const tables: TableSnapshot[] = []
  for (const { name, generatesIds } of copiedTables) {
    const lastId = generatesIds ? lastIdOf(name) : 'NULL'
    const where = name === 'settings' ? `WHERE ${isCopiedSetting}` : ''
    const [row] = await run(`SELECT count(*), ${lastId} FROM ${name} ${where}`, [])
    tables.push({ name, rows: Number(row?.[0]), lastId: generatesIds ? Number(row?.[1]) : null })
  }
  return {
    tables,
    linesOf: (table) => linesOf(run, table),
    verifyLog: () => verifyLog(log, 'the database'),
  }
}

/** Operations of the target's engine. All run in the transaction that creates the target. */
interface Filling {
  readonly run: Run
  /** Adds rows. @throws Refusal database_unusable that names the row, if it violates a constraint */
  add(table: CopiedTable, lines: readonly string[]): MaybePromise<void>
  /** Returns SQL after which the table generates only ids above $1. */
  keepIds(table: string): string
  openLog(): MaybePromise<AuditQueries>
}

export async function targetOver({ run, add, keepIds, openLog }: Filling): Promise<CopyTarget> {
  await run(`DELETE FROM settings WHERE ${isCopiedSetting}`, [])
  return {
    add: async (table, lines) => add(tableNamed(table), lines),
    async keepIds(table, lastId) {
      if (lastId > 0) await run(keepIds(table), [lastId])
    },
    linesOf: (table) => linesOf(run, table),
    async continueLog(spans) {
      const log = await openLog()
      await log.setState(spans)
      await verifyLog(log, 'the copy')
    },
  }
}

/** Yields the rows of a table as JSON lines, in batches and ordered by primary key. */
export async function* linesOf(run: Run, name: string): AsyncGenerator<readonly string[]> {
  const table = tableNamed(name)
  const names = quoted(table.columns.map((column) => column.name))
  for (let after: readonly unknown[] = []; ; ) {
    const conditions = name === 'settings' ? [isCopiedSetting] : []
    const marks = after.map((_, at) => `$${at + 1}`).join(', ')
    if (after.length > 0) conditions.push(`(${quoted(table.key)}) > (${marks})`)
    const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''
    const order = `ORDER BY ${quoted(table.key)} LIMIT ${rowsAtOnce}`
    const rows = await run(`SELECT ${names} FROM ${name} ${where} ${order}`, after)
    const lines = rows.map((row) => toLine(table, row))
    const last = lines.at(-1)
    if (last === undefined) return
    yield lines
    after = keyOf(table, JSON.parse(last))
    await new Promise(setImmediate)
  }
}

export function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}

/** @throws Refusal database_unusable if a value does not fit its column */
export function toLine(table: CopiedTable, values: readonly unknown[]): string {
  const row = table.columns.map(({ name, kind }, at) => [name, toJson(kind, values[at])] as const)
  const fault = row.findIndex(([, value]) => value === undefined)
  if (fault < 0) return JSON.stringify(Object.fromEntries(row))
  const { name, kind } = table.columns[fault] as CopiedColumn
  const record = nameOf(table, Object.fromEntries(row))
  throw unusable(`${record} is damaged (${name} is not of type ${kind})`, 'restore a backup')
}

/** Returns undefined if the value does not fit the kind. Bytes use PostgreSQL's hex format (PostgreSQL §8.4.1). */
function toJson(kind: CopiedColumn['kind'], value: unknown): string | number | boolean | null | undefined {
  if (value === null) return null
  if (kind === 'text') return typeof value === 'string' ? value : undefined
  if (kind === 'bytes') return value instanceof Uint8Array ? `\\x${value.toHex()}` : undefined
  if (kind === 'flag') return [true, 1, false, 0].includes(value as number) ? Boolean(value) : undefined
  const number = Number(value)
  return Number.isSafeInteger(number) && value !== '' ? number : undefined
}

export function fromLine({ columns }: CopiedTable, line: string): unknown[] {
  const row = JSON.parse(line)
  return columns.map(({ name, kind }) => {
    const value = row[name]
    return kind === 'bytes' && value !== null ? Buffer.from(value.slice(2), 'hex') : value
  })
}

type Row = Readonly<Record<string, unknown>>

function keyOf({ key }: CopiedTable, row: Row): unknown[] {
  return key.map((column) => row[column])
}

/** Names a row by its key only. Other values may be personal data. */
function nameOf(table: CopiedTable, row: Row): string {
  return `the record of ${table.name} with ${table.key.join(', ')} ${keyOf(table, row).join(', ')}`
}

export function constraintBroken(table: CopiedTable, line: string, constraint: string | null): Refusal {
  const rule = ['a constraint of the new database', constraint].filter(Boolean).join(', ')
  return unusable(
    `${nameOf(table, JSON.parse(line))} violates ${rule}, so nothing was copied`,
    'correct it first',
  )
}

async function verifyLog({ verify, walked }: AuditQueries, whose: string): Promise<AuditSpans> {
  const verdict = await verify(null)
  if (!verdict.intact) {
    const fault = `line ${verdict.id}: ${verdict.fault}`
    throw unusable(`the audit log of ${whose} was altered (${fault}), so nothing was copied`)
  }
  const { acts, refusals } = (await walked.stand()).state as AuditSpans
  return { acts, refusals }
}
