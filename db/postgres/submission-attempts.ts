import type { AuditHead } from '../../src/domain/audit'
import type { BookingRequest, Receipt, Replay } from '../../src/domain/booking-request'
import { decideSubmission, submitterOf } from '../../src/domain/decide-submission'
import type { TakenSlot } from '../../src/domain/directory-feed'
import { Refusal } from '../../src/domain/errors'
import { linesOf, type Noun, type Outcome, type Write, withIds } from '../../src/domain/writes'
import type { Changed } from '../queries/changes'
import { patience } from './client/patience'
import type { GroupFacts } from './group-facts'
import { lookingAtPartners, sharing, taking, takingNamed } from './locks'
import type { Session } from './session'
import { type Asked, hashesOf } from './submission-facts'
import { begin, commit, rollBack } from './transaction'

/** What a submission is answered with; a refusal that is one leaves a line in the audit log. */
export type Answer = BookingRequest | Replay | Refusal | 'stale'

/** What became of a submission. */
export type End =
  | { readonly is: 'answered'; readonly answer: Answer }
  | { readonly is: 'failed'; readonly error: unknown }
  /** It leaves a line in the audit log, and so is to be decided under the lock of that. */
  | { readonly is: 'to be audited' }
  /** It is about an address that another of the group gives back: that has to be stored first. */
  | { readonly is: 'to come after' }

/** What is to be stored before it is answered. */
interface ToStore {
  readonly is: 'to be stored'
  readonly asked: Asked
  readonly outcome: Outcome<Answer>
  readonly answer: Answer
  /** With the ids of what they add. */
  readonly writes: readonly Write[]
  readonly memberId: number | null
  readonly requestId: number | null
}

/** The attempts to store one group: the last one may have succeeded though its answer was lost. */
export class Attempts {
  /** What those that were to be stored are answered with if they are found to be, by record key. */
  readonly #answers = new Map<string, Answer>()
  /** The line that the last one was to leave in the audit log. */
  #line: AuditHead | null = null

  /** @param isAudited whether lines may be left in the audit log: of a group of one */
  constructor(
    private readonly group: readonly Asked[],
    private readonly isAudited: boolean,
  ) {}

  /**
   * What became of each, in order; null where others were faster, so that all is to be decided anew.
   *
   * @throws DatabaseFailure, or Refusal
   */
  async run({ connection, submissions, records, audit }: Session): Promise<End[] | null> {
    await begin(connection, this.#locks(), patience.attemptLock, patience.attempt)
    if (this.#line && (await audit.isThere(this.#line))) {
      await rollBack(connection)
      return this.group.map(({ recordKey }) => ({
        is: 'answered',
        answer: this.#answers.get(recordKey) as Answer,
      }))
    }
    const facts = await submissions.read(this.group, this.#answers.size > 0)
    const ends = this.#decide(facts)
    const toStore = ends.filter((end) => end.is === 'to be stored')
    const writes = inOrder(toStore)
    const lines = toStore.flatMap(({ asked, outcome }) =>
      linesOf(outcome, submitterOf(asked.draft), undefined),
    )
    if (writes.length + lines.length > 0) {
      const { isWhole } = await records.write(writes, knownOf(facts, toStore))
      if (!isWhole) {
        await rollBack(connection)
        return null
      }
      const [line = null] = await audit.append(lines)
      this.#line = line
    }
    for (const { asked, answer } of toStore) this.#answers.set(asked.recordKey, answer)
    await commit(connection, { changed: toStore.flatMap(changedBy), isAlone: false })
    return ends.map((end) => (end.is === 'to be stored' ? { is: 'answered', answer: end.answer } : end))
  }

  #locks(): string[] {
    const names = takingNamed(this.group.flatMap((asked) => hashesOf(asked.names)))
    // What is refused with a line counts for whoever comes next, and would not for whoever is stored at the same moment.
    const counted = this.group.filter(({ draft }) => draft.limits.emailConflicts !== null)
    const partners = counted.map(({ draft }) => draft.partnerId)
    return [
      ...(this.isAudited ? [taking('audit')] : []),
      sharing('directory'),
      names,
      ...(partners.length > 0 ? [lookingAtPartners(partners, this.isAudited)] : []),
    ]
  }

  /** One after another, each with what those before it are about to store. */
  #decide(facts: GroupFacts): (End | ToStore)[] {
    return this.group.map((asked) => {
      const stored = this.#answers.get(asked.recordKey)
      if (stored && facts.isStored(asked.recordKey)) return { is: 'answered', answer: stored }
      try {
        return this.#decideOne(asked, facts)
      } catch (error) {
        // What is sealed of a member, say, cannot be opened: that hurts no other.
        return { is: 'failed', error }
      }
    })
  }

