import { isDeepStrictEqual } from 'node:util'
import { formatDate } from '../../scheduling/calendar'
import type { Provider } from '../provider'
import type { Region } from '../region'
import type { ChangedRecord, DirectoryComparison, ProviderAfter } from './compare-directory'
import { type LosableField, losableFields, lossOf } from './directory-losses'

/** A changed field of a region or provider, named as in directory files. */
export type FieldChange =
  | { readonly field: string; readonly from: unknown; readonly to: unknown }
  | {
      readonly field: LosableField
      readonly removed: readonly unknown[]
      readonly added: readonly unknown[]
      /** Counts removed elements that were still in use. For working hours, 1 means that any time was removed. */
      readonly lost: number
    }

export interface RecordChange extends Pick<ChangedRecord, 'noun' | 'ref' | 'kind'> {
  /** The changed fields; empty for a new or unreadable record. */
  readonly fields: readonly FieldChange[]
}

/** The losses in one list, summed over all providers. */
export interface Loss {
  readonly field: LosableField
  /** The number of lost elements. For working hours, the number of providers. */
  readonly count: number
  readonly providers: number
}

type Records = Readonly<Record<'regions' | 'providers', readonly string[]>>

/** The effect of a load, for the person who confirms the load. Records are named as in directory files. */
export type LoadDescription = ReturnType<typeof describeLoad>

/** Describes the effect of a load. @param since today's date in UTC-12, in days since 1970-01-01 */
export function describeLoad(
  { changes: records, regionRefs }: DirectoryComparison,
  providers: readonly Provider[],
  since: number,
) {
  const changes = records.map((record) => describeRecord(record, regionRefs, since))
  const after = providersAfter(records, providers)
  return {
    changes,
    losses: losableFields.flatMap((field) => lossIn(changes, field) ?? []),
    deactivated: refsBy(records.filter(({ kind }) => kind === 'deactivated')),
    /** Excludes suspended providers, because a load does not end a suspension. */
    reactivated: refsBy(records.filter(isReactivated)),
    /** Providers with a changed time zone. The working hours of these providers move to other instants. */
    rezoned: changes.filter(isRezoned).map(({ ref }) => ref),
    /** The lists that become empty for all providers. */
    emptied: (['licenses', 'workingHours'] as const).filter(
      (list) => providers.some((one) => one[list].length > 0) && after.every((one) => one[list].length === 0),
    ),
    /** Suspended providers who are active in the files. The suspension remains. */
    staySuspended: after.filter(({ active, suspended }) => active && suspended).map(({ ref }) => ref),
    /** Absences that staff entered and that are not over. A load does not end them. */
    stayAway: after.flatMap(({ ref, active, staffTimeOff }) =>
      staffTimeOff
        .filter(({ until }) => active && until >= formatDate(since))
        .map((absence) => ({ ref, ...absence })),
    ),
  }
}

/** Returns true if the load removes something, moves working hours or reactivates records. */
export function needsConfirmation({ losses, deactivated, reactivated, rezoned }: LoadDescription): boolean {
  const refs = [deactivated, reactivated].flatMap(({ regions, providers }) => [...regions, ...providers])
  return losses.length + refs.length + rezoned.length > 0
}

function providersAfter(records: readonly ChangedRecord[], providers: readonly Provider[]): ProviderAfter[] {
  const remaining = new Map<string, ProviderAfter>(providers.map((provider) => [provider.ref, provider]))
  for (const record of records) if (record.noun === 'provider') remaining.set(record.ref, record.after)
  return [...remaining.values()]
}

function isReactivated({ before, after }: ChangedRecord): boolean {
  const isSuspended = 'suspended' in after && after.suspended
  return before?.active === false && after.active && !isSuspended
}

function isRezoned({ fields }: RecordChange): boolean {
  return fields.some(({ field }) => field === 'timeZone')
}

function refsBy(records: readonly ChangedRecord[]): Records {
  const refsOf = (wanted: ChangedRecord['noun']) =>
    records.filter(({ noun }) => noun === wanted).map(({ ref }) => ref)
  return { regions: refsOf('region'), providers: refsOf('provider') }
}

