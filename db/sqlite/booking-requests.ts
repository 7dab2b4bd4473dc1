import { and, asc, eq, gt, inArray, isNotNull, lt, sql } from 'drizzle-orm'
import {
  type BookingRequest,
  type RequestRecord,
  type ScreeningAnswer,
  type Submission,
  slotMillis,
} from '../../src/domain/booking-request'
import { Refusal } from '../../src/domain/errors'
import type { Member } from '../../src/domain/member'
import type { Assignment, JudgedSubmission, RequestFilter, TakenSlot } from '../../src/domain/store'
import { newRecordKey, type Vault } from '../../src/domain/vault'
import { refuseDuplicate } from './constraint'
import { columnPlaceholders, type Drizzle } from './drizzle'
import { toMember } from './members'
import { bookingRequests, members } from './schema'
import { answersPlace, openSealed } from './sealed'

/** Queries on booking requests and intakes. */
export function bookingRequestQueries(db: Drizzle, vault: Vault) {
  const holdsSlot = and(
    inArray(bookingRequests.state, ['pending', 'accepted']),
    isNotNull(bookingRequests.startsAt),
  )
  const touching = db
    .select({
      id: bookingRequests.id,
      memberId: bookingRequests.memberId,
      startsAt: bookingRequests.startsAt,
    })
    .from(bookingRequests)
    .where(
      and(
        holdsSlot,
        eq(bookingRequests.providerId, sql.placeholder('providerId')),
        lt(bookingRequests.startsAt, sql.placeholder('endsAt')),
        gt(bookingRequests.endsAt, sql.placeholder('startsAt')),
      ),
    )
    .prepare()
  const taken = db
    .select({
      requestId: bookingRequests.id,
      startsAt: bookingRequests.startsAt,
      endsAt: bookingRequests.endsAt,
    })
    .from(bookingRequests)
    .where(and(holdsSlot, eq(bookingRequests.providerId, sql.placeholder('providerId'))))
    .orderBy(bookingRequests.startsAt)
    .prepare()
  const insert = db
    .insert(bookingRequests)
    .values(columnPlaceholders(bookingRequests, ['id', 'acceptedAt', 'declinedAt']))
    .returning({ id: bookingRequests.id })
    .prepare()

  return {
    /** The requests that hold a slot of the provider touching the one that starts at an instant. */
    touching: (providerId: number, startsAt: number) =>
      touching.all({ providerId, startsAt, endsAt: startsAt + slotMillis }),

    takenSlots: (providerId: number): TakenSlot[] => taken.all({ providerId }) as TakenSlot[],

    add(member: Member, submission: JudgedSubmission): BookingRequest {
      const { slot, authorizationNumber, localOffsetMinutes, submittedAt } = submission
      const recordKey = newRecordKey()
      const state = slot ? 'pending' : 'unassigned'
      const startsAt = slot?.startsAt ?? null
      const row = {
        recordKey,
        memberId: member.id,
        isIntake: slot === null,
        state,
        providerId: slot?.providerId ?? null,
        authorizationNumber,
        startsAt,
        localOffsetMinutes,
        endsAt: startsAt === null ? null : startsAt + slotMillis,
        sealedScreeningAnswers: seal(submission, recordKey),
        submittedAt,
      } as const
      const { id } = refuseDuplicate(
        () => insert.get(row) as { id: number },
        () => new Refusal('slot_unavailable', 'the slot is not available'),
      )
      const { providerId } = row
      return {
        id,
        state,
        providerId,
        authorizationNumber,
        startsAt,
        acceptedAt: null,
        declinedAt: null,
        member,
      }
    },

    list({ intakesOnly, unassignedOnly }: RequestFilter): RequestRecord[] {
      const wanted = and(
        intakesOnly ? eq(bookingRequests.isIntake, true) : undefined,
        unassignedOnly ? eq(bookingRequests.state, 'unassigned') : undefined,
      )
      return select().where(wanted).orderBy(asc(bookingRequests.id)).all().map(toRecord)
    },

    find(id: number): RequestRecord | null {
      const row = select().where(eq(bookingRequests.id, id)).get()
      return row ? toRecord(row) : null
    },

    listOf: (memberId: number): RequestRecord[] =>
      select()
        .where(eq(bookingRequests.memberId, memberId))
        .orderBy(asc(bookingRequests.id))
        .all()
        .map(toRecord),

    /** The screening answers of a request, none for a person who was erased. */
    screeningOf(id: number): ScreeningAnswer[] {
      const row = db
        .select({ sealed: bookingRequests.sealedScreeningAnswers, recordKey: bookingRequests.recordKey })
        .from(bookingRequests)
        .where(eq(bookingRequests.id, id))
        .get()
      return row?.sealed
        ? JSON.parse(openSealed(vault, row.sealed, answersPlace(row.recordKey), `request ${id}`).toString())
        : []
    },

    assign(id: number, { providerId, startsAt, localOffsetMinutes, authorizationNumber }: Assignment): void {
      const endsAt = startsAt === null ? null : startsAt + slotMillis
      db.update(bookingRequests)
        .set({
          state: 'pending',
          providerId,
          startsAt,
          endsAt,
          localOffsetMinutes,
          authorizationNumber: sql`coalesce(authorization_number, ${authorizationNumber})`,
          acceptedAt: null,
          declinedAt: null,
        })
        .where(eq(bookingRequests.id, id))
        .run()
    },

    accept(id: number, acceptedAt: number): void {
      db.update(bookingRequests)
        .set({ state: 'accepted', acceptedAt })
        .where(eq(bookingRequests.id, id))
        .run()
    },

    decline(id: number, declinedAt: number): void {
      db.update(bookingRequests)
        .set({ state: 'declined', declinedAt })
        .where(eq(bookingRequests.id, id))
        .run()
    },

    /** Takes a person out of their requests; the bare facts stay. */
    forget(memberId: number): void {
      db.update(bookingRequests)
        .set({ memberId: null, sealedScreeningAnswers: null })
        .where(eq(bookingRequests.memberId, memberId))
        .run()
    },
  }

  function select() {
    return db
      .select({ request: bookingRequests, member: members })
      .from(bookingRequests)
      .leftJoin(members, eq(members.id, bookingRequests.memberId))
  }

  function seal({ screeningAnswers }: Submission, recordKey: string): Buffer {
    return Buffer.from(vault.seal(Buffer.from(JSON.stringify(screeningAnswers)), answersPlace(recordKey)))
  }
}

function toRecord({
  request,
  member,
}: {
  request: typeof bookingRequests.$inferSelect
  member: typeof members.$inferSelect | null
}): RequestRecord {
  const { id, isIntake, state, providerId, authorizationNumber, startsAt, acceptedAt, declinedAt } = request
  return {
    id,
    isIntake,
    state,
    providerId,
    authorizationNumber,
    startsAt,
    acceptedAt,
    declinedAt,
    submittedAt: request.submittedAt,
    localOffsetMinutes: request.localOffsetMinutes,
    member: member && toMember(member),
  }
}
