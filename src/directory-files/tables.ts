import type { DirectoryEntries } from '../domain/decisions/compare-directory'
import { isCountryCode } from '../domain/region'
import { type CsvCell, formatCsv } from './csv'
import { type DirectoryFile, type IsZone, type ProviderInFile, readDirectoryFile } from './document'
import { type DirectoryFault, DirectoryInvalid, type Place, placeInDocument } from './faults'
import {
  type CsvFile,
  type Origin,
  placeInTable,
  type Row,
  readTable,
  type TableName,
  tables,
} from './table-rows'

/** The kinds of schedule rows, and the cells that each kind fills. */
const scheduleKinds: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['hours', ['weekdays', 'start', 'end', 'stepMinutes', 'from', 'until']],
  ['override', ['date', 'start', 'end', 'stepMinutes']],
  ['time-off', ['from', 'until']],
])

type Element = Record<string, unknown>
type ProviderElement = Element & Record<'licenses' | 'workingHours' | 'overrides' | 'timeOff', Element[]>

/** The stored directory, and the refs of providers whose records cannot be read. */
type StoredDirectory = DirectoryFile & { readonly unreadable: ReadonlySet<unknown> }

/**
 * Reads CSV files as a directory. A table without a file stays as stored. For example, a single file of licenses
 * replaces all licenses and nothing else.
 * @throws DirectoryInvalid with every fault, its file and line
 */
export function readTables(
  files: readonly CsvFile[],
  stored: StoredDirectory,
  isZone: IsZone,
): DirectoryEntries {
  return entriesOf(rowsByTable(files), stored, isZone)
}

/**
 * Checks CSV files without a database and counts the rows of each table. Without a table of regions, the regions in
 * other tables are assumed to exist. The same applies to providers.
 * @throws DirectoryInvalid with every fault, its file and line
 */
export function checkTables(files: readonly CsvFile[], isZone: IsZone): Partial<Record<TableName, number>> {
  const rows = rowsByTable(files)
  entriesOf(rows, assumeStored(rows.byTable), isZone)
  return Object.fromEntries(Array.from(rows.byTable, ([table, { length }]) => [table, length]))
}

interface ReadRows {
  readonly byTable: ReadonlyMap<TableName, readonly Row[]>
  readonly faults: DirectoryFault[]
}

/** @throws DirectoryInvalid if a file is not a table, or two files are the same table */
function rowsByTable(files: readonly CsvFile[]): ReadRows {
  const faults: DirectoryFault[] = []
  const byTable = new Map<TableName, Row[]>()
  for (const file of files) {
    const read = readTable(file, faults)
    if (!read) continue
    const fault = `another file also has the ${read.table}: give only one of them`
    if (byTable.has(read.table)) faults.push({ ...placeInDocument(file.name), fault })
    else byTable.set(read.table, read.rows)
  }
  // Stop here, because every row that refers to an unreadable table would be reported.
  if (byTable.size < files.length) throw new DirectoryInvalid(faults)
  return { byTable, faults }
}

function entriesOf({ byTable, faults: rowFaults }: ReadRows, stored: StoredDirectory, isZone: IsZone) {
  const { document, faults, placeOf } = new DocumentBuilder(stored, byTable, rowFaults).build()
  try {
    // Accept stored zones that the zone data lacks, because they are not a fault of these files.
    const storedZones = new Set(stored.providers.map(({ timeZone }) => timeZone))
    const entries = readDirectoryFile(document, (name) => storedZones.has(name) || isZone(name))
    if (faults.length === 0) return entries
    throw new DirectoryInvalid([])
  } catch (error) {
    if (!(error instanceof DirectoryInvalid)) throw error
    const placed = error.faults.map(({ path, fault, value }) => ({ ...placeOf(path), fault, value }))
    throw new DirectoryInvalid([...faults, ...placed].sort(byLine))
  }
}

const { compare } = new Intl.Collator('en', { numeric: true })

function byLine(a: DirectoryFault, b: DirectoryFault): number {
  const lineOf = ({ path }: DirectoryFault) => path.replace(/,[^,]*$/, '')
  return compare(lineOf(a), lineOf(b))
}

const unreadableFault =
  'its stored record cannot be read: load providers, licenses and schedules together, or a JSON file'

class DocumentBuilder {
  readonly #origins = new Map<string, Origin>()
  /** For each ref, the first provider with this ref and the path of that provider. */
  readonly #byRef = new Map<unknown, { path: string; provider: ProviderElement }>()

