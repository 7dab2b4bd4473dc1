import '../../src/production'
import { createInterface } from 'node:readline'
import { newAuthorizationNumber, type RequestedSlot, type Submission } from '../../src/domain/booking-request'
import type { SubmissionDraft } from '../../src/domain/decisions/submission'
import { Refusal } from '../../src/domain/errors'
import { systemClock } from '../../src/domain/ports/time'
import { fill, offerOf, openBookable } from './bookable'

// A node without HTTP in its own process. The argument is a Bookable as JSON. Each input line is an Asked as JSON: the
// node books, then prints its bookings per second. The first node on a database creates the directory.

/** A round of bookings. Nodes that book concurrently get different slots. */
export interface Asked {
  readonly callers: number
  readonly millis: number
  /** The index of the first slot to book. */
  readonly first: number
  /** The distance from one slot to the next. The value 1 books adjacent slots. */
  readonly step: number
}

/** How often a node reads the changes that other nodes made. */
const followingMillis = 100

const service = await openBookable(JSON.parse(process.argv[2] as string))
const { context } = service
const { directory } = context
if (directory.listListings().length === 0) await fill(context)
const { providerIds, starts } = offerOf(context)
const [key] = directory.listKeys()
const partnerId = key?.partner.id ?? 0
console.log('ready')

for await (const line of createInterface({ input: process.stdin }))
  console.log(await bookFor(JSON.parse(line)))
await service.close()

async function bookFor({ callers, millis, first, step }: Asked): Promise<number> {
  const endsAt = performance.now() + millis
  let begun = 0
  let inTime = 0
  const call = async () => {
    while (performance.now() < endsAt) {
      const isStored = await book(first + begun++ * step).then(
        () => true,
        // On a busy machine a booking can fail with storage_busy. The caller then continues with the next slot.
        (error) =>
          error instanceof Refusal && error.kind === 'storage_busy' ? false : Promise.reject(error),
      )
      if (isStored && performance.now() <= endsAt) inTime++
    }
  }
  const following = setInterval(() => directory.catchUp(), followingMillis)
  await Promise.all(Array.from({ length: callers }, call))
  clearInterval(following)
  return (inTime / millis) * 1_000
}

async function book(place: number): Promise<void> {
  const providerId = providerIds[place % providerIds.length]
  const start = starts[Math.floor(place / providerIds.length)]
  if (providerId === undefined || start === undefined) throw new Error('no slot is left to book')
  const submission = submissionOf(`node-${place}`, { providerId, startsAt: Date.parse(start) })
  const answer = await context.store.submit(draftOf(submission, systemClock.now()))
  if (answer === 'stale' || !('member' in answer)) throw new Error('a booking was not stored')
}

function submissionOf(externalUserId: string, slot: RequestedSlot): Submission {
  return {
    partnerId,
    externalUserId,
    member: { email: `${externalUserId}@example.com`, firstName: 'Robin', lastName: 'Sample', country: 'CA' },
    slot,
    screeningAnswers: [{ question: 'Little interest or pleasure in doing things?', answer: 'Several days' }],
    retry: null,
  }
}

function draftOf(submission: Submission, now: number): SubmissionDraft {
  return {
    ...submission,
    ...{ version: directory.version, slotState: 'offered', localOffsetMinutes: -300 },
    ...{ authorizationNumber: newAuthorizationNumber(), submittedAt: now, limits: context.limits },
  }
}
