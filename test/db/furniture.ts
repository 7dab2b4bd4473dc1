import type { Act } from '../../src/domain/audit'
import type { BookingRequest, Replay } from '../../src/domain/booking-request'
import {
  compareDirectory,
  type DirectoryComparison,
  type DirectoryLoad,
  type ProviderEntry,
  type RegionEntry,
} from '../../src/domain/decisions/compare-directory'
import type { SubmissionDraft } from '../../src/domain/decisions/submission'
import { Refusal } from '../../src/domain/errors'
import { unlimited } from '../../src/domain/limits'
import type { MemberUpdate } from '../../src/domain/member'
import type {
  DirectoryChanges,
  DirectoryFeed,
  TakenSlot,
  Version,
} from '../../src/domain/ports/directory-feed'
import type { Maintenance } from '../../src/domain/ports/maintenance'
import type { ActingStore } from '../support/acts'

export interface Connection {
  readonly store: ActingStore
  readonly feed: DirectoryFeed
  close(): Promise<void>
}

/** A test database on one of the engines. Disposing it removes the database. */
export interface Place extends Connection, AsyncDisposable {
  /** Absent for engines without maintenance. */
  readonly maintenance?: Maintenance
  /** Opens another connection to this database, or to the copy at `target`. */
  openAgain(target?: string): Promise<Connection>
  /** Deletes all rows of the changes table except the newest two. */
  forgetChanges(): Promise<void>
  /** Renames a provider in a transaction on a new connection. The returned function commits the transaction. */
  beginRenaming(providerId: number, firstName: string): Promise<() => Promise<void>>
  /** An unused path for a backup. Null if the database server makes the backups. */
  readonly freeTarget: string | null
}

export const now = Date.UTC(2026, 11, 1, 12)
export const nine = Date.UTC(2026, 11, 2, 9)
export const minutes = (count: number) => count * 60_000

/** The acting operator, for tests in which the name does not matter. */
export const actAt = (at: number): Act => ({ actor: 'olive', at })
export const act = actAt(now)

export const ontario: RegionEntry = {
  id: null,
  countryCode: 'CA',
  code: 'ON',
  localName: 'Ontario',
  label: 'Province',
  active: true,
}
export const quebec: RegionEntry = { ...ontario, code: 'QC', localName: 'Québec' }

export function entry(ref: string, different: Partial<ProviderEntry> = {}): ProviderEntry {
  return {
    ref,
    firstName: 'Marlow',
    lastName: 'Fernhill',
    credentials: null,
    pronouns: null,
    gender: null,
    bio: null,
    timeZone: 'America/Toronto',
    languagesSpoken: ['en', 'fr-CA'],
    modalities: ['in-video'],
    workingHours: [{ weekdays: ['monday'], start: '09:00', end: '17:00', stepMinutes: 60 }],
    overrides: [{ date: '2026-12-24', windows: [] }],
    timeOff: [{ from: '2026-12-27', until: '2026-12-31' }],
    minimumNoticeMinutes: 30,
    active: true,
    licenses: [{ region: 'CA-ON', from: '2020-01-01', until: null }],
    inPersonRegions: ['CA-ON'],
    ...different,
  }
}

export const update: MemberUpdate = {
  email: 'robin@example.com',
  firstName: 'Robin',
  lastName: 'Sample',
  country: 'CA',
}

export const unsetProfile = {
  preferredName: null,
  preferredPronouns: null,
  dob: null,
  gender: null,
  maritalStatus: null,
  clientType: null,
  leaveVoicemail: null,
  phoneNumber: null,
  streetAddress: null,
  suite: null,
  city: null,
  state: null,
  zipCode: null,
  reasonForSeekingSupport: null,
  preferredModality: null,
  preferredSpokenLanguage: 'en',
}

export const answers = [{ question: 'Sleep?', answer: 'Several days' }]

/** Reads the complete directory. */
export async function everything({ feed }: Pick<Connection, 'feed'>): Promise<DirectoryChanges> {
  const all = await feed.changesSince(null, 0)
  if (!all) throw new Error('a reader without a version got no changes')
  return all
}

export async function versionOf(connection: Pick<Connection, 'feed'>): Promise<Version> {
  return (await everything(connection)).version
}

/** Returns the changes since an earlier read. Adds the earlier bookings if the engine reports only new bookings. */
export async function changesAfter(
  { feed }: Pick<Connection, 'feed'>,
  before: DirectoryChanges,
): Promise<DirectoryChanges | null> {
  const changes = await feed.changesSince(before.version, 0)
  if (!changes) return null
  const { booked = new Map<number, readonly TakenSlot[]>(), ...rest } = changes
  const taken = new Map(rest.taken)
  for (const [id, slots] of booked) {
    const all = [...(before.taken.get(id) ?? []), ...slots]
    taken.set(
      id,
      all.sort((a, b) => a.startsAt - b.startsAt),
    )
  }
  return { ...rest, taken }
}

