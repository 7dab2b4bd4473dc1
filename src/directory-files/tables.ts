import type { DirectoryEntries } from '../domain/compare-directory'
import type { Fault } from '../domain/validation'
import { CsvFault, type CsvRow, formatCsv, readCsv } from './csv'
import { type DirectoryFile, DirectoryInvalid, type IsZone, readDirectoryFile } from './document'

type CellKind = 'text' | 'list' | 'integer' | 'boolean'

interface Column {
  readonly name: string
  readonly kind: CellKind
  /** Whether the header row must have it. */
  readonly required: boolean
}

/** What the cells of a column hold that are no texts. */
const kinds: Readonly<Record<string, CellKind>> = {
  id: 'integer',
  active: 'boolean',
  languagesSpoken: 'list',
  modalities: 'list',
  inPersonRegions: 'list',
  minimumNoticeMinutes: 'integer',
  weekdays: 'list',
  stepMinutes: 'integer',
}

/** The columns of a header row; those with a question mark may be left out. */
function columns(header: string): readonly Column[] {
  return header.split(' ').map((word) => {
    const name = word.replace('?', '')
    return { name, kind: kinds[name] ?? 'text', required: name === word }
  })
}

/** The tables that a directory is written as, and their columns; documented in the README. */
const tables = {
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

/** What the rows of a schedule describe, and the cells that each of them fills. */
const scheduleKinds: Readonly<Record<string, readonly string[]>> = {
  hours: ['weekdays', 'start', 'end', 'stepMinutes', 'from', 'until'],
  override: ['date', 'start', 'end', 'stepMinutes'],
  'time-off': ['from', 'until'],
}

/** A CSV file as it was read. */
export interface CsvFile {
  readonly name: string
  readonly bytes: Uint8Array
}

/** Where a part of a document stands: its file and line. */
interface Origin {
  readonly file: string
  readonly line: number
}

type Row = Origin & { readonly values: Readonly<Record<string, unknown>> }
type Element = Record<string, unknown>
type ProviderElement = Element & Record<'licenses' | 'workingHours' | 'overrides' | 'timeOff', Element[]>

/** The directory as it is stored, and the refs of the providers whose records cannot be read. */
export type StoredDirectory = DirectoryFile & { readonly unreadable: ReadonlySet<unknown> }

/**
 * What CSV files describe; each file is the table that its header row fits best. What no file tells is as
 * `stored` has it: a file of licenses alone replaces the licenses of all, and nothing else.
 *
 * @throws DirectoryInvalid with every fault and the line of the file that it is on
 */
export function readTables(
  files: readonly CsvFile[],
  stored: StoredDirectory,
  isZone: IsZone,
): DirectoryEntries {
  const { document, faults, placeOf } = documentOf(files, stored)
  try {
    // A stored zone that the data lacks is no fault of these files.
    const storedZones = new Set(stored.providers.map(({ timeZone }) => timeZone))
    const entries = readDirectoryFile(document, (name) => storedZones.has(name) || isZone(name))
    if (faults.length === 0) return entries
    throw new DirectoryInvalid([])
  } catch (error) {
    if (!(error instanceof DirectoryInvalid)) throw error
    const placed = error.faults.map(({ path, fault }) => ({ path: placeOf(path), fault }))
    throw new DirectoryInvalid([...faults, ...placed].sort(byLine))
  }
}

/** A document made of CSV files, not validated yet, and the faults that it cannot show. */
function documentOf(files: readonly CsvFile[], stored: StoredDirectory) {
  const faults: Fault[] = []
  const rows = new Map<TableName, Row[]>()
  for (const file of files) {
    const read = readTable(file, faults)
    if (!read) continue
    const fault = `another file tells the ${read.table} too`
    if (rows.has(read.table)) faults.push({ path: file.name, fault })
    else rows.set(read.table, read.rows)
  }
  // Without a table, what the others say of it would be faulty row by row.
  if (rows.size < files.length) throw new DirectoryInvalid(faults)
  return new DocumentBuilder(stored, rows, faults).build()
}

function readTable(file: CsvFile, faults: Fault[]): { table: TableName; rows: Row[] } | null {
  const told = faults.length
  const fail = (line: number, fault: string) => faults.push({ path: `${file.name} line ${line}`, fault })
  const [header, ...rows] = rowsOf(file, fail)
  if (!header) {
    if (faults.length === told) faults.push({ path: file.name, fault: 'is empty: a header row is required' })
    return null
  }
  const table = tableOf(header.cells)
  if (!table) {
    fail(header.line, `the header row is none of those of ${tableNames.join(', ')}`)
    return null
  }
  const columns = columnsOf(table, header, fail)
  if (faults.length > told) return null
  const values = rows.flatMap((row) => {
    if (row.cells.every((cell) => cell === '')) return []
    if (row.cells.length !== header.cells.length) {
      fail(row.line, `has ${row.cells.length} cells where the header row has ${header.cells.length}`)
      return []
    }
    return [{ file: file.name, line: row.line, values: meaningsOf(row, columns) }]
  })
  return { table, rows: values }
}

/** Notes a fault of a line. */
type Fail = (line: number, fault: string) => void

function rowsOf({ bytes }: CsvFile, fail: Fail): CsvRow[] {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return readCsv(bytes)
  } catch (error) {
    if (error instanceof CsvFault) fail(error.line, error.message)
    else if (error instanceof TypeError) fail(1, 'the file is not UTF-8')
    else throw error
    return []
  }
}