  constructor(
    private readonly stored: StoredDirectory,
    private readonly tables: ReadonlyMap<TableName, readonly Row[]>,
    private readonly faults: DirectoryFault[],
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

  /** Reports rows of providers with an unreadable stored record, unless the files replace the whole record. */
  #refuseUnreadable(): void {
    const needed = ['providers', 'licenses', 'schedules'] as const
    if (needed.every((table) => this.tables.has(table))) return
    for (const row of needed.flatMap((table) => this.tables.get(table) ?? [])) {
      if (this.stored.unreadable.has(row.values.ref)) this.#fail(row, 'ref', unreadableFault)
    }
  }

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
    const columns = scheduleKinds.get(kind)
    if (!columns) {
      this.#fail(row, 'kind', `must be one of ${[...scheduleKinds.keys()].join(', ')}`)
      return
    }
    for (const name of Object.keys(rest)) {
      if (!columns.includes(name)) this.#fail(row, name, `must be empty if the kind is ${kind}`)
    }
    const values = Object.fromEntries(Object.entries(rest).filter(([name]) => columns.includes(name)))
    if (kind === 'override') this.#addOverride(row, values)
    else this.#add(row, kind === 'hours' ? 'workingHours' : 'timeOff', values)
  }

  /** A provider's rows with the same date form one override. A single row without times means a day off. */
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
      this.#fail(
        row,
        'date',
        'a row without start and end must be the only row of the provider with this date',
      )
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
      this.#fail(row, 'ref', ref === undefined ? 'is required' : 'is not a known provider')
    }
    return found ?? null
  }

  #fail(row: Row, column: string, fault: string): void {
    this.faults.push({ ...placeInTable(row, column), fault, value: row.values[column] })
  }

  /** Converts a path in the document to file, line and column. */
  #placeOf(path: string, providers: readonly ProviderElement[]): Place {
    const steps = path.split('.')
    for (let length = steps.length; length > 0; length--) {
      const origin = this.#origins.get(steps.slice(0, length).join('.'))
      if (origin) return placeInTable(origin, steps[length]?.replace(/\[\d+\]$/, ''))
    }
    const [, index, rest] = /^providers\[(\d+)\]\.?(.*)$/.exec(path) ?? []
    if (index === undefined) return placeInDocument(`as stored, ${path}`)
    const [row, place] = [`provider ${providers[Number(index)]?.ref}`, `as stored, ${rest}`]
    return { path: `${row} ${place}`, column: placeInDocument(place).column, row, noun: 'entry' }
  }
}

/** Returns stubs of the regions and providers that tables refer to, for a check without a database. */
function assumeStored(rows: ReadonlyMap<TableName, readonly Row[]>) {
  const valuesOf = (table: TableName, column: string) =>
    (rows.get(table) ?? []).flatMap(({ values }) => values[column] ?? [])
  const refs = [...valuesOf('licenses', 'ref'), ...valuesOf('schedules', 'ref')]
  const regions = [...valuesOf('licenses', 'region'), ...valuesOf('providers', 'inPersonRegions')]
  return {
    regions: Array.from(new Set(regions), toRegion).filter((region) => region !== null),
    providers: Array.from(new Set(refs), providerOfRow),
    unreadable: new Set<unknown>(),
  }
}

/** Parses a region ref such as CA-ON. Returns null for other text. */
function toRegion(ref: unknown): DirectoryFile['regions'][number] | null {
  const [, countryCode = '', code = countryCode] = /^([A-Z]{2})(?:-(.{1,3}))?$/.exec(String(ref)) ?? []
  if (!isCountryCode(countryCode)) return null
  return { countryCode, stateProvinceCode: code, stateProvinceNameLocal: code, stateProvinceLabel: code }
}

function providerOfRow(ref: unknown): ProviderInFile {
  const name = String(ref)
  return {
    ref: name,
    firstName: name,
    lastName: name,
    timeZone: 'UTC',
    languagesSpoken: ['en'],
    modalities: ['in-video'],
    licenses: [],
    workingHours: [],
  }
}

/** Formats a table of a directory as CSV with a header row. */
export function formatTable(table: TableName, directory: DirectoryFile): string {
  const names = tables[table].map(({ name }) => name)
  const rows = rowsFor[table](directory).map((row) => names.map((name) => toCell(row[name])))
  return formatCsv([names, ...rows])
}

const rowsFor: Readonly<Record<TableName, (directory: DirectoryFile) => Record<string, unknown>[]>> = {
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

function toCell(value: unknown): CsvCell {
  if (Array.isArray(value)) return value.join(' ')
  return (value ?? null) as CsvCell
}
