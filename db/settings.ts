import { type Act, emptyAudit, formatState } from '../src/domain/audit'
import type { CopyNote, Purpose } from '../src/domain/ports/database-copy'
import type { MaybePromise } from '../src/domain/ports/store'
import type { ZoneEdition } from '../src/domain/ports/time'
import type { MasterKey } from '../src/domain/ports/vault'
import { auditHashes, auditStateName } from './audit/verification'
import { unusable } from './findings/findings'
import { all, then } from './queries/engine'
import { dataKeyName, isSealedUnder, newDataKey, openVault, resealed } from './sealed/data-key'

export const migrationsName = 'migrations'
export const copyNoteName = 'copied'
const zoneDataName = 'zone_data'
export const lastDrillName = 'last_drill_at'
const purposeName = 'purpose'

interface Running {
  run(text: string, values: readonly (string | Uint8Array)[]): MaybePromise<unknown[][]>
}

const upsert =
  'INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2'

export function settingsOver(database: Running) {
  const read = (name: string) =>
    then(
      database.run('SELECT value FROM settings WHERE name = $1', [name]),
      ([row]) => row?.[0] as Uint8Array | undefined,
    )
  const readText = (name: string) =>
    then(read(name), (value) => (value ? Buffer.from(value).toString() : null))
  const readJson = <T>(name: string) =>
    then(readText(name), (text): T | null => (text === null ? null : JSON.parse(text)))
  const write = (name: string, value: string | Uint8Array) =>
    then(database.run(upsert, [name, Buffer.from(value as string)]), () => {})
  return {
    ...{ read, readText, write, readNumber: (name: string) => readJson<number>(name) },
    remove: (name: string) => then(database.run('DELETE FROM settings WHERE name = $1', [name]), () => {}),
    readPurpose: () => readText(purposeName),
    readCopyNote: () => readJson<CopyNote>(copyNoteName),
    readZoneData: () => readJson<ZoneEdition>(zoneDataName),
    noteZoneData: ({ edition, folder }: ZoneEdition) =>
      write(zoneDataName, JSON.stringify({ edition, folder })),
    noteDrill: ({ at }: Act) => write(lastDrillName, `${at}`),
    markCopied: ({ to, at }: CopyNote) => write(copyNoteName, JSON.stringify({ to, at })),
    writeFirst(purpose: Purpose, masterKey: MasterKey) {
      const { sealed, vault } = newDataKey(purpose, masterKey)
      const state = formatState(auditHashes(vault), emptyAudit)
      const written = [write(purposeName, purpose), write(dataKeyName, sealed), write(auditStateName, state)]
      return then(all(written), () => {})
    },
    openVault: (purpose: Purpose, masterKey: MasterKey) =>
      then(read(dataKeyName), (sealed) => openVault(sealed, purpose, masterKey)),
    isSealedUnder: (purpose: Purpose, masterKey: MasterKey) =>
      then(read(dataKeyName), (sealed) => isSealedUnder(sealed, purpose, masterKey)),
    /**
     * Returns false if the data key is already sealed under `next`. Requires a transaction that excludes another
     * rotation.
     */
    rewrapDataKey: (purpose: Purpose, masterKey: MasterKey, next: MasterKey) =>
      then(read(dataKeyName), (current) => {
        const sealed = resealed(current, purpose, masterKey, next)
        return sealed ? then(write(dataKeyName, sealed), () => true) : false
      }),
  }
}

export function parseCopyNote(text: string | null): CopyNote | null {
  return text === null ? null : JSON.parse(text)
}

/** @throws Refusal database_unusable */
export function requirePurpose(found: string | null, purpose: Purpose): void {
  if (found !== purpose) throw unusable(`the database is not a ${purpose} database`)
}

export const hashBytes = 32

/** Returns the SHA-256 hashes of the steps, concatenated. */
export function hashesOf(steps: readonly string[]): Buffer {
  return Buffer.concat(steps.map((sql) => new Bun.CryptoHasher('sha256').update(sql).digest()))
}

/** @throws Refusal database_unusable if other steps were applied to the database */
export function requireSteps(hashes: Uint8Array | undefined, steps: readonly string[]): void {
  if (hashesOf(steps).equals(hashes ?? new Uint8Array())) return
  throw unusable('the database was created or upgraded by a build with other migrations', 'use that build')
}

export function newerSchema() {
  return unusable('the database was written by a newer version of this program', 'install that version')
}

export function olderSchema(way: string) {
  return unusable(`the database has an older schema: ${way}`)
}
