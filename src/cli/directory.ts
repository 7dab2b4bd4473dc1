import { existsSync, mkdirSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { type TableName, tableNames } from '../directory-files/table-rows'
import { formatTable } from '../directory-files/tables'
import type { DirectoryLoad } from '../domain/compare-directory'
import { Refusal } from '../domain/errors'
import { writeDurably } from '../files/durable'
import type { Context } from '../operations/context'
import { compareWithDirectory, exportDirectory, loadCompared } from '../operations/load-directory'
import { listUnreadable } from '../operations/providers'
import { type Call, commandGroup, contextCommand } from './command'
import { directoryCheckCommand } from './directory-check'
import { filesOf, readEntries, readSource } from './directory-files'
import {
  type Columns,
  type CommonFlags,
  confirm,
  printJson,
  printLines,
  printNotice,
  printTable,
  printText,
} from './output'
import { type Progress, withProgress } from './progress'

const filesMeaning = 'one JSON file, or CSV files, or a folder of CSV files'

/** `anteroom directory`: regions and providers, from files and into files. */
export function directoryCommand(): Command {
  return commandGroup('directory', 'Regions and providers, from files and into files', [
    directoryCheckCommand(filesMeaning),
    contextCommand(
      'load',
      'Make the directory what files say; providers whom they leave out are deactivated',
      load,
    )
      .argument('<files...>', filesMeaning)
      .option('--dry-run', 'say what would change, and change nothing')
      .option('--json', 'print it as JSON, all refs named')
      .option('--yes', 'do not ask before somebody is deactivated'),
    contextCommand('export', 'Print the directory, or write it to files, as load takes it', exportTo)
      .addOption(new Option('--format <format>', 'which form').choices(['json', 'csv']).default('json'))
      .addOption(new Option('--table <table>', 'print this table alone, as CSV').choices(tableNames))
      .option('--to <path>', 'write to this JSON file, or to CSV files in this folder')
      .option('--yes', 'do not ask before files are overwritten'),
  ])
}

async function load({ context, flags, act }: Call<Context, { dryRun?: boolean }>, paths: readonly string[]) {
  const { dryRun = false, yes, json } = flags
  const done = await withProgress(async (progress) => {
    const { entries, comparison } = await compare(context, paths, progress)
    if (dryRun) return comparison.load
    const { deactivated } = comparison.load
    if (deactivated.length > 0 && !yes) {
      progress.end()
      await confirmDeactivation(context, deactivated, flags)
    }
    await progress.step(`Storing ${counted(entries.providers.length, 'provider')}`)
    return loadCompared(context, comparison, act())
  })
  if (json) printJson({ dryRun, ...done })
  else printLoad(context, done, dryRun)
}

async function confirmDeactivation(context: Context, deactivated: readonly string[], flags: CommonFlags) {
  const rows = rowsOf(context, '', deactivated)
  const told = rows.map(({ refs, noun }) => `${counted(refs.length, noun)} (${named(refs)})`)
  if (told.length > 0) await confirm(`Deactivate ${told.join(' and ')}?`, flags)
}

/** Reads files, finds their faults, and compares them with what is stored. */
async function compare(context: Context, paths: readonly string[], progress: Progress) {
  await progress.step('Reading')
  const source = readSource(paths)
  await progress.step('Checking')
  const entries = readEntries(context, source)
  await progress.step(`Comparing ${counted(entries.providers.length, 'provider')} with those stored`)
  return { entries, comparison: compareWithDirectory(context, entries) }
}

function printLoad(context: Context, done: DirectoryLoad, dryRun: boolean): void {
  const { added, changed, deactivated, unchanged } = done
  if (added.length + changed.length + deactivated.length === 0) {
    printLines(`Nothing to change: ${unchanged} regions and providers are as the files say.`)
    return
  }
  const rows = [
    ...rowsOf(context, dryRun ? 'to add' : 'added', added),
    ...rowsOf(context, dryRun ? 'to change' : 'changed', changed),
    ...rowsOf(context, dryRun ? 'to deactivate' : 'deactivated', deactivated),
  ]
  printTable(rows, loadColumns, '')
  printLines(`Unchanged: ${unchanged}.`)
  if (dryRun) printLines('Nothing was changed: this was a dry run.')
}

interface LoadRow {
  readonly change: string
  readonly noun: string
  readonly refs: readonly string[]
}

const mostShown = 20

const loadColumns: Columns<LoadRow> = {
  CHANGE: ({ change }) => change,
  COUNT: ({ refs, noun }) => counted(refs.length, noun),
  WHICH: ({ refs }) => named(refs),
}

/** Refs that one thing is done to: regions and providers apart. */
function rowsOf({ directory }: Context, change: string, refs: readonly string[]): LoadRow[] {
  const providers = new Set(directory.listProviders().map(({ ref }) => ref))
  // What a dry run would add is in no directory yet, so regions are told by their form.
  const isRegion = (ref: string) => !providers.has(ref) && /^[A-Z]{2}(-.{1,3})?$/.test(ref)
  const rows = [
    { change, noun: 'region', refs: refs.filter(isRegion) },
    { change, noun: 'provider', refs: refs.filter((ref) => !isRegion(ref)) },
  ]
  return rows.filter(({ refs }) => refs.length > 0)
}

function named(refs: readonly string[]): string {
  const more = refs.length > mostShown ? ` and ${refs.length - mostShown} more` : ''
  return `${refs.slice(0, mostShown).join(', ')}${more}`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

interface ExportFlags {
  readonly format: 'json' | 'csv'
  readonly table?: TableName
  readonly to?: string
}

async function exportTo({ context, flags }: Call<Context, ExportFlags>): Promise<void> {
  const { format, table, to } = flags
  const directory = exportDirectory(context)
  const unreadable = listUnreadable(context).map(({ ref }) => ref)
  if (unreadable.length > 0) printNotice(`cannot be read, and so is not exported: ${unreadable.join(', ')}`)
  if (table) {
    if (to !== undefined) throw new Refusal('settings_invalid', '--table prints; it does not go with --to')
    printText(formatTable(table, directory))
  } else if (to === undefined) {
    if (format === 'csv')
      throw new Refusal('settings_invalid', 'csv takes --to FOLDER, or --table for one of them')
    printJson(directory)
  } else {
    const files = filesOf(directory, format, to)
    const there = files.map(({ path }) => path).filter((path) => existsSync(path))
    if (there.length > 0) await confirm(`Overwrite ${there.join(', ')}?`, flags)
    if (format === 'csv') mkdirSync(to, { recursive: true })
    // A directory is no secret, and an earlier export may be replaced.
    for (const { path, text } of files) writeDurably(path, text, { replace: true, mode: 0o644 })
    printLines(`Wrote ${files.map(({ path }) => path).join(', ')}.`)
  }
}
