import { readdirSync, readFileSync } from 'node:fs'
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
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!notZones.has(entry.name)) readInto(zones, folder, entry.name, entry.isDirectory())
  }
  if (zones.size === 0) throw new Error('the zone folder holds no zones')
  return { version: versionOf(folder), names: [...zones.keys()], find: (name) => zones.get(name) ?? null }
}

function readInto(zones: Map<string, TimeZone>, folder: string, name: string, isFolder: boolean): void {
  const path = join(folder, name)
  if (isFolder) {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      readInto(zones, folder, `${name}/${entry.name}`, entry.isDirectory())
    }
    return
  }
  const zone = readTzif(name, readFileSync(path))
  if (zone) zones.set(name, zone)
}

/** Folders tell their edition in a first line of tzdata.zi (`# version 2026f`) or in a file of their own. */
function versionOf(folder: string): string {
  for (const name of ['+VERSION', 'version', 'tzdata.zi']) {
    try {
      const text = readFileSync(join(folder, name), 'utf8')
      const version = /^(?:# version )?(\S+)/.exec(text)?.[1]
      if (version) return version
    } catch {
      // Not every folder has every file.
    }
  }
  return 'unknown'
}
