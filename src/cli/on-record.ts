import type { RequestRecord } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import type { Provider } from '../domain/provider'
import type { Context, Records } from '../operations/context'
import { requireRequest } from '../operations/find-records'
import { noteAct } from '../operations/maintenance'
import { formatInstant, minuteMillis } from '../scheduling/calendar'
import { formatLocal } from '../scheduling/time-zone'
import { recordId } from './arguments'
import { commandsOn } from './command'
import { makeAct, withContext, withRecords } from './storage'
import type { CommonFlags } from './terminal/output'
import { confirm } from './terminal/question'
import { presentRequest, providerOf } from './terminal/request-text'

export const inShapeOfApi = 'print the request as JSON, as in the API'

const argument = ['<request>', 'id', recordId] as const
export const onRequest = commandsOn(withContext, argument, requireRequest)
export const onRequestId = commandsOn(withRecords, argument, (_records, id: number) => id)

/**
 * The audit log records that the operator read the request, because the question shows the member.
 * @throws Refusal not_confirmed, also if the request changed while the question was open
 */
export async function askAbout(
  context: Records,
  request: RequestRecord,
  question: string,
  flags: CommonFlags,
): Promise<void> {
  const { id } = request
  if (!flags.yes && process.stdin.isTTY) await noteAct(context, makeAct(), 'request.show', `request ${id}`)
  await confirm(question, flags)
  if (flags.yes || summaryOf(request) === summaryOf(await requireRequest(context, id))) return
  throw new Refusal('not_confirmed', `request ${id} changed while the question was open, so nothing was done`)
}

function summaryOf({ state, providerId, startsAt, member }: RequestRecord): string {
  return [state, providerId, startsAt, member?.id].join()
}

/** For example `on-001 at Wed 2026-12-02 09:00 America/Toronto`. */
export function appointmentOf(context: Context, request: RequestRecord): string {
  const provider = providerOf(context, request)
  return provider ? appointmentText(context, provider, request.startsAt) : `provider ${request.providerId}`
}

/** Returns the provider and the local time. If the provider's zone is unknown, the time is in UTC. */
export function appointmentText(
  { directory }: Context,
  { id, ref, timeZone }: Provider,
  startsAt: number | null,
): string {
  if (startsAt === null) return `${ref} without a slot`
  const zone = directory.findAnyListing(id)?.calendar.schedule.zone
  if (!zone) return `${ref} at ${formatInstant(startsAt)}`
  return `${ref} at ${formatLocal(zone, startsAt / minuteMillis)} ${timeZone}`
}

export async function requestAnswer(records: Records, id: number, line: string, more: object | null = null) {
  return { json: { ...presentRequest(await requireRequest(records, id)), ...more }, text: line }
}

export function riskNotice(id: number): string {
  return `the member's ninth PHQ-9 item is not zero, or could not be read; first read anteroom request show ${id} --screening`
}