/** The complete directory without its version. The version differs between engines. */
export async function wholeDirectory(connection: Pick<Connection, 'feed'>) {
  const { version: _, ...shown } = await everything(connection)
  return shown
}

export async function compare(
  connection: Pick<Connection, 'feed'>,
  regions: readonly RegionEntry[],
  providers: readonly ProviderEntry[],
): Promise<DirectoryComparison> {
  const facts = await everything(connection)
  return compareDirectory({ regions, providers }, { ...facts, regions: facts.regions ?? [] })
}

export async function load(
  connection: Pick<Connection, 'feed' | 'store'>,
  regions: readonly RegionEntry[],
  providers: readonly ProviderEntry[],
): Promise<DirectoryLoad> {
  const comparison = await compare(connection, regions, providers)
  await connection.store.loadDirectory(comparison, act)
  return comparison.load
}

export async function takenOf(connection: Pick<Connection, 'feed'>, providerId: number): Promise<number[]> {
  const { taken } = await everything(connection)
  return (taken.get(providerId) ?? []).map(({ startsAt }) => startsAt)
}

/** The outcome of a write: "stored", "stale", or the kind of the refusal. */
export async function endOf(promise: Promise<unknown>): Promise<string> {
  try {
    return (await promise) === 'stale' ? 'stale' : 'stored'
  } catch (error) {
    return error instanceof Refusal ? error.kind : String(error)
  }
}

/** Returns a booking request. Throws if the submission was stale or a replay. */
export async function stored(
  submission: Promise<BookingRequest | Replay | 'stale'>,
): Promise<BookingRequest> {
  const answer = await submission
  if (answer === 'stale') throw new Error('the decision was stale')
  if ('isReplay' in answer) throw new Error('the submission was a replay')
  return answer
}

/** An intake of partner 1; `different` overrides fields. */
export const draftOf = (
  externalUserId: string,
  different: Partial<SubmissionDraft> & Pick<SubmissionDraft, 'version'>,
): SubmissionDraft => ({
  partnerId: 1,
  externalUserId,
  member: { ...update, email: `${externalUserId}@example.com` },
  slot: null,
  slotState: null,
  localOffsetMinutes: null,
  authorizationNumber: null,
  screeningAnswers: answers,
  retry: null,
  submittedAt: now,
  limits: unlimited,
  ...different,
})

/** Adds two regions, two providers and a partner. Returns helpers that submit requests to them. */
export async function fill(connection: Connection) {
  const { store } = connection
  await load(connection, [ontario, quebec], [entry('first'), entry('second')])
  const organization = await store.addOrganization('Harbour', act)
  const partner = await store.addPartner('Harbourlight', organization.id, act)
  const { providers, regions } = await everything(connection)
  const [first, second] = providers.map(({ id }) => id) as [number, number]
  let numbers = 0
  const intake = async (externalUserId: string, different: Partial<SubmissionDraft> = {}) => {
    const version = different.version ?? (await versionOf(connection))
    const localOffsetMinutes = different.slot ? 0 : null
    return store.submit(
      draftOf(externalUserId, { partnerId: partner.id, localOffsetMinutes, ...different, version }),
    )
  }
  const book = (
    externalUserId: string,
    startsAt: number,
    different: Partial<SubmissionDraft> & { providerId?: number } = {},
  ) => {
    const { providerId = first, ...rest } = different
    return intake(externalUserId, {
      slot: { providerId, startsAt },
      slotState: 'offered',
      authorizationNumber: `AUTH-${++numbers}`,
      ...rest,
    })
  }
  return { organization, partner, first, second, regions: regions ?? [], intake, book }
}

/** Calls `fill` and adds an intake that can be assigned. */
export async function fillWithIntake(connection: Connection) {
  const { store } = connection
  const furniture = await fill(connection)
  const { id, member } = await stored(furniture.intake('robin'))
  const assign = async (providerId: number, startsAt: number | null, authorizationNumber = 'AUTH-INTAKE') =>
    store.assign(
      id,
      {
        providerId,
        startsAt,
        localOffsetMinutes: startsAt === null ? null : 0,
        version: await versionOf(connection),
        authorizationNumber,
      },
      act,
    )
  const move = async (requestId: number, providerId: number, startsAt: number) =>
    store.move(
      requestId,
      {
        ...{ providerId, startsAt, localOffsetMinutes: 60, version: await versionOf(connection) },
        authorizationNumber: 'unused',
      },
      act,
    )
  return { ...furniture, id, member, assign, move }
}
