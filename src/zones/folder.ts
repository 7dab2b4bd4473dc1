import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Refusal } from '../domain/errors'
import type { ZoneData } from '../domain/ports/time'
import type { TimeZone } from '../scheduling/time-zone'
import { builtInZones } from './packed'
import { readTzif, zoneFileFault } from './tzif'

// What a zoneinfo folder holds beside the zones: the same zones over again, with leap seconds or without.
const notZones = new Set(['posix', 'right', 'localtime', 'posixrules', 'Factory'])

/**
 * The zones of a zoneinfo folder (RFC 9636), all read at once, so that what is judged and what is served
 * cannot come from two editions; a name that the folder lacks comes from the built-in data.
 *
 * @throws Refusal settings_invalid naming the file and what is wrong with it
 */
export function zonesFromFolder(folder: string): ZoneData {
  const builtIn = builtInZones()
  const zones = new Map<string, TimeZone>()
  for (const name of list(folder).filter((name) => !notZones.has(name))) {
    for (const zone of readZoneFiles(folder, name, 1, builtIn)) zones.set(zone.name, zone)
  }
  if (zones.size === 0) throw folderFault(folder, 'holds no zones')
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
  return asked(
    () => readdirSync(folder),
    (code) => folderFault(folder, faults[code] ?? 'cannot be read'),
  )
}

/** What the file system answers, or the refusal for the code of its fault. */
function asked<T>(ask: () => T, refusalFor: (code: string) => Refusal): T {
  try {
    return ask()
  } catch (error) {
    throw refusalFor((error as NodeJS.ErrnoException).code ?? '')
  }
}

function folderFault(folder: string, fault: string): Refusal {
  return new Refusal('settings_invalid', `the zone folder ${folder} ${fault}`)
}

/** Names have three parts at most (America/Argentina/Salta), and a link may lead back to where it stands. */
const deepest = 3

/** The zones of a file, or of all the files in a folder. */
function readZoneFiles(folder: string, name: string, depth: number, builtIn: ZoneData): TimeZone[] {
  const path = join(folder, name)
  const stats = asked(
    () => statSync(path),
    (code) =>
      zoneFileFault(name, /ENOENT|ELOOP/.test(code) ? 'is a link that leads nowhere' : 'cannot be read'),
  )
  if (stats.isDirectory()) {
    if (depth === deepest) return []
    return list(path).flatMap((below) => readZoneFiles(folder, `${name}/${below}`, depth + 1, builtIn))
  }
  // Reading anything else could wait for ever.
  if (!stats.isFile()) throw zoneFileFault(name, 'is not a file')
  const bytes = asked(
    () => readFileSync(path),
    () => zoneFileFault(name, 'cannot be read'),
  )
  const zone = readTzif(name, bytes)
  if (zone) return [zone]
  if (builtIn.find(name)) throw zoneFileFault(name, stats.size === 0 ? 'is empty' : 'holds no zone')
  return []
}

const unknownEdition = 'unknown'

/** Folders tell their edition in a file of its own or in the first lines of tzdata.zi (`# version 2026f`). */
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
