import { type CsvCell, formatCsv } from './csv'
import type { DirectoryFile } from './document'
import { type TableName, tables } from './table-rows'

/** A table of a directory as CSV, with its header row. */
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
