import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type DirectoryFile, readDirectoryFile } from '../directory-files/document'
import { type CsvFile, formatTable, type TableName, tableNames } from '../directory-files/tables'
import type { DirectoryEntries } from '../domain/compare-directory'
import { Refusal } from '../domain/errors'
import { writeDurably } from '../files/durable'
import type { Context } from '../operations/context'
import { readDirectoryTables } from '../operations/load-directory'
import { formatJson } from './output'

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
  if (paths.every(isCsv)) return { tables: paths.map(readCsvFile) }
  if (paths.length > 1) throw invalid('give one JSON file, or CSV files alone, which end in .csv')
  return { document: readJsonFile(path) }
}

/** @throws DirectoryInvalid with every fault */
export function readEntries(context: Context, source: DirectorySource): DirectoryEntries {
  if ('tables' in source) return readDirectoryTables(context, source.tables)
  return readDirectoryFile(source.document, (name) => context.directory.knowsZone(name))
}

/** The files that a folder of CSV tables has, by table. */
export function tableFilesIn(folder: string): { table: TableName; path: string }[] {
  return tableNames.map((table) => ({ table, path: join(folder, `${table}.csv`) }))
}

/** A directory is no secret, and an earlier export may be replaced. */
const openToAll = { replace: true, mode: 0o644 }

/** Writes each table to its file; the folder is made if it is not there. */
export function writeTables(folder: string, directory: DirectoryFile): void {
  mkdirSync(folder, { recursive: true })
  for (const { table, path } of tableFilesIn(folder))
    writeDurably(path, formatTable(table, directory), openToAll)
}

export function writeJsonFile(path: string, value: unknown): void {
  writeDurably(path, `${formatJson(value)}\n`, openToAll)
}

/** Those of some paths where there is something. */
export function existing(paths: readonly string[]): string[] {
  return paths.filter((path) => existsSync(path))
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
    throw invalid(`${path}: the file is not JSON (${String((error as Error).message)})`)
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
  return /\.csv$/i.test(path)
}

function invalid(message: string): Refusal {
  return new Refusal('directory_invalid', message)
}
