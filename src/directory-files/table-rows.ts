import { CsvFault, type CsvRow, readCsv } from './csv'
import { type DirectoryFault, type Place, quoted } from './faults'

/** What a column's cells hold: texts as they are, words and times of day without the blanks around them, and so on. */
type CellKind = 'text' | 'word' | 'time' | 'list' | 'integer' | 'boolean'

interface Column {
  readonly name: string
  readonly kind: CellKind
  /** Whether the header row must have it. */
  readonly required: boolean
}

/** What the cells of a column hold that are not any text. */
const kinds: Readonly<Record<string, CellKind>> = {
  id: 'integer',
  countryCode: 'word',
  stateProvinceCode: 'word',
  active: 'boolean',
  timeZone: 'word',
  languagesSpoken: 'list',
  modalities: 'list',
  inPersonRegions: 'list',
  minimumNoticeMinutes: 'integer',
  region: 'word',
  kind: 'word',
  weekdays: 'list',
  date: 'word',
  start: 'time',
  end: 'time',
  stepMinutes: 'integer',
  from: 'word',
  until: 'word',
}

/** The columns of a header row; those with a question mark may be left out. */
function columns(header: string): readonly Column[] {
  return header.split(' ').map((word) => {
    const name = word.replace('?', '')
    return { name, kind: kinds[name] ?? 'text', required: name === word }
  })
}

/** The tables that a directory is written as, and their columns; documented in docs/csv.md. */
export const tables = {
  regions: columns('countryCode stateProvinceCode stateProvinceNameLocal stateProvinceLabel id? active?'),
  providers: columns(
    'ref firstName lastName credentials? pronouns? gender? bio? timeZone languagesSpoken modalities ' +
      'inPersonRegions? minimumNoticeMinutes? active?',
  ),
  licenses: columns('ref region from until?'),
  schedules: columns('ref kind weekdays? date? start? end? stepMinutes? from? until?'),
}

export type TableName = keyof typeof tables
export const tableNames = Object.keys(tables) as TableName[]

/** A CSV file as it was read. */
export interface CsvFile {
  readonly name: string
  readonly bytes: Uint8Array
}

/** Where a part of a document stands: its file and line. */
export interface Origin {
  readonly file: string
  readonly line: number
}

/** What a row tells, by column; an empty cell tells nothing. */
export type Row = Origin & { readonly values: Readonly<Record<string, unknown>> }

/** A place in a file: a cell of a column, or the row where none is named. */
export function placeInTable({ file, line }: Origin, column = ''): Place {
  const suffix = column && `, ${column}`
  const row = `line ${line}`
  return { path: `${file} ${row}${suffix}`, column: `${file}${suffix}`, row, noun: 'row' }
}

/** Reads a file as the table that its header row fits best; null, with faults added, where it is none. */
export function readTable(file: CsvFile, faults: DirectoryFault[]): { table: TableName; rows: Row[] } | null {
  const before = faults.length
  const fail: Fail = (line, fault) => faults.push({ ...placeInTable({ file: file.name, line }), fault })
  const [header, ...rows] = parsedRows(file, fail)
  if (!header) {
    const place: Place = { path: file.name, column: file.name, row: 'line 1', noun: 'row' }
    if (faults.length === before) faults.push({ ...place, fault: 'is empty: a header row is required' })
    return null
  }
  const names = columnNames(header)
  const table = tableOf(names)
  if (!table) {
    fail(header.line, `the header row is none of those of ${tableNames.join(', ')}`)
    return null
  }
  const columns = columnIndexes(table, { line: header.line, cells: names }, fail)
  if (faults.length > before) return null
  const values = rows.flatMap((row) => {
    const count = filledCells(row)
    if (count === 0) return []
    if (row.cells.length < columns.length || count > columns.length) {
      fail(row.line, `has ${row.cells.length} cells where the header row has ${columns.length}`)
      return []
    }
    return [{ file: file.name, line: row.line, values: meaningsOf(row, columns) }]
  })
  return { table, rows: values }
}

/** Notes a fault of a line. */
type Fail = (line: number, fault: string) => void

function parsedRows({ bytes }: CsvFile, fail: Fail): CsvRow[] {
  try {
    return readCsv(bytes)
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error
    fail(error.line, error.message)
    return []
  }
}

const knownNames = new Map(
  Object.values(tables).flatMap((columns) => columns.map(({ name }) => [name.toLowerCase(), name])),
)

/** The names of a header row, as we write them where they are known; the empty columns at its end are none. */
function columnNames(header: CsvRow): string[] {
  const names = header.cells.slice(0, filledCells(header)).map((cell) => cell.trim())
  return names.map((name) => knownNames.get(name.toLowerCase()) ?? name)
}

/** How many cells a row has but for the empty ones at its end. */
function filledCells({ cells }: CsvRow): number {
  return cells.findLastIndex((cell) => cell.trim() !== '') + 1
}

/** The table whose columns a header row names most of. */
function tableOf(header: readonly string[]): TableName | null {
  const fit = (table: TableName) => tables[table].filter(({ name }) => header.includes(name)).length
  const best = tableNames.reduce((a, b) => (fit(b) > fit(a) ? b : a))
  return fit(best) > 0 ? best : null
}

/** The columns that a header row names, in its order; null for one that is not known. */
function columnIndexes(table: TableName, { line, cells }: CsvRow, fail: Fail): (Column | null)[] {
  const known = tables[table]
  for (const { name, required } of known) {
    if (required && !cells.includes(name)) fail(line, `the header row lacks ${name}, as ${table} have it`)
  }
  return cells.map((cell, index) => {
    const column = known.find(({ name }) => name === cell) ?? null
    const which = cell ? `column ${index + 1}, ${quoted(cell)},` : `column ${index + 1}, without a name,`
    if (!column) fail(line, `${which} is none of ${known.map(({ name }) => name).join(', ')}`)
    else if (cells.indexOf(cell) < index) fail(line, `${cell} stands in the header row twice`)
    return column
  })
}

function meaningsOf({ cells }: CsvRow, columns: readonly (Column | null)[]): Row['values'] {
  const values: Record<string, unknown> = {}
  for (const [index, column] of columns.entries()) {
    const value = column && meaningOf(cells[index] as string, column.kind)
    if (value !== null) values[(column as Column).name] = value
  }
  return values
}

/** A cell's value, null for none; one that is not of its kind stays a text, for the document's schema to refuse. */
function meaningOf(cell: string, kind: CellKind): unknown {
  const word = kind === 'text' ? cell : cell.trim()
  if (word === '') return null
  return meanings[kind]?.(word) ?? word
}

const meanings: Partial<Record<CellKind, (word: string) => unknown>> = {
  list: (words) => words.split(/[\s;]+/).filter((word) => word !== ''),
  integer: (word) => (/^-?\d{1,16}$/.test(word) ? Number(word) : null),
  // Spreadsheets write these in capitals, and times without the first zero or with seconds.
  boolean: (word) => (/^(true|false)$/i.test(word) ? word.toLowerCase() === 'true' : null),
  time: (word) =>
    word.replace(/^(\d{1,2}):(\d\d)(:00)?$/, (_, hour, minute) => `${hour.padStart(2, '0')}:${minute}`),
}
