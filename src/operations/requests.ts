import type { Directory } from '../directory/directory'
import { type Listing, localOffsetAt } from '../directory/listing'
import type { Act } from '../domain/audit'
import {
  holdsSlot,
  newAuthorizationNumber,
  type OwnRequest,
  type RequestedSlot,
  type RequestRecord,
  type RequestState,
  type Submission,
  slotMillis,
} from '../domain/booking-request'
import { requireOwn } from '../domain/decisions/partner-requests'
import {
  decideAcceptance,
  decideEnd,
  decideEnds,
  decideNote,
  decideReading,
  type RequestEnd,
  refuseEnd,
  unscreened,
} from '../domain/decisions/transitions'
import { Refusal } from '../domain/errors'
import { limitFor } from '../domain/limits'
import type { Partner } from '../domain/partner'
import type { Version } from '../domain/ports/directory-feed'
import type { ChangePage } from '../domain/ports/store'
import { pause } from '../domain/ports/time'
import { scoreScreening } from '../domain/screening'
import { type Context, decideOnFreshSnapshot, type Records, thenShow } from './context'
import { requireRequest } from './find-records'
import { noteAct } from './maintenance'

/** The caller's authentication, and the directory version that contained the token. */
export interface Authenticated {
  readonly version: Version
  readonly partner: Partner
  /** Authenticates again. @throws Refusal if token, partner or organization became invalid */
  again(): Promise<Pick<Authenticated, 'version' | 'partner'>>
}

/**
 * Finds or creates the member and submits a booking request, or an intake if `slot` is null. A retry returns the first answer.
 * A refusal changes nothing.
 * @param now ms
 * @param authenticated undefined if the service itself submits
 * @throws Refusal, the first that applies: idempotency_key_reused, member_deactivated, slot_already_yours, provider_unknown,
 *   slot_unavailable, slot_conflicts_with_yours, too_many_open_requests, email_conflicts_limited, email_taken
 */
export function submitBookingRequest(
  context: Context,
  submission: Submission,
  now: number,
  authenticated?: Authenticated,
) {
  const { directory, store, limits, notebook } = context
  const { slot, partnerId, externalUserId } = submission
  let caller: Pick<Authenticated, 'version' | 'partner'> | undefined = authenticated
  return decideOnFreshSnapshot(context, async (round) => {
    if (round > 0) caller = await authenticated?.again()
    const ownLimit = caller?.partner.emailConflictsPerHour ?? null
    const submitted = store.submit({
      ...submission,
      // Uses the version from the authentication: if the token was revoked since then, the draft must become stale.
      version: caller?.version ?? directory.version,
      ...(slot ? locateSlot(directory, slot, now) : nowhere),
      authorizationNumber: slot && newAuthorizationNumber(context.random),
      submittedAt: now,
      limits: { ...limits, emailConflicts: limitFor(limits.emailConflicts, ownLimit, Number) },
    })
    return submitted.catch((error) => {
      const isLimited = error instanceof Refusal && error.kind === 'email_conflicts_limited'
      if (isLimited) notebook.noteLimited(partnerId, externalUserId, now)
      throw error
    })
  })
}

const nowhere = { slotState: null, localOffsetMinutes: null }

/** @param judged the listing to judge the slot by */
export function locateSlot(
  directory: Directory,
  { providerId, startsAt }: RequestedSlot,
  now: number,
  judged = (listing: Listing) => listing,
) {
  const found = directory.findListing(providerId)
  if (!found) return { slotState: 'provider unknown', localOffsetMinutes: null } as const
  const [listing, localOffsetMinutes] = [judged(found), localOffsetAt(found, startsAt)]
  if (directory.isOffered(listing, startsAt, now))
    return { slotState: 'offered', localOffsetMinutes } as const
  const isTaken = listing.taken.some((held) => Math.abs(held.startsAt - startsAt) < slotMillis)
  return { slotState: isTaken ? 'taken' : 'not offered', localOffsetMinutes } as const
}

/** Accepts a pending request. @throws Refusal record_unknown, move_unknown */
export function acceptRequest(records: Records, id: number, act: Act): Promise<void> {
  const accepted = records.store.change(
    act,
    ({ requests }) => [requests.find(id)],
    (request) => decideAcceptance(request, act),
  )
  return thenShow(records, accepted)
}

/**
 * Declines, closes or cancels a request, and frees its slot.
 * @param reason for staff only, stored as a note
 * @throws Refusal record_unknown, move_unknown, field_invalid for the length of the reason
 */
