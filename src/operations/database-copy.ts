import type { Act } from '../domain/audit'
import { Refusal } from '../domain/errors'
import type { ReportProgress } from '../domain/measures'
import type { DatabaseLocation } from '../domain/ports/database'
import type { CopySource, CopyTarget, Lines, Purpose } from '../domain/ports/database-copy'
import type { Clock } from '../domain/ports/time'
import type { MasterKey } from '../domain/ports/vault'
import type { Region } from '../domain/region'
import type { Context } from './context'
import { setPartnerNetworks, setPartnerRates } from './partners'
import { type FoundPage, listRegions, searchProviders } from './search-providers'
import { rotateToken } from './tokens'

interface Copying {
  readonly from: DatabaseLocation
  readonly to: DatabaseLocation
  readonly purpose: Purpose
  /** Returns the master key, which both databases use. */
  readonly takeKey: () => Promise<MasterKey>
  /** If true, servers of the source may run during and after the copy. */
  readonly whileServing: boolean
  readonly clock: Clock
}

export type Copied = Awaited<ReturnType<typeof copyDatabase>>

/**
 * Copies a snapshot of a database to an empty target on either engine. The copy appears only after every table was read
 * back and compared, and the audit log was verified. Copying adds no audit line, so recorded audit heads are valid in
 * both databases.
 * @throws Refusal database_unusable; storage_busy if a server of the source runs and `whileServing` is false
 */
export async function copyDatabase(copying: Copying, progress: ReportProgress) {
  const { from, to, purpose, takeKey, whileServing, clock } = copying
  return from.readSource({ purpose, takeKey, whileServing }, async (source) => {
    const note = { to: to.fullName, at: clock.now() }
    const masterKey = await takeKey()
    const fill = (target: CopyTarget) => copyTables(source, target, progress)
    const copied = await to.makeTarget({ purpose, masterKey, whileServing, fill, progress })
    // Last: if the copy is killed earlier, the source stays usable.
    const deactivated = !whileServing && (await source.markCopied(note))
    // `deactivated` is true if the source was marked as copied, so that no server opens it.
    return { ...copied, deactivated, copiedBefore: source.copiedBefore }
  })
}

async function copyTables(source: CopySource, target: CopyTarget, progress: ReportProgress) {
  progress('checking the audit log')
  const spans = await source.verifyLog()
  const total = source.tables.reduce((sum, { rows }) => sum + rows, 0)
  const counter = (what: string) => {
    let done = 0
    return (name: string, rows: number) => {
      done += rows
      progress(`${what} ${name}`, done / total)
    }
  }
  const tables: Record<string, Awaited<ReturnType<typeof hashOf>>> = {}
  const copying = counter('copying')
  for (const { name, lastId } of source.tables) {
    if (lastId !== null) await target.keepIds(name, lastId)
    tables[name] = await hashOf(source.linesOf(name), async (lines) => {
      await target.add(name, lines)
      copying(name, lines.length)
    })
  }
  const comparing = counter('comparing')
  for (const { name } of source.tables) {
    const { sha256 } = await hashOf(target.linesOf(name), ({ length }) => comparing(name, length))
    if (sha256 !== tables[name]?.sha256)
      throw new Refusal(
        'database_unusable',
        `the copy of ${name} differs from the source, so no copy was made`,
        { action: 'run the command again' },
      )
  }
  progress('checking the audit log of the copy')
  await target.continueLog(spans)
  await source.requireStopped()
  return { tables, auditHead: spans.acts.head }
}

/** Returns the number of rows, and the hex SHA-256 of all rows as JSON lines. */
async function hashOf(batches: Lines, each: (lines: readonly string[]) => unknown) {
  const hash = new Bun.CryptoHasher('sha256')
  let rows = 0
  for await (const lines of batches) {
    for (const line of lines) hash.update(`${line}\n`)
    rows += lines.length
    await each(lines)
  }
  return { rows, sha256: hash.digest('hex') }
}

/** Issues a token for a drill, valid only in the copy. Returns null if no partner has access. */
export async function mintDrillToken(copy: Context, act: Act): Promise<string | null> {
  const caller = copy.directory
    .listKeys()
    .find(
      ({ partner, startsAt, endsAt }) =>
        partner.active && partner.organization?.active && startsAt <= act.at && (endsAt ?? Infinity) > act.at,
    )
  if (!caller) return null
  // The drill calls from this machine, as fast as it can.
  const { partner } = caller
  await setPartnerNetworks(copy, partner, null, act)
  await setPartnerRates(copy, partner, { readsPerMinute: 'off' }, act)
  return rotateToken(copy, partner, act.at, act)
}

/** Limits a drill, so that its duration does not grow with the directory. */
const maxRegions = 10
const firstPage = { page: 1, pageSize: 100 }

export type DrillQuestions = ReturnType<typeof questionsFor>

export function questionsFor({ directory }: Context) {
  const regions = directory.listAllRegions().filter(({ active }) => active)
  const countries = new Set(regions.map(({ countryCode }) => countryCode))
  return { countries: [...countries].slice(0, maxRegions), regions: regions.slice(0, maxRegions) }
}

/** Returns the regions that partners must see in a country. */
export function regionsShown(context: Context, countryCode: string): readonly Region[] {
  return listRegions(context, countryCode, firstPage).items
}

/** Returns the providers that partners must see in a region at `now` (ms). */
export function providersShown(context: Context, { id: regionId }: Region, now: number): Promise<FoundPage> {
  const others = { countryCode: undefined, modality: undefined, languageTag: undefined }
  return searchProviders(context, { ...firstPage, regionId, ...others }, now, () => undefined)
}
