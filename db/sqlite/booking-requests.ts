import { and, eq, gt, inArray, isNotNull, lt, sql } from 'drizzle-orm'
import { type BookingRequest, type Submission, slotMillis } from '../../src/domain/booking-request'
import { Refusal } from '../../src/domain/errors'
import type { Member } from '../../src/domain/member'
import type { JudgedSubmission, TakenSlot } from '../../src/domain/store'
import { newRecordKey, type Vault } from '../../src/domain/vault'
import { refuseDuplicate } from './constraint'
import type { Drizzle } from './drizzle'
import { bookingRequests } from './schema'

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
  const columns = [
    'recordKey',
    'memberId',
    'state',
    'providerId',
    'authorizationNumber',
    'startsAt',
    'endsAt',
    'sealedScreeningAnswers',
    'submittedAt',
  ] as const
  const insert = db
    .insert(bookingRequests)
    .values(
      Object.fromEntries(
        columns.map((name) => [name, sql.placeholder(name)]),
      ) as unknown as typeof bookingRequests.$inferInsert,
    )
    .returning({ id: bookingRequests.id })
    .prepare()

  return {
    /** The requests that hold a slot of the provider touching the one that starts at an instant. */
    touching: (providerId: number, startsAt: number) =>
      touching.all({ providerId, startsAt, endsAt: startsAt + slotMillis }),

    takenSlots: (providerId: number): TakenSlot[] => taken.all({ providerId }) as TakenSlot[],

    add(member: Member, submission: JudgedSubmission): BookingRequest {
      const { slot, authorizationNumber, submittedAt } = submission
      const recordKey = newRecordKey()
      const state = slot ? 'pending' : 'unassigned'
      const startsAt = slot?.startsAt ?? null
      const row = {
        recordKey,
        memberId: member.id,
        state,
        providerId: slot?.providerId ?? null,
        authorizationNumber,
        startsAt,
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
  }

  function seal({ screeningAnswers }: Submission, recordKey: string): Buffer {
    return Buffer.from(vault.seal(Buffer.from(JSON.stringify(screeningAnswers)), recordKey))
  }
}
