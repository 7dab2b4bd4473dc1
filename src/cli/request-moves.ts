import type { Command } from 'commander'
import type { RequestNote, RequestRecord } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import type { Member } from '../domain/member'
import type { Partner } from '../domain/partner'
import type { Provider } from '../domain/provider'
import { presentTimestamp } from '../http/booking-request'
import { assignProvider, concernOf, requireAssignable } from '../operations/assign-provider'
import { acknowledgeMove } from '../operations/check-bookings'
import { closeRequest, requireClosable } from '../operations/close-request'
import type { Context, Records } from '../operations/context'
import { requirePartner, requireProvider, requireRequest } from '../operations/find-records'
import { moveRequest, requireMovable } from '../operations/move-request'
import { addNote, readNotes } from '../operations/request-notes'
import {
  acceptRequest,
  declineRequest,
  declineRequests,
  listSubmitted,
  requireDeclinable,
} from '../operations/requests'
import { noteAct } from '../operations/upkeep'
import { formatInstant, minuteMillis } from '../scheduling/calendar'
import { formatLocal } from '../scheduling/time-zone'
import { recordId, utcInstant } from './arguments'
import { asJson, asking, type Call, commandsOn, contextCommand } from './command'
import { givenText } from './given-text'
import {
  type Columns,
  type CommonFlags,
  columnsOf,
  confirm,
  instantText,
  printJson,
  printLines,
  printNotice,
  printResult,
  printTable,
} from './output'
import { personText } from './person-text'
import { presentRequest, providerOf, warningOf } from './request-text'
import { makeAct, withContext, withRecords } from './storage'

/** The commands that move a request from state to state, or say something of it. */
export function moveCommands(): Command[] {
  return [
    onRequest('assign', 'Assign a provider to an intake, in place of the one that it has if any', assign)
      .requiredOption('--provider <ref>', 'who')
      .option('--slot <instant>', 'the start of a free slot of theirs, in UTC; none unless given', utcInstant)
      .option('--json', inShapeOfApi)
      .option('--yes', 'do not ask before a provider is replaced, or has no license where the member is'),
    asJson(onRequestId('accept', 'Accept a pending request', accept), inShapeOfApi),
    moving(
      onRequest('move', 'Move a pending or accepted request to another slot; it is pending again', move)
        .requiredOption('--slot <instant>', 'the start of a free slot, in UTC', utcInstant)
        .option('--provider <ref>', 'whose slot; the one whom the request is with unless given'),
    ),
    moving(
      contextCommand(
        'decline',
        'Decline a pending or accepted request, or many; their slots are free again',
        decline,
      )
        .argument('[request]', 'id', recordId)
        .option('--reason <text>', reasonMeaning)
        .option('--partner <partner>', 'name or id of the partner, with --since, instead of an id')
        .option(
          '--since <instant>',
          'all of the partner that were submitted at this UTC instant or later',
          utcInstant,
        )
        .option('--dry-run', 'only tell which these are'),
    ),
    moving(
      onRecord(
        'close',
        'Close an intake without a provider, withdrawn or a duplicate, for good',
        close,
      ).option('--reason <text>', reasonMeaning),
    ),
    asJson(
      onRequest('acknowledge', 'Note that a booked local time which has changed is known', acknowledge),
      inShapeOfApi,
    ),
    asJson(
      onRequestId('note', 'Write a note on a request, which staff alone read', note).argument(
        '<text>',
        'the note; - takes it from stdin, so that no history of a shell has it',
      ),
      'print its id as JSON',
    ),
    asJson(
      onRequestId('notes', 'Show the notes on a request; the audit log tells who read them', showNotes),
      'print them as JSON',
    ),
  ]
}

const inShapeOfApi = 'print the request as JSON, in the shape of the API'
const reasonMeaning = 'why, as a note which staff alone read; - takes it from stdin'

const moving = (command: Command): Command => asking(asJson(command, inShapeOfApi))

const argument = ['<request>', 'id', recordId] as const
const onRequest = commandsOn(withContext, argument, requireRequest)
/** For those that need no directory. */
const onRecord = commandsOn(withRecords, argument, requireRequest)
/** For those that need the request's id alone. */
const onRequestId = commandsOn(withRecords, argument, (_records, id: number) => id)

interface AssignFlags extends CommonFlags {
  readonly provider: string
  readonly slot?: number
}

