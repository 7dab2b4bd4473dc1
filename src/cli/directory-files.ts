import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type DirectoryFile, readDirectoryFile } from '../directory-files/document'
import { DirectoryInvalid } from '../directory-files/faults'
import { type CsvFile, tableNames } from '../directory-files/table-rows'
import { formatTable } from '../directory-files/tables'
import type { DirectoryEntries } from '../domain/decisions/compare-directory'
import { Refusal } from '../domain/errors'
import type { Context } from '../operations/context'
import { readDirectoryTables } from '../operations/directory-loads'
import { counted } from './terminal/layout'
import { formatJson, oneLine } from './terminal/output'

export type DirectorySource = { readonly document: unknown } | { readonly tables: readonly CsvFile[] }

/** Reads one JSON file, CSV files or a folder of CSV files. @throws Refusal directory_invalid */
export function readSource(paths: readonly string[]): DirectorySource {
  const [path = ''] = paths
  if (paths.length === 1 && statSync(path, { throwIfNoEntry: false })?.isDirectory())
    return { tables: readFolder(path) }
  if (paths.every(isTable)) return { tables: paths.map(readCsvFile) }
  if (paths.length > 1) throw invalid('give one JSON file, or only CSV files (.csv, .tsv or .txt)')
  return { document: readJsonFile(path) }
}

export function readEntries(context: Context, source: DirectorySource): DirectoryEntries {
  return describingFaults(() => {
    if ('tables' in source) return readDirectoryTables(context, source.tables)
    return readDirectoryFile(source.document, (name) => context.directory.knowsZone(name))
  })
}

/** The first line of the message counts the faults in the files. Each further line describes a fault. */
export class FaultyFiles extends Refusal {
  constructor(override readonly cause: DirectoryInvalid) {
    const { faults, lines } = cause
    // Text that is quoted from a file may contain line breaks, but each fault must be a single line.
    const indented = lines.map((line) => `  ${oneLine(line)}`)
    super(
      'directory_invalid',
      [`${counted(faults.length, 'fault')} in the files, so nothing can be loaded`, ...indented].join('\n'),
    )
  }
}

export function describingFaults<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof DirectoryInvalid ? new FaultyFiles(error) : error
  }
}

export function filesOf(directory: DirectoryFile, format: 'json' | 'csv', to: string) {
  if (format === 'json') return [{ path: to, text: `${formatJson(directory)}\n` }]
  return tableNames.map((table) => ({ path: join(to, `${table}.csv`), text: formatTable(table, directory) }))
}

function readFolder(folder: string): CsvFile[] {
  const names = readdirSync(folder).filter(isCsv).sort()
  if (names.length === 0) throw invalid(`${folder}: the folder has no CSV file`)
  return names.map((name) => readCsvFile(join(folder, name)))
}

function readCsvFile(path: string): CsvFile {
  return { name: basename(path), bytes: readBytes(path) }
}

export function readJsonFile(path: string): unknown {
  const text = faultText(path, readBytes(path))
  if (text.trim() === '') throw invalid(`${path}: the file is empty`)
  try {
    return JSON.parse(text)
  } catch (error) {
    // Removes the text that the parser quotes, because a wrong file may contain secrets.
    const fault = (error as Error).message.replace(/ ["'].*$/s, '')
    throw invalid(`${path}: the file is not JSON (${fault})`)
  }
}

function faultText(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalid(`${path}: the file is not UTF-8`)
  }
}

function readBytes(path: string): Uint8Array {
  try {
    return readFileSync(path)
  } catch (error) {
    throw invalid(`${path}: ${describeFault(error as { code?: string })}`)
  }
}

function describeFault({ code }: { code?: string }): string {
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'permission denied'
  if (code === 'EISDIR') return 'the path is a folder, not a file'
  return 'the file cannot be read'
}

function isCsv(path: string): boolean {
  return /\.[ct]sv$/i.test(path)
}

/** Spreadsheets save Unicode text as .txt. In a folder, .txt files are ignored, because they may be unrelated. */
function isTable(path: string): boolean {
  return isCsv(path) || /\.txt$/i.test(path)
}

function invalid(message: string): Refusal {
  return new Refusal('directory_invalid', message)
}
