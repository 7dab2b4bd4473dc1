import { existsSync, mkdirSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { readOptionalStorage } from '../../config'
import { readDirectoryFile } from '../../directory-files/document'
import { type TableName, tableNames } from '../../directory-files/table-rows'
import { checkTables, formatTable } from '../../directory-files/tables'
import { type ChangeLimit, requireFewChanges } from '../../domain/decisions/compare-directory'
import { needsConfirmation } from '../../domain/decisions/describe-load'
import { Refusal } from '../../domain/errors'
import { writeDurably } from '../../files/durable'
import type { Context } from '../../operations/context'
import {
  compareWithDirectory,
  exportDirectory,
  loadCompared,
  previewLoad,
} from '../../operations/directory-loads'
import { databaseAt, readZones } from '../../service'
import { type Call, commandGroup, contextCommand, json, storageCommand } from '../command'
import {
  type DirectorySource,
  describingFaults,
  FaultyFiles,
  filesOf,
  readEntries,
  readSource,
} from '../directory-files'
import { exitCodes } from '../exit-code'
import { withContext } from '../storage'
import { counted } from '../terminal/layout'
import {
  type Answer,
  type CommonFlags,
  formatJson,
  printAnswer,
  printLines,
  printNotice,
  type Text,
  verbatim,
} from '../terminal/output'
import { type Progress, withProgress } from '../terminal/progress'
import { confirm } from '../terminal/question'
import { changeLimit, loadJson, loadQuestion, loadText, warnOfEmptied } from './directory-load'

/** Checks files. If there is a database, also compares them with the stored directory. */
function directoryCheckCommand(filesMeaning: string): Command {
  return storageCommand({
    name: 'check',
    description: 'Check files before a load, and list every fault with its place',
    words: [['<files...>', filesMeaning]],
    options: [json()],
    examples: ['anteroom directory check export/'],
    run: (paths: readonly string[], flags: CommonFlags) => check(paths, flags),
  })
}

/** Number of rows of each table. A table that is not in the files has no entry. */
type Counts = Partial<Record<TableName, number>>

interface Checked {
  readonly counts: Counts
  /** The database of the comparison; null if the files were checked without a database. */
  readonly database: string | null
  /** Reason for a check without a database; null after a comparison with a database. */
  readonly without: string | null
}

async function check(paths: readonly string[], flags: CommonFlags): Promise<Answer> {
  try {
    const checked = await withProgress((progress) => checkFiles(paths, flags, progress))
    const { counts, database } = checked
    return { json: { ok: true, ...counts, faults: [], database }, text: checkedText(checked) }
  } catch (error) {
    if (!flags.json || !(error instanceof Refusal) || error.kind !== 'directory_invalid') throw error
    process.exitCode = exitCodes.fileInvalid
    return { json: { ok: false, faults: faultsOf(error) }, text: [] }
  }
}

async function checkFiles(paths: readonly string[], flags: object, progress: Progress): Promise<Checked> {
  const { setting, zoneFolder } = readOptionalStorage(flags)
  const place = setting && (await databaseAt(setting))
  await progress.step('Reading')
  const source = readSource(paths)
  await progress.step('Checking')
  if (place === null || (await place.find()) === null) {
    const zones = readZones(zoneFolder)
    const counts = checkAlone(source, (name) => zones.find(name) !== null)
    const without = place === null ? 'no database is set' : `there is no database ${place.name}`
    return { counts, database: null, without }
  }
  let counts: Counts = {}
  await withContext(flags, async (context) => {
    counts = checkAgainstStored(source, context)
  })
  return { counts, database: place.name, without: null }
}

function checkAlone(source: DirectorySource, isZone: (name: string) => boolean): Counts {
  return describingFaults(() => {
    if ('tables' in source) return checkTables(source.tables, isZone)
    const { regions, providers } = readDirectoryFile(source.document, isZone)
    return { regions: regions.length, providers: providers.length }
  })
}

function checkAgainstStored(source: DirectorySource, context: Context): Counts {
  const entries = readEntries(context, source)
  // Leaves out the providers, because the comparison only rejects ids of regions.
  compareWithDirectory(context, { regions: entries.regions, providers: [] })
  return { regions: entries.regions.length, providers: entries.providers.length }
}

const nouns: Readonly<Record<TableName, string>> = {
  regions: 'region',
  providers: 'provider',
  licenses: 'license',
  schedules: 'row of schedules',
}

function checkedText({ counts, without }: Checked): Text {
  const checked = tableNames.filter((table) => counts[table] !== undefined)
  const list = checked.map((table) => counted(counts[table] as number, nouns[table])).join(', ')
  if (without === null) return `OK: ${list}.`
  const isWhole = counts.regions !== undefined && counts.providers !== undefined
  const unknown = isWhole ? '' : '. Regions and providers that are not in the files are assumed to exist'
  return [`OK: ${list}.`, `The files were checked without a database: ${without}${unknown}.`]
}

function faultsOf(error: Refusal): { place: string | null; fault: string; value?: unknown }[] {
  if (!(error instanceof FaultyFiles)) return [{ place: null, fault: error.message }]
  return error.cause.faults.map(({ path, fault, value }) => ({ place: path || null, fault, value }))
}

const filesMeaning = 'one JSON file, CSV files, or a folder of CSV files'

export function directoryCommand(): Command {
  return commandGroup('directory', [
    directoryCheckCommand(filesMeaning),
    contextCommand({
      name: 'load',
      description: 'Load regions and providers from files; deactivate providers that are not in them',
      words: [['<files...>', filesMeaning]],
      options: [
        ['--dry-run', 'show what would change, but change nothing'],
        json('print the result as JSON, with all refs'),
        ['--max-changes <limit>', 'refuse a load with more changes than this, such as 50 or 5%', changeLimit],
        ['--yes', 'do not ask before data is removed or records are deactivated or reactivated'],
      ],
      examples: [
        'anteroom directory load export/ --dry-run',
        'anteroom directory load export/ --max-changes 5% --yes',
      ],
      run: load,
    }),
    contextCommand({
      name: 'export',
      description: 'Export the directory as JSON or CSV, for anteroom directory load',
      options: [
        new Option('--format <format>', 'the output format').choices(['json', 'csv']).default('json'),
        new Option('--table <table>', 'the table to print, as CSV').choices(tableNames),
        ['--to <path>', 'write to this path: a file for JSON, a folder for CSV'],
        ['--yes', 'do not ask before files are overwritten'],
      ],
      examples: [
        'anteroom directory export --format csv --to export/',
        'anteroom directory export --table licenses > licenses.csv',
      ],
      run: exportTo,
    }),
  ])
}

interface LoadFlags {
  readonly dryRun?: boolean
  readonly maxChanges?: ChangeLimit
}

async function load({ context, flags, act }: Call<Context, LoadFlags>, paths: readonly string[]) {
  const { dryRun = false, maxChanges, yes } = flags
  return withProgress(async (progress) => {
    const { entries, comparison } = await compare(context, paths, progress)
    const { load } = comparison
    const preview = previewLoad(context, comparison, context.clock.now())
    progress.end()
    const json = loadJson(dryRun, load, preview)
    if (!dryRun && maxChanges) requireFewChanges(load, maxChanges)
    warnOfEmptied(preview)
    if (dryRun) {
      const text = [loadText(load, preview, false), preview.changes.length > 0 ? dryRunNote : []]
      printAnswer(flags, { json, text })
      if (maxChanges) requireFewChanges(load, maxChanges)
      return undefined
    }
    const asks = needsConfirmation(preview) && !yes
    if (asks) {
      // With --json, only the result may be printed to stdout.
      if (!flags.json) printLines(loadText(load, preview, false))
      await confirm(loadQuestion(preview), flags)
    }
    await progress.step(`Storing ${counted(entries.providers.length, 'provider')}`)
    await loadCompared(context, comparison, act())
    progress.end()
    return { json, text: asks ? 'Loaded.' : loadText(load, preview, true) }
  })
}

const dryRunNote = 'Nothing was changed: this was a dry run.'

async function compare(context: Context, paths: readonly string[], progress: Progress) {
  await progress.step('Reading')
  const source = readSource(paths)
  await progress.step('Checking')
  const entries = readEntries(context, source)
  await progress.step(`Comparing ${counted(entries.providers.length, 'provider')} with the directory`)
  return { entries, comparison: compareWithDirectory(context, entries) }
}

interface ExportFlags {
  readonly format: 'json' | 'csv'
  readonly table?: TableName
  readonly to?: string
}

async function exportTo({ context, flags }: Call<Context, ExportFlags>): Promise<Answer> {
  const { format, table, to } = flags
  const directory = exportDirectory(context)
  const unreadable = context.directory.listUnreadable().map(({ ref }) => ref)
  if (unreadable.length > 0)
    printNotice(`these providers cannot be read and are not exported: ${unreadable.join(', ')}`)
  if (table) {
    if (to !== undefined)
      throw new Refusal('settings_invalid', '--table prints to stdout and cannot be combined with --to')
    return { json: directory, text: verbatim(formatTable(table, directory)) }
  }
  if (to === undefined) {
    if (format === 'csv')
      throw new Refusal('settings_invalid', '--format csv needs --to FOLDER, or --table to print one table')
    return { json: directory, text: verbatim(`${formatJson(directory)}\n`) }
  }
  const files = filesOf(directory, format, to)
  const existing = files.map(({ path }) => path).filter((path) => existsSync(path))
  if (existing.length > 0) await confirm(`Overwrite ${existing.join(', ')}?`, flags)
  if (format === 'csv') mkdirSync(to, { recursive: true })
  // All users may read the files, because the directory is not secret. The operator agreed to overwrite existing files.
  for (const { path, text } of files) writeDurably(path, text, { replace: true, mode: 0o644 })
  return { json: directory, text: `Wrote ${files.map(({ path }) => path).join(', ')}.` }
}