/** The table whose columns a header row names most of. */
function tableOf(header: readonly string[]): TableName | null {
  const fit = (table: TableName) => tables[table].filter(({ name }) => header.includes(name)).length
  const best = tableNames.reduce((a, b) => (fit(b) > fit(a) ? b : a))
  return fit(best) > 0 ? best : null
}

/** The columns that a header row names, in its order; null for one that is not known. */
function columnsOf(table: TableName, { line, cells }: CsvRow, fail: Fail): (Column | null)[] {
  const known = tables[table]
  for (const { name, required } of known) {
    if (required && !cells.includes(name)) fail(line, `the header row lacks ${name}, as ${table} have it`)
  }
  return cells.map((cell, index) => {
    const column = known.find(({ name }) => name === cell) ?? null
    if (!column) fail(line, `column ${index + 1} is none of ${known.map(({ name }) => name).join(', ')}`)
    else if (cells.indexOf(cell) < index) fail(line, `${cell} stands in the header row twice`)
    return column
  })
}

/** What the cells of a row mean; an empty one means nothing. */
function meaningsOf({ cells }: CsvRow, columns: readonly (Column | null)[]): Element {
  return Object.fromEntries(
    columns.flatMap((column, index) => {
      const cell = cells[index] as string
      return column && cell !== '' ? [[column.name, meaningOf(cell, column.kind)]] : []
    }),
  )
}

/** A cell's value; one that is not of its kind stays a text, for the document's schema to refuse. */
function meaningOf(cell: string, kind: CellKind): unknown {
  if (kind === 'list') return cell.split(/[\s;]+/).filter((word) => word !== '')
  if (kind === 'integer' && /^-?\d{1,16}$/.test(cell)) return Number(cell)
  // Spreadsheets write these in capitals.
  if (kind === 'boolean' && /^(true|false)$/i.test(cell)) return cell.toLowerCase() === 'true'
  return cell
}

const { compare } = new Intl.Collator('en', { numeric: true })

/** File by file and line by line; the faults of one line as they were found. */
function byLine(a: Fault, b: Fault): number {
  const lineOf = ({ path }: Fault) => path.replace(/,[^,]*$/, '')
  return compare(lineOf(a), lineOf(b))
}

const unreadableFault =
  'its stored record cannot be read: load providers, licenses and schedules together, or a JSON file'

class DocumentBuilder {
  readonly #origins = new Map<string, Origin>()
  /** The providers by ref, each with its path; of those with one ref, the first. */
  readonly #byRef = new Map<unknown, { path: string; provider: ProviderElement }>()

  constructor(
    private readonly stored: StoredDirectory,
    private readonly tables: ReadonlyMap<TableName, readonly Row[]>,
    private readonly faults: Fault[],
  ) {}

  build() {
    this.#refuseUnreadable()
    const regions = this.#elements('regions') ?? this.stored.regions
    const providers = this.#providers()
    for (const row of this.tables.get('licenses') ?? []) this.#addLicense(row)
    for (const row of this.tables.get('schedules') ?? []) this.#addToSchedule(row)
    const placeOf = (path: string) => this.#placeOf(path, providers)
    return { document: { regions, providers }, faults: this.faults, placeOf }
  }

