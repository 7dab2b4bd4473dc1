import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Refusal } from '../domain/errors'
import type { ZoneData } from '../domain/ports/time'
import type { TimeZone } from '../scheduling/time-zone'
import { builtInZones } from './packed'
import { readTzif, zoneFileFault } from './tzif'

// Other entries of a zoneinfo folder: two copies of all zones (with and without leap seconds), links and placeholders.
const otherEntries = new Set(['posix', 'right', 'localtime', 'posixrules', 'Factory'])

/**
 * Reads all zones of a zoneinfo folder (RFC 9636) at once, so that all have the same edition. Built-in data fills gaps.
 * @throws Refusal settings_invalid with the file and its fault
 */
export function zonesFromFolder(folder: string): ZoneData {
  const builtIn = builtInZones()
  const zones = new Map<string, TimeZone>()
  for (const name of list(folder).filter((name) => !otherEntries.has(name))) {
    for (const zone of readZoneFiles(folder, name, 1, builtIn)) zones.set(zone.name, zone)
  }
  if (zones.size === 0) throw folderFault(folder, 'has no zone files')
  const edition = editionOf(folder)
  const age = edition < builtIn.edition ? 'older' : 'current'
  return {
    edition,
    folder,
    age: edition === unknownEdition ? 'unknown' : age,
    names: [...new Set([...builtIn.names, ...zones.keys()])],
    find: (name) => zones.get(name) ?? builtIn.find(name),
    zonesOf: builtIn.zonesOf,
    builtIn,
  }
}

function list(folder: string): string[] {
  const faults: Record<string, string> = { ENOENT: 'is missing', ENOTDIR: 'is not a folder' }
  return fileCall(
    () => readdirSync(folder),
    (code) => folderFault(folder, faults[code] ?? 'cannot be read'),
  )
}

function fileCall<T>(call: () => T, refusalFor: (code: string) => Refusal): T {
  try {
    return call()
  } catch (error) {
    throw refusalFor((error as NodeJS.ErrnoException).code ?? '')
  }
}

function folderFault(folder: string, fault: string): Refusal {
  return new Refusal(
    'settings_invalid',
    `the zone folder ${folder} ${fault}: name another folder, or leave --zones out`,
  )
}

/** Names have at most three parts (America/Argentina/Salta). The limit also ends loops of links. */
const maxDepth = 3

/** Returns the zone of a file, or the zones of all files in a folder. */
function readZoneFiles(folder: string, name: string, depth: number, builtIn: ZoneData): TimeZone[] {
  const path = join(folder, name)
  const stats = fileCall(
    () => statSync(path),
    (code) => zoneFileFault(name, /ENOENT|ELOOP/.test(code) ? 'is a broken link' : 'cannot be read'),
  )
  if (stats.isDirectory()) {
    if (depth === maxDepth) return []
    return list(path).flatMap((below) => readZoneFiles(folder, `${name}/${below}`, depth + 1, builtIn))
  }
  // Reading a pipe or a device could block forever.
  if (!stats.isFile()) throw zoneFileFault(name, 'is not a file')
  const bytes = fileCall(
    () => readFileSync(path),
    () => zoneFileFault(name, 'cannot be read'),
  )
  const zone = readTzif(name, bytes)
  if (zone) return [zone]
  if (builtIn.find(name)) throw zoneFileFault(name, stats.size === 0 ? 'is empty' : 'has no zone')
  return []
}

const unknownEdition = 'unknown'

/** The edition is in a separate file or in the first lines of tzdata.zi (`# version 2026f`). */
function editionOf(folder: string): string {
  for (const name of ['+VERSION', 'version', 'tzdata.zi']) {
    const pattern = name === 'tzdata.zi' ? /^# version (\d{4}[a-z]+)\s*$/m : /^(\d{4}[a-z]+)\s*$/
    try {
      const edition = pattern.exec(readFileSync(join(folder, name), 'utf8'))?.[1]
      if (edition) return edition
    } catch {
      // Not every folder has every file.
    }
  }
  return unknownEdition
}