async function assign(call: Call<Context, AssignFlags>, request: RequestRecord): Promise<void> {
  const { context, flags, act } = call
  const { id, state, member } = request
  requireAssignable(request)
  const provider = requireProvider(context, flags.provider)
  const to = appointmentText(context, provider, flags.slot ?? null)
  const person = await personText(context, member)
  const isConcern = tellConcern(context, request.member, provider, flags.slot)
  if (state === 'pending' || state === 'accepted') {
    const present = `is ${state} with ${appointmentOf(context, request)}`
    await askAbout(
      context,
      request,
      `Request ${id} of ${person}, ${present}. Assign it to ${to} instead?`,
      flags,
    )
  } else if (isConcern) {
    await askAbout(context, request, `Assign request ${id} of ${person}, to ${to} all the same?`, flags)
  }
  const assigned = await assignProvider(context, id, provider, flags.slot ?? null, act())
  const { startsAt, authorizationNumber } = assigned
  const when = startsAt === null ? 'without a slot' : `at ${formatInstant(startsAt)}`
  const done = `Request ${id} is assigned to ${provider.ref} ${when}`
  printResult(flags, presentRequest(assigned), `${done}; its authorization number is ${authorizationNumber}.`)
}

async function accept({ context, flags, act }: Call<Records>, id: number): Promise<void> {
  await acceptRequest(context, id, act())
  await printMoved(context, flags, id, `Request ${id} is accepted.`)
}

interface MoveFlags extends CommonFlags {
  readonly slot: number
  readonly provider?: string
}

async function move(call: Call<Context, MoveFlags>, request: RequestRecord): Promise<void> {
  const { context, flags, act } = call
  const { id } = request
  const present = providerOf(context, request)
  const provider = flags.provider === undefined ? present : requireProvider(context, flags.provider)
  requireMovable(request, { providerId: provider?.id ?? 0, startsAt: flags.slot })
  // The record of whom it is with may be one that cannot be read.
  if (!provider) throw new Refusal('record_unknown', 'name a provider with --provider')
  tellConcern(context, request.member, provider, flags.slot)
  const [person, from] = [await personText(context, request.member), appointmentOf(context, request)]
  const to = appointmentText(context, provider, flags.slot)
  const again = request.state === 'accepted' ? ' It is accepted, and will be pending again.' : ''
  await askAbout(context, request, `Move request ${id} of ${person}, from ${from} to ${to}?${again}`, flags)
  const moved = await moveRequest(context, id, provider, flags.slot, act())
  const done = `Request ${id} is moved to ${provider.ref} at ${formatInstant(flags.slot)}, and pending.`
  printResult(flags, presentRequest(moved), done)
}

interface ReasonFlags {
  readonly reason?: string
}

interface DeclineFlags extends ReasonFlags {
  readonly partner?: string
  readonly since?: number
  readonly dryRun?: boolean
}

async function decline(call: Call<Context, DeclineFlags>, id: number | undefined): Promise<void> {
  const { context, flags, tried } = call
  const { partner, since, dryRun } = flags
  if (id === undefined && partner !== undefined && since !== undefined) {
    return declineSince(call, await requirePartner(context, partner), since)
  }
  if (id === undefined || partner !== undefined || since !== undefined || dryRun) {
    throw new Refusal('field_invalid', 'name a request by id, or many by both --partner and --since')
  }
  tried.id = id
  const request = await requireRequest(context, id)
  requireDeclinable(request)
  const reason = await reasonOf(flags)
  const [person, appointment] = [await personText(context, request.member), appointmentOf(context, request)]
  await askAbout(context, request, `Decline request ${id} of ${person}, with ${appointment}?`, flags)
  // A slot that is given back is judged by no clock.
  await declineRequest(context, id, makeAct(), reason)
  await printMoved(context, flags, id, `Request ${id} is declined.`)
}

/** How many of the requests that would be declined are shown. */
const mostListed = 10

