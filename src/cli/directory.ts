import { existsSync, mkdirSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { formatTable } from '../directory-files/format-table'
import { type TableName, tableNames } from '../directory-files/table-rows'
import { type ChangeLimit, requireFewChanges } from '../domain/decisions/compare-directory'
import { isAskedAbout } from '../domain/decisions/describe-load'
import { Refusal } from '../domain/errors'
import { writeDurably } from '../files/durable'
import type { Context } from '../operations/context'
import {
  compareWithDirectory,
  exportDirectory,
  foretellLoad,
  loadCompared,
} from '../operations/load-directory'
import { type Call, commandGroup, contextCommand } from './command'
import { counted } from './counted'
import { directoryCheckCommand } from './directory-check'
import { filesOf, readEntries, readSource } from './directory-files'
import { changeLimit, loadJson, loadQuestion, printLoad, warnOfEmptied } from './directory-load'
import { confirm, printJson, printLines, printNotice, printText } from './output'
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
      .option('--max-changes <limit>', 'refuse to change more records than that, as 50 or 5%', changeLimit)
      .option('--yes', 'do not ask before anything is taken away or anybody is reactivated'),
    contextCommand('export', 'Print the directory, or write it to files, as load takes it', exportTo)
      .addOption(new Option('--format <format>', 'which form').choices(['json', 'csv']).default('json'))
      .addOption(new Option('--table <table>', 'print this table alone, as CSV').choices(tableNames))
      .option('--to <path>', 'write to this JSON file, or to CSV files in this folder')
      .option('--yes', 'do not ask before files are overwritten'),
  ])
}

interface LoadFlags {
  readonly dryRun?: boolean
  readonly maxChanges?: ChangeLimit
}

async function load({ context, flags, act }: Call<Context, LoadFlags>, paths: readonly string[]) {
  const { dryRun = false, maxChanges, yes, json } = flags
  await withProgress(async (progress) => {
    const { entries, comparison } = await compare(context, paths, progress)
    const foretold = foretellLoad(context, comparison, context.clock.now())
    progress.end()
    const show = (isDone: boolean) => {
      if (json) printJson(loadJson(dryRun, comparison.load, foretold))
      else printLoad(comparison.load, foretold, isDone)
    }
    if (!dryRun && maxChanges) requireFewChanges(comparison.load, maxChanges)
    warnOfEmptied(foretold)
    const asks = isAskedAbout(foretold) && !yes && !dryRun
    // Whoever is asked has seen what it is about; stdout is left to what came of it where that is JSON.
    if (dryRun || (asks && !json)) show(false)
    if (dryRun) {
      if (!json && foretold.changes.length > 0) printLines('Nothing was changed: this was a dry run.')
      if (maxChanges) requireFewChanges(comparison.load, maxChanges)
      return
    }
    if (asks) await confirm(loadQuestion(foretold), flags)
    await progress.step(`Storing ${counted(entries.providers.length, 'provider')}`)
    await loadCompared(context, comparison, act())
    progress.end()
    if (asks && !json) printLines('Loaded.')
    else show(true)
  })
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

interface ExportFlags {
  readonly format: 'json' | 'csv'
  readonly table?: TableName
  readonly to?: string
}

async function exportTo({ context, flags }: Call<Context, ExportFlags>): Promise<void> {
  const { format, table, to } = flags
  const directory = exportDirectory(context)
  const unreadable = context.directory.listUnreadable().map(({ ref }) => ref)
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
