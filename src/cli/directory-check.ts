import type { Command } from 'commander'
import { readOptionalStorage } from '../config'
import { readDirectoryFile } from '../directory-files/document'
import { type TableName, tableNames } from '../directory-files/table-rows'
import { checkTables } from '../directory-files/tables'
import { Refusal } from '../domain/errors'
import type { Context } from '../operations/context'
import { compareWithDirectory } from '../operations/load-directory'
import { databaseAt, readZones } from '../service'
import { counted } from './counted'
import { type DirectorySource, FaultyFiles, readEntries, readSource, tellingFaults } from './directory-files'
import { exitCodes } from './exit-code'
import { type CommonFlags, printJson, printLines } from './output'
import { type Progress, withProgress } from './progress'
import { storageCommand, withContext } from './storage'

/** `anteroom directory check`: what is wrong with files, by themselves or beside what is stored. */
export function directoryCheckCommand(filesMeaning: string): Command {
  return storageCommand('check', 'Say whether files could be loaded, with every fault and where it is')
    .argument('<files...>', filesMeaning)
    .option('--json', 'print it as JSON')
    .action((paths: readonly string[], flags: CommonFlags) => check(paths, flags))
}

/** How many there are of each; those that the files do not tell are left out. */
type Counts = Partial<Record<TableName, number>>

interface Checked {
  readonly counts: Counts
  /** The one that the files were checked beside; null where there was none. */
  readonly database: string | null
  /** Why there was none; null where there was one. */
  readonly without: string | null
}

async function check(paths: readonly string[], flags: CommonFlags): Promise<void> {
  try {
    const checked = await withProgress((progress) => checkFiles(paths, flags, progress))
    const { counts, database } = checked
    if (flags.json) printJson({ ok: true, ...counts, faults: [], database })
    else printChecked(checked)
  } catch (error) {
    if (!flags.json || !(error instanceof Refusal) || error.kind !== 'directory_invalid') throw error
    printJson({ ok: false, faults: faultsOf(error) })
    process.exitCode = exitCodes.fileInvalid
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
    const without = place === null ? 'no database was named' : `there is no database ${place.name}`
    return { counts, database: null, without }
  }
  let counts: Counts = {}
  await withContext(flags, async (context) => {
    counts = checkBesideStored(source, context)
  })
  return { counts, database: place.name, without: null }
}

function checkAlone(source: DirectorySource, isZone: (name: string) => boolean): Counts {
  return tellingFaults(() => {
    if ('tables' in source) return checkTables(source.tables, isZone)
    const { regions, providers } = readDirectoryFile(source.document, isZone)
    return { regions: regions.length, providers: providers.length }
  })
}

function checkBesideStored(source: DirectorySource, context: Context): Counts {
  const entries = readEntries(context, source)
  // Of all that is compared, only the ids of regions can be refused.
  compareWithDirectory(context, { regions: entries.regions, providers: [] })
  return { regions: entries.regions.length, providers: entries.providers.length }
}

const nouns: Readonly<Record<TableName, string>> = {
  regions: 'region',
  providers: 'provider',
  licenses: 'license',
  schedules: 'row of schedules',
}

function printChecked({ counts, without }: Checked): void {
  const told = tableNames.filter((table) => counts[table] !== undefined)
  const list = told.map((table) => counted(counts[table] as number, nouns[table])).join(', ')
  printLines(`OK: ${list}.`)
  if (without === null) return
  const isWhole = counts.regions !== undefined && counts.providers !== undefined
  const unknown = isWhole ? '' : ', so the regions and providers that no file tells were taken for granted'
  printLines(`These files alone were checked: ${without}${unknown}.`)
}

function faultsOf(error: Refusal): { place: string | null; fault: string; value?: unknown }[] {
  if (!(error instanceof FaultyFiles)) return [{ place: null, fault: error.message }]
  return error.cause.faults.map(({ path, fault, value }) => ({ place: path || null, fault, value }))
}
