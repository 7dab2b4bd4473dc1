import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TimeZone } from '../scheduling/time-zone'
import { readTzif } from './tzif'
import type { ZoneData } from './zone-data'

// What a zoneinfo folder holds beside the zones: the same zones over again, with leap seconds or without.
const notZones = new Set(['posix', 'right', 'localtime', 'posixrules', 'Factory'])

/**
 * The zones of a zoneinfo folder (RFC 9636), all read at once, so that what is judged and what is served
 * cannot come from two editions. @throws Error naming the fault, if the folder holds no zones
 */
export function zonesFromFolder(folder: string): ZoneData {
  const zones = new Map<string, TimeZone>()
  for (const name of readdirSync(folder)) {
    if (!notZones.has(name)) readInto(zones, folder, name, 1)
  }
  if (zones.size === 0) throw new Error('the zone folder holds no zones')
  return { version: versionOf(folder), names: [...zones.keys()], find: (name) => zones.get(name) ?? null }
}

/** Names have three parts at most (America/Argentina/Salta), and a link may lead back to where it stands. */
const deepest = 3

function readInto(zones: Map<string, TimeZone>, folder: string, name: string, depth: number): void {
  const path = join(folder, name)
  if (!statSync(path).isDirectory()) {
    const zone = readTzif(name, readFileSync(path))
    if (zone) zones.set(name, zone)
  } else if (depth < deepest) {
    for (const below of readdirSync(path)) readInto(zones, folder, `${name}/${below}`, depth + 1)
  }
}

/** Folders tell their edition in a line of tzdata.zi (`# version 2026f`) or in a file of their own. */
function versionOf(folder: string): string {
  const told: [string, RegExp][] = [
    ['+VERSION', /^(\S+)/],
    ['version', /^(\S+)/],
    ['tzdata.zi', /^# version (\S+)/m],
  ]
  for (const [name, pattern] of told) {
    try {
      const version = pattern.exec(readFileSync(join(folder, name), 'utf8'))?.[1]
      if (version) return version
    } catch {
      // Not every folder has every file.
    }
  }
  return 'unknown'
}