  #decideOne(asked: Asked, facts: GroupFacts): End | ToStore {
    if (facts.isGivenBack(asked)) return { is: 'to come after' }
    const decision = decideSubmission(asked.draft, facts.factsOf(asked))
    if (decision === 'stale') return { is: 'answered', answer: decision }
    if (decision instanceof Refusal) return { is: 'failed', error: decision }
    if (decision.audit && !this.isAudited) return { is: 'to be audited' }
    if (decision.writes.length === 0 && !decision.audit)
      return { is: 'answered', answer: decision.answer([]) }
    return toStore(asked, decision, facts)
  }
}

/** A submission that takes a slot adds the request that holds it, and changes nothing of the provider's others. */
function changedBy({ outcome, writes, requestId }: ToStore): Changed[] {
  const [row] = writes.flatMap((write) => ('add' in write && write.add === 'request' ? write.row : []))
  const slot = { ...row, requestId } as TakenSlot
  return outcome.taken.map((providerId) => ['taken', providerId, slot])
}

/** Gives what is added its ids, and tells those who are decided after it. */
function toStore(asked: Asked, outcome: Outcome<Answer>, facts: GroupFacts): ToStore {
  const added = new Map<Noun, number>()
  const writes: Write[] = []
  const ids = outcome.writes.map((write) => {
    if (!('add' in write)) {
      writes.push(write)
      return write.id
    }
    const row = withIds(write.row, added)
    writes.push({ ...write, row } as Write)
    const id = write.add === 'replay' ? idOf(row) : facts.takeId(write.add as 'member' | 'request')
    added.set(write.add, id)
    return id
  })
  const answer = outcome.answer(ids)
  const memberId = added.get('member') ?? null
  const requestId = added.get('request') ?? null
  if (answer !== 'stale' && 'authorizationNumber' in answer && !('isReplay' in answer))
    facts.note(asked, answer, receiptIn(writes))
  return { is: 'to be stored', asked, outcome, answer, writes, memberId, requestId }
}

/** A replay's id is that of its request. */
function idOf(row: object): number {
  return Reflect.get(row, 'requestId') as number
}

/** What is kept of an answer for its retries. */
function receiptIn(writes: readonly Write[]): Receipt | null {
  const [row] = writes.flatMap((write) => ('add' in write && write.add === 'replay' ? write.row : []))
  if (!row) return null
  const { request, requestId, memberId, profile } = row
  return { ...request, id: requestId as number, member: { id: memberId as number, profile } }
}

/** Writes of one kind stand together, so that each kind goes with one statement. */
const order = ['remove replay', 'add member', 'set member', 'add request', 'add replay']

function inOrder(toStore: readonly ToStore[]): Write[] {
  const kindOf = (write: Write) => {
    const [[verb, noun]] = Object.entries(write) as [[string, Noun]]
    return `${verb} ${noun}`
  }
  const byKind = [...Map.groupBy(withMembersOnce(toStore), kindOf)]
  return byKind.sort(([a], [b]) => order.indexOf(a) - order.indexOf(b)).flatMap(([, writes]) => writes)
}

/** What several submissions of a group make of one member is written once. */
function withMembersOnce(toStore: readonly ToStore[]): Write[] {
  const writes: Write[] = []
  const places = new Map<number, number>()
  for (const { writes: theirs, answer } of toStore) {
    for (const write of theirs) {
      const id = answer !== 'stale' && 'member' in answer && isOfMember(write) ? answer.member.id : null
      const place = id === null ? undefined : places.get(id)
      if (place !== undefined) writes[place] = merged(writes[place] as Write, write)
      else if (id !== null) places.set(id, writes.push(write) - 1)
      else writes.push(write)
    }
  }
  return writes
}

function isOfMember(write: Write): boolean {
  return ('add' in write && write.add === 'member') || ('set' in write && write.set === 'member')
}

function merged(earlier: Write, later: Write): Write {
  const to = 'set' in later ? later.to : {}
  if ('add' in earlier) return { ...earlier, row: { ...earlier.row, ...to } } as Write
  return 'set' in earlier ? ({ ...earlier, to: { ...earlier.to, ...to } } as Write) : earlier
}

function knownOf({ sealedMembers }: GroupFacts, toStore: readonly ToStore[]) {
  const added = toStore.filter(({ requestId }) => requestId !== null)
  return {
    members: sealedMembers,
    requestKeys: added.map(({ asked }) => asked.recordKey),
    ids: {
      member: toStore.flatMap(({ memberId }) => memberId ?? []),
      request: added.map(({ requestId }) => requestId as number),
    },
  }
}