function lossIn(changes: readonly RecordChange[], field: LosableField): Loss | null {
  const lost = changes
    .flatMap(({ fields }) => fields)
    .flatMap((change) => ('lost' in change && change.field === field && change.lost > 0 ? change.lost : []))
  if (lost.length === 0) return null
  return { field, count: lost.reduce((sum, count) => sum + count, 0), providers: lost.length }
}

function describeRecord(record: ChangedRecord, regionRefs: ReadonlyMap<number, string>, since: number) {
  const { noun, ref, kind } = record
  return { noun, ref, kind, fields: fieldsOf(record, regionRefs, since) }
}

function fieldsOf(record: ChangedRecord, regionRefs: ReadonlyMap<number, string>, since: number) {
  if (!record.before) return []
  if (record.noun === 'region') return valuesChanged(regionValues, record.before, record.after)
  const { before, after } = record
  const lists = losableFields.flatMap((field) => listChanged(field, before, after, regionRefs, since) ?? [])
  return [...valuesChanged(providerValues, before, after), ...lists]
}

const regionValues: readonly (readonly [field: string, member: keyof Region])[] = [
  ['stateProvinceNameLocal', 'localName'],
  ['stateProvinceLabel', 'label'],
  ['active', 'active'],
]

const providerFields = [
  ...(['firstName', 'lastName', 'credentials', 'pronouns', 'gender', 'bio'] as const),
  ...(['timeZone', 'minimumNoticeMinutes', 'active'] as const),
]
const providerValues = providerFields.map((field) => [field, field] as const)

function valuesChanged<Of>(
  fields: readonly (readonly [field: string, member: keyof Of])[],
  before: Of,
  after: Of,
): FieldChange[] {
  return fields
    .filter(([, member]) => before[member] !== after[member])
    .map(([field, member]) => ({ field, from: before[member], to: after[member] }))
}

function listChanged(
  field: LosableField,
  before: ProviderAfter,
  after: ProviderAfter,
  regionRefs: ReadonlyMap<number, string>,
  since: number,
): FieldChange | null {
  const [earlier, later] = [listIn(field, before), listIn(field, after)]
  if (isDeepStrictEqual(earlier, later)) return null
  const shown = (list: readonly unknown[]) => list.map((element) => withRefs(element, regionRefs))
  // The order of fields does not matter. Elements are first compared unsorted, because sorting fields is slow.
  const [removed, added] = [subtract(earlier, later, textOf), subtract(later, earlier, textOf)]
  return {
    field,
    removed: shown(subtract(removed, added, orderedTextOf)),
    added: shown(subtract(added, removed, orderedTextOf)),
    lost: lossOf[field](before, after, since),
  }
}

function listIn(field: LosableField, provider: ProviderAfter): readonly unknown[] {
  return field === 'inPersonRegions' ? provider.inPersonRegionIds : provider[field]
}

function withRefs(element: unknown, regionRefs: ReadonlyMap<number, string>): unknown {
  if (typeof element === 'number') return regionRefs.get(element)
  if (typeof element !== 'object' || element === null || !('regionId' in element)) return element
  const { regionId, ...rest } = element
  return { region: regionRefs.get(regionId as number), ...rest }
}

/** Returns `list` without the elements of `others` (multiset difference). Compares elements as text. */
function subtract(
  list: readonly unknown[],
  others: readonly unknown[],
  textOf: (element: unknown) => string,
): readonly unknown[] {
  if (list.length === 0 || others.length === 0) return list
  const remaining = new Map<string, number>()
  for (const other of others.map(textOf)) remaining.set(other, (remaining.get(other) ?? 0) + 1)
  return list.filter((element) => {
    const text = textOf(element)
    const count = remaining.get(text) ?? 0
    remaining.set(text, count - 1)
    return count <= 0
  })
}

const textOf = (value: unknown) => JSON.stringify(value)

function orderedTextOf(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    isRecord(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  )
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
