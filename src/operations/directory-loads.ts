import { signToken } from '../auth/token'
import { describeDirectory } from '../directory-files/describe'
import { type DirectoryFile, readDirectoryFile } from '../directory-files/document'
import type { CsvFile } from '../directory-files/table-rows'
import { readTables } from '../directory-files/tables'
import type { Act } from '../domain/audit'
import type { RequestedSlot } from '../domain/booking-request'
import {
  compareDirectory,
  type DirectoryComparison,
  type DirectoryEntries,
  type DirectoryLoad,
  decideLoad,
} from '../domain/decisions/compare-directory'
import { describeLoad, type LoadDescription } from '../domain/decisions/describe-load'
import { firstDayAt } from '../domain/decisions/directory-losses'
import { Refusal } from '../domain/errors'
import type { Organization, Partner, PartnerKey } from '../domain/partner'
import { minuteMillis } from '../scheduling/calendar'
import { listDisplacedBookings, type UnavailableBooking } from './check-bookings'
import { type Context, thenShow } from './context'
import { setMemberActive } from './members'
import { addOrganization, addPartner, setOrganizationActive, setPartnerActive } from './partners'
import { submitBookingRequest } from './requests'
import { issueFirstToken, rotateToken } from './tokens'

/**
 * Makes the directory match a file. Regions are identified by code and providers by ref. Loading a file again applies only
 * the differences. Deactivates regions and providers that the file omits.
 * @throws Refusal directory_invalid with every fault of the file; nothing is changed
 */
export async function loadDirectory(context: Context, document: unknown, act: Act): Promise<DirectoryLoad> {
  const entries = readDirectoryFile(document, (name) => context.directory.knowsZone(name))
  return loadCompared(context, compareWithDirectory(context, entries), act)
}

/** Compares entries with the directory, without a lock. @throws Refusal directory_invalid if a region has a wrong id */
export function compareWithDirectory({ directory }: Context, entries: DirectoryEntries): DirectoryComparison {
  return compareDirectory(entries, {
    version: directory.version,
    regions: directory.listAllRegions(),
    providers: directory.listProviders(),
    unreadable: directory.listUnreadable(),
  })
}

export type LoadPreview = LoadDescription & { readonly fallen: readonly UnavailableBooking[] }

/** Describes the effects of a planned load. @param now ms */
export function previewLoad(context: Context, comparison: DirectoryComparison, now: number): LoadPreview {
  const description = describeLoad(comparison, context.directory.listProviders(), firstDayAt(now))
  return { ...description, fallen: listDisplacedBookings(context, comparison, now) }
}

/** Applies a comparison. @throws Refusal directory_changed if the directory changed after the comparison */
export async function loadCompared(context: Context, comparison: DirectoryComparison, act: Act) {
  const loaded = context.store.change(
    act,
    ({ changes }) => [changes.sinceExceptTaken(comparison.version)],
    (since) => decideLoad(comparison, since),
    { isLarge: true },
  )
  await thenShow(context, loaded)
  return comparison.load
}

/** Returns the directory as a directory file. Loading this file changes nothing. */
export function exportDirectory({ directory }: Context): DirectoryFile {
  return describeDirectory(directory.listAllRegions(), directory.listProviders())
}

/** Reads CSV files. Missing tables stay as stored. @throws DirectoryInvalid with the file and line of every fault */
export function readDirectoryTables(context: Context, files: readonly CsvFile[]): DirectoryEntries {
  const { directory } = context
  const unreadable = new Set<unknown>(directory.listUnreadable().map(({ ref }) => ref))
  return readTables(files, { ...exportDirectory(context), unreadable }, (name) => directory.knowsZone(name))
}

/** The states of sandbox partners, most useful first. */
const states = [
  'active',
  'partner_inactive',
  'organization_deactivated',
  'no_organization',
  'rotated',
] as const

type SandboxState = (typeof states)[number]

/** The first partner's id for the deactivated member. */
export const deactivatedMember = 'member-deactivated'

// Keys start long ago, because a sandbox clock may be set to the past.
const longAgo = Date.UTC(2000, 0, 1)

/** Adds organizations, partners in every state, tokens and a deactivated member. If `books` is true, adds bookings. */
export async function fillSandbox(context: Context, books: boolean, act: Act): Promise<void> {
  const organization = (name: string) => addOrganization(context, name, act)
  const partner = async (name: string, of: Organization | null): Promise<Partner> => {
    const added = await addPartner(context, name, of, act)
    await issueFirstToken(context, added, { ...act, at: longAgo })
    return added
  }
  const harbour = await organization('Harbourlight Health')
  const first = await partner('Harbourlight', harbour)
  const second = await partner('Willow Commons', await organization('Willow Commons Care'))
  const inactive = await partner('Quietwater', harbour)
  const closed = await organization('Old Orchard Wellness')
  await partner('Old Orchard', closed)
  await partner('Newcomer', null)
  await setPartnerActive(context, inactive, false, act)
  await setOrganizationActive(context, closed, false, act)
  await rotateToken(context, first, longAgo + 1, { ...act, at: longAgo + 1 })
  const { member } = await submit(context, first, deactivatedMember, null, act.at)
  await setMemberActive(context, member, false, act)
  if (books) await takeSlots(context, second, act.at)
}

export async function listSandboxPartners({ directory }: Context, now: number) {
  const byPartner = directory.listKeys().sort((a, b) => a.partner.id - b.partner.id)
  const partners = byPartner.map(async (key) => ({
    name: key.partner.name,
    state: tokenStateOf(key, now),
    token: await signToken(key),
    organization: key.partner.organization?.name ?? null,
  }))
  const order = ({ state }: { readonly state: SandboxState }) => states.indexOf(state)
  return (await Promise.all(partners)).sort((a, b) => order(a) - order(b))
}

function tokenStateOf({ endsAt, partner }: PartnerKey, now: number): SandboxState {
  if (endsAt !== null && endsAt <= now) return 'rotated'
  if (!partner.active) return 'partner_inactive'
  if (!partner.organization) return 'no_organization'
  return partner.organization.active ? 'active' : 'organization_deactivated'
}

/** Books every seventh slot of every third provider, at most three slots for each provider. */
async function takeSlots(context: Context, partner: Partner, now: number): Promise<void> {
  for (const [index, listing] of context.directory.listListings().slice(0, 90).entries()) {
    const [license] = listing.licenses
    if (index % 3 !== 0 || !license) continue
    const { slots } = context.directory.availabilityIn(listing, license.regionId, now)
    const chosen = slots.filter((_, position) => position % 7 === 4).slice(0, 3)
    for (const start of chosen) {
      const slot = { providerId: listing.provider.id, startsAt: start * minuteMillis }
      try {
        await submit(context, partner, `guest-${index}`, slot, now)
      } catch (error) {
        // The slots cannot be booked if the region of the license is deactivated.
        if (!(error instanceof Refusal)) throw error
      }
    }
  }
}

function submit(
  context: Context,
  { id: partnerId }: Partner,
  externalUserId: string,
  slot: RequestedSlot | null,
  now: number,
) {
  const email = `${externalUserId}@example.com`
  const member = { email, firstName: 'Sample', lastName: 'Member', country: 'CA' }
  const submission = { partnerId, externalUserId, member, slot, screeningAnswers: [], retry: null }
  return submitBookingRequest(context, submission, now)
}
