import '../../src/production'
import { createInterface } from 'node:readline'
import { newAuthorizationNumber, type RequestedSlot, type Submission } from '../../src/domain/booking-request'
import type { SubmissionDraft } from '../../src/domain/decisions/submission'
import { Refusal } from '../../src/domain/errors'
import { systemClock } from '../../src/domain/ports/time'
import { fill, offerOf, openBookable } from './bookable'

// A node without HTTP, in a process of its own: for each line of JSON that it is given, it books and prints how many it has
// booked in a second. Words: what it is opened on, as JSON. The first on a database makes the directory.

/** What a node is asked to book: others of the slots than other nodes at the same time. */
export interface Asked {
  readonly callers: number
  readonly millis: number
  /** The place of its first slot in the order of all, and how far apart its slots are. */
  readonly first: number
  readonly step: number
}

/** How often a node reads what the others have stored. */
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
        // On a machine that has too much else to do. The next is another.
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