export function endRequest(records: Records, end: RequestEnd, id: number, act: Act, reason?: string) {
  const ended = records.store.change(
    act,
    ({ requests, audit }) => [
      requests.find(id),
      end === 'cancel' ? requests.readableAnswers([id]) : unscreened.answers,
      end === 'cancel' ? audit.listReviewed([id]) : unscreened.reviewed,
    ],
    (request, answers, reviewed) => decideEnd(end, request, act, reason, { answers, reviewed }),
  )
  return thenShow(records, ended)
}

/** @throws Refusal move_unknown if the request cannot be ended in this way */
export function requireEndable(request: RequestRecord, end: RequestEnd): void {
  const refusal = refuseEnd(request, end)
  if (refusal) throw refusal
}

/**
 * Reads a partner's requests submitted since `since` (ms). Returns the ids of those that can be declined, and of the intakes
 * that can be closed.
 */
export async function listSubmitted({ store }: Records, { id }: Partner, since: number) {
  const submitted = await store.read(({ requests }) => requests.submittedBy(id, since))
  const idsOf = (isOne: (state: RequestState) => boolean) =>
    submitted.filter(({ state }) => isOne(state)).map(({ id }) => id)
  return { decline: idsOf(holdsSlot), close: idsOf((state) => state === 'unassigned') }
}

const endedAtOnce = 100
/** Pause between transactions for other writers, in ms. */
const pauseMillis = 25

/**
 * Declines or closes requests in batches, with pauses for other writers. Skips requests that cannot be. Returns the number of
 * ended requests.
 */
export async function endRequests(
  records: Records,
  end: RequestEnd,
  ids: readonly number[],
  act: Act,
  reason?: string,
): Promise<number> {
  let ended = 0
  for (let start = 0; start < ids.length; start += endedAtOnce) {
    if (start > 0) await pause(pauseMillis)
    const some = ids.slice(start, start + endedAtOnce)
    ended += await records.store.change(
      act,
      ({ requests }) => [requests.findAll(some)],
      (found) => decideEnds(end, found, act, reason),
    )
  }
  return thenShow(records, Promise.resolve(ended))
}

export type Screening = Awaited<ReturnType<typeof readScreening>>

/** Reads a request's screening answers, with an audit line. @throws Refusal record_unknown */
export async function readScreening({ store }: Records, id: number, act: Act) {
  const answers = await store.change(
    act,
    ({ requests }) => [requests.find(id), requests.screeningOf(id)],
    decideReading,
  )
  return { answers, score: scoreScreening(answers) }
}

/** Adds a note for staff. Returns its id. @throws Refusal record_unknown, move_unknown, field_invalid */
export function addNote({ store }: Records, requestId: number, text: string, act: Act): Promise<number> {
  return store.change(
    act,
    ({ requests }) => [requests.find(requestId)],
    (request) => decideNote(request, text, act),
  )
}

/** Reads a request's notes, oldest first, with an audit line. @throws Refusal record_unknown */
export async function readNotes(records: Records, requestId: number, act: Act) {
  await requireRequest(records, requestId)
  const read = await records.store.read(({ notes }) => notes.listOf(requestId))
  await noteAct(records, act, 'request.read-notes', `request ${requestId}`)
  return read
}

/** Counts a request's notes. Counting is not recorded as reading. */
export async function countNotes({ store }: Records, requestId: number): Promise<number> {
  return (await store.read(({ notes }) => notes.idsOf(requestId))).length
}

/** Finds a partner's request and records the look-up. @throws Refusal request_not_found or member_deactivated */
export async function lookUpRequest(
  { store, notebook }: Context,
  { id: partnerId }: Partner,
  requestId: number,
  now: number,
): Promise<OwnRequest> {
  const request = await store.read(({ requests }) => requests.findOwn(partnerId, requestId))
  // Recorded for deactivated members too, because the answer reveals that the request exists.
  if (request) notebook.noteLookUp(partnerId, request.member.id, now)
  return requireOwn(request, partnerId)
}

/**
 * Returns the partner's requests that changed after a cursor, each at its last change. @param cursor null for the beginning
 * @throws Refusal cursor_invalid
 */
export async function listChanges(
  { store }: Context,
  { id }: Partner,
  cursor: string | null,
  pageSize: number,
): Promise<ChangePage> {
  const page = await store.read(({ requests }) => requests.changesAfter(id, cursor, pageSize))
  if (page) return page
  throw new Refusal('cursor_invalid', 'belongs to another list; read the list from the beginning')
}