async function declineSince(
  call: Call<Context, DeclineFlags>,
  partner: Partner,
  since: number,
): Promise<void> {
  const { context, flags } = call
  const { ids, unassigned } = await listSubmitted(context, partner, since)
  const [which, told] = [
    `of ${partner.name} submitted since ${formatInstant(since)}`,
    { partner: partner.name, since: formatInstant(since), unassigned },
  ]
  if (flags.dryRun) {
    if (flags.json) return printJson({ ...told, declinable: ids })
    const first = await Promise.all(ids.slice(0, mostListed).map((id) => requireRequest(context, id)))
    printTable(first, declinedColumns, 'None can be declined.')
    printLines('', `${ids.length} requests ${which} would be declined.`)
  } else {
    const reason = await reasonOf(flags)
    if (ids.length > 0) await confirm(`Decline ${ids.length} requests ${which}?`, flags)
    const declined = await declineRequests(context, ids, makeAct(), reason)
    if (flags.json) return printJson({ ...told, declined })
    printLines(`${declined} requests ${which} are declined.`)
  }
  if (unassigned > 0) printLines(`${unassigned} intakes of theirs without a provider stay as they are.`)
}

const declinedColumns: Columns<RequestRecord> = {
  ...columnsOf('id', 'state'),
  SUBMITTED: ({ submittedAt }) => formatInstant(submittedAt),
  SLOT: ({ startsAt }) => instantText(startsAt),
  MEMBER: ({ member }) => member?.id ?? null,
}

async function close(call: Call<Records, ReasonFlags>, request: RequestRecord): Promise<void> {
  const { context, flags, act } = call
  const { id, member } = request
  requireClosable(request)
  const reason = await reasonOf(flags)
  const question = `Close request ${id} of ${await personText(context, member)}, for good?`
  await askAbout(context, request, question, flags)
  await closeRequest(context, id, act(), reason)
  await printMoved(context, flags, id, `Request ${id} is closed.`)
}

async function acknowledge({ context, flags, act }: Call<Context>, { id }: RequestRecord): Promise<void> {
  await acknowledgeMove(context, id, act())
  await printMoved(context, flags, id, `The new local time of request ${id} is acknowledged.`)
}

async function note({ context, flags, act }: Call<Records>, id: number, word: string): Promise<void> {
  const noteId = await addNote(context, id, await givenText(word), act())
  printResult(flags, { request: id, note: noteId }, `The note on request ${id} is kept.`)
}

async function showNotes({ context, flags }: Call<Records>, id: number): Promise<void> {
  const notes = await readNotes(context, id, makeAct())
  if (flags.json) return printJson(notes.map(presentNote))
  if (notes.length === 0) return printLines('There are no notes.')
  for (const [index, { at, actor, kind, text }] of notes.entries()) {
    const about = kind === 'note' ? '' : `, on why it was ${pastOf[kind]}`
    printLines(...(index > 0 ? [''] : []), `${formatInstant(at)}  ${actor}${about}`)
    printLines(...text.split(/\r?\n/).map((line) => `  ${line}`))
  }
}

const pastOf = { decline: 'declined', close: 'closed' } as const

function presentNote({ at, ...told }: RequestNote) {
  return { ...told, at: presentTimestamp(at) }
}

/** The reason that the flags give, if any: read before anything is asked. */
function reasonOf({ reason }: ReasonFlags): Promise<string | undefined> | undefined {
  return reason === undefined ? undefined : givenText(reason)
}

/** Says before anything is asked or done what speaks against a provider for a member. Tells whether anything does. */
function tellConcern(
  context: Context,
  member: Member,
  provider: Provider,
  slot: number | undefined,
): boolean {
  const concern = concernOf(context.directory, member, provider, slot ?? context.clock.now())
  if (concern) printNotice(`note that ${warningOf(concern, provider)}`)
  return concern !== null
}

/**
 * Asks about a request whose person the question names, which the audit log is told before.
 *
 * @throws Refusal not_confirmed also where a colleague has moved it while the question stood: the yes was to something else
 */
async function askAbout(
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
function appointmentOf(context: Context, request: RequestRecord): string {
  const provider = providerOf(context, request)
  return provider ? appointmentText(context, provider, request.startsAt) : `provider ${request.providerId}`
}

function appointmentText(
  { directory }: Context,
  { id, ref, timeZone }: Provider,
  startsAt: number | null,
): string {
  if (startsAt === null) return `${ref} without a slot`
  const zone = directory.findAnyListing(id)?.calendar.schedule.zone
  if (!zone) return `${ref} at ${formatInstant(startsAt)}`
  return `${ref} at ${formatLocal(zone, startsAt / minuteMillis)} ${timeZone}`
}

async function printMoved(records: Records, flags: CommonFlags, id: number, line: string): Promise<void> {
  if (flags.json) printJson(presentRequest(await requireRequest(records, id)))
  else printLines(line)
}
