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

/** What files tell of a directory: one JSON document, or tables in CSV. */
export type DirectorySource = { readonly document: unknown } | { readonly tables: readonly CsvFile[] }

/**
 * Reads one JSON file, or CSV files, or all CSV files of one folder.
 *
 * @throws Refusal directory_invalid
 */
export function readSource(paths: readonly string[]): DirectorySource {
  const [path = ''] = paths
  if (paths.length === 1 && isFolder(path)) return { tables: readFolder(path) }
  if (paths.every(isTable)) return { tables: paths.map(readCsvFile) }
  if (paths.length > 1)
    throw invalid('give one JSON file, or CSV files alone, which end in .csv, .tsv or .txt')
  return { document: readJsonFile(path) }
}

/** @throws FaultyFiles with every fault */
export function readEntries(context: Context, source: DirectorySource): DirectoryEntries {
  return describingFaults(() => {
    if ('tables' in source) return readDirectoryTables(context, source.tables)
    return readDirectoryFile(source.document, (name) => context.directory.knowsZone(name))
  })
}

/** The faults of files, counted in the first line, which is all that a person wants if there are many. */
export class FaultyFiles extends Refusal {
  constructor(override readonly cause: DirectoryInvalid) {
    const { faults, lines } = cause
    // Each on one line: a place may hold a name that the file made up.
    const indented = lines.map((line) => `  ${oneLine(line)}`)
    super(
      'directory_invalid',
      [`${counted(faults.length, 'fault')}, so nothing can be loaded`, ...indented].join('\n'),
    )
  }
}

/** Reads files, and tells their faults as a command does. @throws FaultyFiles */
export function describingFaults<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof DirectoryInvalid ? new FaultyFiles(error) : error
  }
}

/** The files that a directory is written to, and their texts: one of JSON, or a folder's tables in CSV. */
export function filesOf(directory: DirectoryFile, format: 'json' | 'csv', to: string) {
  if (format === 'json') return [{ path: to, text: `${formatJson(directory)}\n` }]
  return tableNames.map((table) => ({ path: join(to, `${table}.csv`), text: formatTable(table, directory) }))
}

function readFolder(folder: string): CsvFile[] {
  const names = readdirSync(folder).filter(isCsv).sort()
  if (names.length === 0) throw invalid(`${folder}: there is no CSV file in this folder`)
  return names.map((name) => readCsvFile(join(folder, name)))
}

function readCsvFile(path: string): CsvFile {
  return { name: basename(path), bytes: readBytes(path) }
}

/** A file's JSON. @throws Refusal directory_invalid */
export function readJsonFile(path: string): unknown {
  const text = textOf(path, readBytes(path))
  if (text.trim() === '') throw invalid(`${path}: the file is empty`)
  try {
    return JSON.parse(text)
  } catch (error) {
    // What was met is left out: it may be another file than was meant.
    const fault = (error as Error).message.replace(/ ["'].*$/s, '')
    throw invalid(`${path}: the file is not JSON (${fault})`)
  }
}

function textOf(path: string, bytes: Uint8Array): string {
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
    throw invalid(`${path}: ${faultOf(error as { code?: string })}`)
  }
}

function faultOf({ code }: { code?: string }): string {
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'the file may not be read'
  if (code === 'EISDIR') return 'this is a folder'
  return 'the file cannot be read'
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function isCsv(path: string): boolean {
  return /\.[ct]sv$/i.test(path)
}

/** A spreadsheet's Unicode text ends in .txt; so does much else that lies in a folder, and is not meant. */
function isTable(path: string): boolean {
  return isCsv(path) || /\.txt$/i.test(path)
}

function invalid(message: string): Refusal {
  return new Refusal('directory_invalid', message)
}
