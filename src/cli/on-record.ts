import type { RequestRecord } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import type { Provider } from '../domain/provider'
import type { Context, Records } from '../operations/context'
import { requireRequest } from '../operations/find-records'
import { noteAct } from '../operations/upkeep'
import { formatInstant, minuteMillis } from '../scheduling/calendar'
import { formatLocal } from '../scheduling/time-zone'
import { recordId } from './arguments'
import { commandsOn } from './command'
import { makeAct, withContext, withRecords } from './storage'
import { type CommonFlags, printJson, printLines } from './terminal/output'
import { confirm } from './terminal/question'
import { presentRequest, providerOf } from './terminal/request-text'

/** What `--json` prints of a request. */
export const inShapeOfApi = 'print the request as JSON, in the shape of the API'

const argument = ['<request>', 'id', recordId] as const
/** Makes a command on one request, for which the directory is opened. */
export const onRequest = commandsOn(withContext, argument, requireRequest)
/** The same for those that need no directory. */
export const onRecord = commandsOn(withRecords, argument, requireRequest)
/** The same for those that look for the request themselves: the audit log is told of one that is not there too. */
export const onAnyRequest = commandsOn(withContext, argument, (_context, id: number) => id)
/** The same for those that need the request's id alone. */
export const onRequestId = commandsOn(withRecords, argument, (_records, id: number) => id)

/**
 * Asks about a request whose person the question names, which the audit log is told before.
 *
 * @throws Refusal not_confirmed also where a colleague has moved it while the question stood: the yes was to something else
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
  if (flags.yes || standingOf(request) === standingOf(await requireRequest(context, id))) return
  throw new Refusal('not_confirmed', `request ${id} is not as it was asked about by now; nothing was changed`)
}

/** What a question about a request says of it, and what may change before the answer. */
function standingOf({ state, providerId, startsAt, member }: RequestRecord): string {
  return [state, providerId, startsAt, member?.id].join()
}

/** With whom a request is, and when by their clock: `on-001 at Wed 2026-12-02 09:00 America/Toronto`. */
export function appointmentOf(context: Context, request: RequestRecord): string {
  const provider = providerOf(context, request)
  return provider ? appointmentText(context, provider, request.startsAt) : `provider ${request.providerId}`
}

/** With whom an appointment is, and when by their clock, or in UTC where that is not known. */
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

/** Prints what became of a request: as JSON with `more` if the flags ask for it, otherwise in a line. */
export async function printMoved(
  records: Records,
  flags: CommonFlags,
  id: number,
  line: string,
  more: object | null = null,
): Promise<void> {
  if (flags.json) printJson({ ...presentRequest(await requireRequest(records, id)), ...more })
  else printLines(line)
}
