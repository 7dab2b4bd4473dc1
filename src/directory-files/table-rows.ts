import { CsvFault, type CsvRow, readCsv } from './csv'
import { type DirectoryFault, type Place, quoted } from './faults'

/** How cells are parsed. Only `text` keeps leading and trailing spaces. */
type CellKind = 'text' | 'word' | 'time' | 'list' | 'integer' | 'boolean'

interface Column {
  readonly name: string
  readonly kind: CellKind
  readonly required: boolean
}

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

/** Parses a list of column names. A question mark means that the header row may omit the column. */
function columns(header: string): readonly Column[] {
  return header.split(' ').map((word) => {
    const name = word.replace('?', '')
    return { name, kind: kinds[name] ?? 'text', required: name === word }
  })
}

/** The CSV tables of a directory, with their columns. */
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

export interface CsvFile {
  readonly name: string
  readonly bytes: Uint8Array
}

export interface Origin {
  readonly file: string
  readonly line: number
}

/** The values of a row by column. Empty cells are absent. */
export type Row = Origin & { readonly values: Readonly<Record<string, unknown>> }

/** Returns the place of a cell, or of the whole row if no column is given. */
export function placeInTable({ file, line }: Origin, column = ''): Place {
  const suffix = column && `, ${column}`
  const row = `line ${line}`
  return { path: `${file} ${row}${suffix}`, column: `${file}${suffix}`, row, noun: 'row' }
}

/** Reads a file as the table that best matches its header row. Adds faults. Returns null without a valid header row. */
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
    fail(
      header.line,
      `the header row matches no table: it must have the columns of one of ${tableNames.join(', ')}`,
    )
    return null
  }
  const columns = columnIndexes(table, { line: header.line, cells: names }, fail)
  if (faults.length > before) return null
  const values = rows.flatMap((row) => {
    const count = filledCells(row)
    if (count === 0) return []
    if (row.cells.length < columns.length || count > columns.length) {
      fail(row.line, `has ${row.cells.length} cells, but the header row has ${columns.length}`)
      return []
    }
    return [{ file: file.name, line: row.line, values: parseRow(row, columns) }]
  })
  return { table, rows: values }
}

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

/** Returns the names of a header row, in their documented case, without empty columns at the end. */
function columnNames(header: CsvRow): string[] {
  const names = header.cells.slice(0, filledCells(header)).map((cell) => cell.trim())
  return names.map((name) => knownNames.get(name.toLowerCase()) ?? name)
}

/** Counts the cells of a row, except the empty cells at its end. */
function filledCells({ cells }: CsvRow): number {
  return cells.findLastIndex((cell) => cell.trim() !== '') + 1
}

/** Returns the table that shares the most columns with a header row; null if no table shares a column. */
function tableOf(header: readonly string[]): TableName | null {
  const fit = (table: TableName) => tables[table].filter(({ name }) => header.includes(name)).length
  const best = tableNames.reduce((a, b) => (fit(b) > fit(a) ? b : a))
  return fit(best) > 0 ? best : null
}

/** Returns the columns of a header row; null for an unknown column. Adds faults. */
function columnIndexes(table: TableName, { line, cells }: CsvRow, fail: Fail): (Column | null)[] {
  const known = tables[table]
  for (const { name, required } of known) {
    if (required && !cells.includes(name)) fail(line, `the header row lacks the column ${name} of ${table}`)
  }
  return cells.map((cell, index) => {
    const column = known.find(({ name }) => name === cell) ?? null
    const which = cell ? `column ${index + 1}, ${quoted(cell)},` : `column ${index + 1}, without a name,`
    if (!column) fail(line, `${which} is not one of ${known.map(({ name }) => name).join(', ')}`)
    else if (cells.indexOf(cell) < index) fail(line, `the header row has the column ${cell} twice`)
    return column
  })
}

function parseRow({ cells }: CsvRow, columns: readonly (Column | null)[]): Row['values'] {
  const values: Record<string, unknown> = {}
  for (const [index, column] of columns.entries()) {
    const value = column && parseCell(cells[index] as string, column.kind)
    if (value !== null) values[(column as Column).name] = value
  }
  return values
}

/** Returns null for an empty cell. Text that does not parse is returned unchanged, and the schema rejects this text. */
function parseCell(cell: string, kind: CellKind): unknown {
  const word = kind === 'text' ? cell : cell.trim()
  if (word === '') return null
  return cellParsers[kind]?.(word) ?? word
}

const cellParsers: Partial<Record<CellKind, (word: string) => unknown>> = {
  list: (words) => words.split(/[\s;]+/).filter((word) => word !== ''),
  integer: (word) => (/^-?\d{1,16}$/.test(word) ? Number(word) : null),
  // Spreadsheets write booleans in capitals, and times with seconds or without a leading zero.
  boolean: (word) => (/^(true|false)$/i.test(word) ? word.toLowerCase() === 'true' : null),
  time: (word) =>
    word.replace(/^(\d{1,2}):(\d\d)(:00)?$/, (_, hour, minute) => `${hour.padStart(2, '0')}:${minute}`),
}