  /** Of a provider whose record cannot be read nothing is known that the files leave out. */
  #refuseUnreadable(): void {
    const needed = ['providers', 'licenses', 'schedules'] as const
    if (needed.every((table) => this.tables.has(table))) return
    for (const row of needed.flatMap((table) => this.tables.get(table) ?? [])) {
      if (this.stored.unreadable.has(row.values.ref)) this.#fail(row, 'ref', unreadableFault)
    }
  }

  /** The rows of a table as the elements of the list of its name. */
  #elements(table: 'regions' | 'providers'): Element[] | undefined {
    return this.tables.get(table)?.map((row, index) => {
      this.#origins.set(`${table}[${index}]`, row)
      return { ...row.values }
    })
  }

  #providers(): ProviderElement[] {
    const stored = new Map(this.stored.providers.map((provider) => [provider.ref as unknown, provider]))
    const profiles = this.#elements('providers') ?? this.stored.providers
    return profiles.map((profile, index) => {
      const { licenses = [], workingHours = [], overrides = [], timeOff = [] } = stored.get(profile.ref) ?? {}
      const provider: ProviderElement = {
        ...profile,
        licenses: this.tables.has('licenses') ? [] : licenses,
        ...(this.tables.has('schedules')
          ? { workingHours: [], overrides: [], timeOff: [] }
          : { workingHours, overrides, timeOff }),
      }
      const path = `providers[${index}]`
      if (!this.#byRef.has(profile.ref)) this.#byRef.set(profile.ref, { path, provider })
      return provider
    })
  }

  #addLicense(row: Row): void {
    const { ref: _, ...license } = row.values
    this.#add(row, 'licenses', license)
  }

  #addToSchedule(row: Row): void {
    const { ref: _, kind, ...rest } = row.values
    const columns = scheduleKinds[String(kind)]
    if (!columns) {
      this.#fail(row, 'kind', `must be one of ${Object.keys(scheduleKinds).join(', ')}`)
      return
    }
    for (const name of Object.keys(rest)) {
      if (!columns.includes(name)) this.#fail(row, name, `must be empty where the kind is ${kind}`)
    }
    const values = Object.fromEntries(Object.entries(rest).filter(([name]) => columns.includes(name)))
    if (kind === 'override') this.#addOverride(row, values)
    else this.#add(row, kind === 'hours' ? 'workingHours' : 'timeOff', values)
  }

  /** Rows with one date are the windows of one override; a single one without times is a date without work. */
  #addOverride(row: Row, { date, ...window }: Element): void {
    const found = this.#require(row)
    if (!found) return
    const { overrides } = found.provider
    const known = overrides.findIndex((override) => override.date === date)
    const index = known < 0 ? overrides.length : known
    if (known < 0) this.#add(row, 'overrides', { date, windows: [] })
    const windows = overrides[index]?.windows as Element[]
    const isWithoutWork = Object.keys(window).length === 0
    if (known >= 0 && (isWithoutWork || windows.length === 0)) {
      this.#fail(row, 'date', 'a row without start and end must be the only one of its date')
    } else if (!isWithoutWork) {
      this.#origins.set(`${found.path}.overrides[${index}].windows[${windows.length}]`, row)
      windows.push(window)
    }
  }

  #add(row: Row, list: 'licenses' | 'workingHours' | 'overrides' | 'timeOff', element: Element): void {
    const found = this.#require(row)
    if (!found) return
    this.#origins.set(`${found.path}.${list}[${found.provider[list].length}]`, row)
    found.provider[list].push(element)
  }

  #require(row: Row): { path: string; provider: ProviderElement } | null {
    const found = this.#byRef.get(row.values.ref)
    const { ref } = row.values
    if (!found && !this.stored.unreadable.has(ref)) {
      this.#fail(row, 'ref', ref === undefined ? 'is required' : 'names no provider')
    }
    return found ?? null
  }

  #fail({ file, line }: Origin, column: string, fault: string): void {
    this.faults.push({ path: `${file} line ${line}, ${column}`, fault })
  }

  /** The file, line and column of a place in the document. */
  #placeOf(path: string, providers: readonly ProviderElement[]): string {
    const steps = path.split('.')
    for (let length = steps.length; length > 0; length--) {
      const origin = this.#origins.get(steps.slice(0, length).join('.'))
      const column = steps[length]?.replace(/\[\d+\]$/, '')
      if (origin) return `${origin.file} line ${origin.line}${column ? `, ${column}` : ''}`
    }
    const [, index, rest] = /^providers\[(\d+)\]\.?(.*)$/.exec(path) ?? []
    if (index === undefined) return `as stored, ${path}`
    return `provider ${providers[Number(index)]?.ref} as stored, ${rest}`
  }
}

/** A table of a directory as CSV, with its header row. */
export function formatTable(table: TableName, directory: DirectoryFile): string {
  const names = tables[table].map(({ name }) => name)
  const rows = rowsFor[table](directory).map((row) => names.map((name) => formatCell(row[name])))
  return formatCsv([names, ...rows])
}

const rowsFor: Readonly<Record<TableName, (directory: DirectoryFile) => Element[]>> = {
  regions: ({ regions }) => regions,
  providers: ({ providers }) => providers,
  licenses: ({ providers }) =>
    providers.flatMap(({ ref, licenses }) => licenses.map((license) => ({ ref, ...license }))),
  schedules: ({ providers }) =>
    providers.flatMap(({ ref, workingHours, overrides = [], timeOff = [] }) => [
      ...workingHours.map((hours) => ({ ref, kind: 'hours', ...hours })),
      ...overrides.flatMap(({ date, windows }) =>
        (windows.length > 0 ? windows : [{}]).map((window) => ({ ref, kind: 'override', date, ...window })),
      ),
      ...timeOff.map((absence) => ({ ref, kind: 'time-off', ...absence })),
    ]),
}

function formatCell(value: unknown): string {
  if (Array.isArray(value)) return value.join(' ')
  return value === undefined || value === null ? '' : String(value)
}
