import type { Act } from './audit'
import type { RequestRecord, ScreeningAnswer } from './booking-request'
import { reasonNote, refuseReason } from './decide-note'
import { Refusal } from './errors'
import { holdsSlot, providersOf, refuseMove } from './request-states'
import { type Decision, type Outcome, outcome, setting, unknownRecord, type Write } from './writes'

/** pending -> accepted. */
export function decideAcceptance(request: RequestRecord | null, { at }: Act): Decision {
  if (!request) return unknownRecord('request')
  const to = { state: 'accepted' as const, acceptedAt: at }
  return refuseMove(request, 'accepted') ?? setting('request.accept', 'request', request.id, to)
}

/** pending or accepted -> declined; the slot is free again. @param reason kept as a note */
export function decideDecline(request: RequestRecord | null, act: Act, reason?: string): Decision {
  return ending('decline', request, act, reason)
}

/** unassigned -> closed: an intake that was withdrawn, or a duplicate. @param reason kept as a note */
export function decideClosing(request: RequestRecord | null, act: Act, reason?: string): Decision {
  return ending('close', request, act, reason)
}

const ends = {
  decline: { action: 'request.decline', state: 'declined' },
  close: { action: 'request.close', state: 'closed' },
} as const

function ending(
  end: keyof typeof ends,
  request: RequestRecord | null,
  act: Act,
  reason: string | undefined,
): Decision {
  if (!request) return unknownRecord('request')
  const { action, state } = ends[end]
  const refusal = refuseMove(request, state) ?? refuseReason(request, reason)
  if (refusal) return refusal
  const to = { state, declinedAt: act.at }
  const write: Write = { set: 'request', id: request.id, to }
  const note = reasonNote(request, end, act, reason)
  return outcome(action, 'request', request.id, [write, ...note], providersOf(request))
}

/** Those of many requests that can be declined are, and the others stay as they are: the answer is how many were. */
export function decideDeclines(
  requests: readonly (RequestRecord | null)[],
  act: Act,
  reason?: string,
): Outcome<number> {
  const decisions = requests.map((request) => decideDecline(request, act, reason))
  const declined = decisions.flatMap((decision) => (decision instanceof Refusal ? [] : decision))
  return {
    writes: declined.flatMap(({ writes }) => writes),
    taken: [...new Set(declined.flatMap(({ taken }) => taken))],
    audit: declined.flatMap(({ audit }) => audit ?? []),
    answer: () => declined.length,
  }
}

/**
 * A booked time that the provider's clock will show otherwise than it was to be, since time zone data has changed, is
 * known to those concerned: from now on it is expected to show what it will.
 *
 * @param localOffsetMinutes minutes east of UTC of the provider's clock at the slot, by the zone data of now
 */
export function decideAcknowledgement(request: RequestRecord | null, localOffsetMinutes: number): Decision {
  if (!request) return unknownRecord('request')
  const { id, state, startsAt } = request
  if (!holdsSlot(state) || startsAt === null) {
    return new Refusal('move_unknown', 'the request holds no slot')
  }
  return setting('request.acknowledge', 'request', id, { localOffsetMinutes }, providersOf(request))
}

/** The screening answers of a request may be read; the audit log tells who did. */
export function decideReading(
  request: RequestRecord | null,
  answers: readonly ScreeningAnswer[],
): Decision<readonly ScreeningAnswer[]> {
  if (!request) return unknownRecord('request')
  return { ...outcome('request.read-screening', 'request', request.id, []), answer: () => answers }
}
