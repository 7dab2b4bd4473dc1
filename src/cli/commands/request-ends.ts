import type { Command } from 'commander'
import type { RequestRecord } from '../../domain/booking-request'
import { Refusal } from '../../domain/errors'
import type { Member } from '../../domain/member'
import type { Partner } from '../../domain/partner'
import type { Provider } from '../../domain/provider'
import type { Context, Records } from '../../operations/context'
import { requirePartner, requireProvider, requireRequest } from '../../operations/find-records'
import { parseStart } from '../../operations/providers'
import {
  declineRequest,
  declineRequests,
  listSubmitted,
  readRisk,
  requireDeclinable,
} from '../../operations/requests'
import {
  assignProvider,
  closeRequest,
  findAssignmentWarning,
  moveRequest,
  requireAssignable,
  requireClosable,
  requireMovable,
} from '../../operations/transitions'
import { formatInstant } from '../../scheduling/calendar'
import { recordId, slotForm, slotTime, utcInstant } from '../arguments'
import { type Call, contextCommand, json, required, yes } from '../command'
import {
  appointmentOf,
  appointmentText,
  askAbout,
  inShapeOfApi,
  onRecord,
  onRequest,
  requestAnswer,
} from '../on-record'
import { makeAct } from '../storage'
import { givenText } from '../terminal/given-text'
import { counted } from '../terminal/layout'
import { type Answer, type CommonFlags, instantText, printNotice } from '../terminal/output'
import { fullName, personText } from '../terminal/persons'
import { confirm } from '../terminal/question'
import { presentRequest, providerOf, warningOf } from '../terminal/request-text'
import { type Columns, columnsOf, table } from '../terminal/table'

export function assignCommand(): Command {
  return onRequest({
    name: 'assign',
    description: 'Assign a provider to an intake, or replace its provider',
    options: [
      required('--provider <ref>', 'the ref, id or name of the provider'),
      ['--slot <time>', `${slotForm} (default: no slot)`, slotTime],
      ['--json', inShapeOfApi],
      ['--yes', 'do not ask before a provider is replaced, or assigned without a license for the member'],
    ],
    examples: [
      'anteroom request assign 42 --provider on-001',
      'anteroom request assign 42 --provider on-001 --slot 2026-12-01T09:00',
    ],
    run: assign,
  })
}

export function moveCommand(): Command {
  return onRequest({
    name: 'move',
    description: 'Move a pending or accepted request to another slot; it becomes pending again',
    options: [
      required('--slot <time>', slotForm, slotTime),
      ['--provider <ref>', 'the provider of the slot (default: the provider of the request)'],
      json(inShapeOfApi),
      yes,
    ],
    examples: [
      'anteroom request move 42 --slot 2026-12-01T09:00',
      'anteroom request move 42 --slot 2026-12-01T14:00:00Z --provider on-002',
    ],
    run: move,
  })
}

interface AssignFlags extends CommonFlags {
  readonly provider: string
  readonly slot?: string
}

async function assign(call: Call<Context, AssignFlags>, request: RequestRecord): Promise<Answer> {
  const { context, flags, act } = call
  const { id, state, member } = request
  requireAssignable(request)
  const provider = requireProvider(context, flags.provider)
  const slot = flags.slot === undefined ? null : parseStart(context, provider, flags.slot)
  const to = appointmentText(context, provider, slot)
  const person = await personText(context, member)
  const isMismatch = warnOfMismatch(context, request.member, provider, slot)
  if (state === 'pending' || state === 'accepted') {
    const present = `is ${state} with ${appointmentOf(context, request)}`
    await askAbout(
      context,
      request,
      `Request ${id} of ${person}, ${present}. Assign it to ${to} instead?`,
      flags,
    )
  } else if (isMismatch) {
    await askAbout(context, request, `Assign request ${id} of ${person}, to ${to} anyway?`, flags)
  }
  const assigned = await assignProvider(context, id, provider, slot, act())
  const { startsAt, authorizationNumber } = assigned
  const when = startsAt === null ? 'without a slot' : `at ${formatInstant(startsAt)}`
  const text = `Request ${id} is assigned to ${provider.ref} ${fullName(provider)} ${when}; its authorization number is ${authorizationNumber}.`
  return { json: presentRequest(assigned), text }
}

interface MoveFlags extends CommonFlags {
  readonly slot: string
  readonly provider?: string
}

async function move(call: Call<Context, MoveFlags>, request: RequestRecord): Promise<Answer> {
  const { context, flags, act } = call
  const { id } = request
  const present = providerOf(context, request)
  const provider = flags.provider === undefined ? present : requireProvider(context, flags.provider)
  const slot = provider ? parseStart(context, provider, flags.slot) : 0
  requireMovable(request, { providerId: provider?.id ?? 0, startsAt: slot })
  // Without --provider, the provider stays the same. The record of that provider may be unreadable.
  if (!provider)
    throw new Refusal('record_unknown', 'the provider of the request is unreadable', {
      action: 'name a provider with --provider',
    })
  warnOfMismatch(context, request.member, provider, slot)
  const [person, from] = [await personText(context, request.member), appointmentOf(context, request)]
  const to = appointmentText(context, provider, slot)
  const again = request.state === 'accepted' ? ' It is accepted now and becomes pending again.' : ''
  await askAbout(context, request, `Move request ${id} of ${person}, from ${from} to ${to}?${again}`, flags)
  const moved = await moveRequest(context, id, provider, slot, act())
  const text = `Request ${id} is moved to ${provider.ref} ${fullName(provider)} at ${formatInstant(slot)} and is pending.`
  return { json: presentRequest(moved), text }
}

/** Prints a warning if the provider may have no license for the member. Returns true after a warning. */
function warnOfMismatch(context: Context, member: Member, provider: Provider, slot: number | null): boolean {
  const warning = findAssignmentWarning(context.directory, member, provider, slot ?? context.clock.now())
  if (warning) printNotice(`note that ${warningOf(warning, provider)}`)
  return warning !== null
}

const reasonMeaning = 'the reason, stored as a note for staff only; - reads it from stdin'

export function declineCommand(): Command {
  return contextCommand({
    name: 'decline',
    description: 'Decline one or more pending or accepted requests, and free their slots',
    words: [['[request]', 'id', recordId]],
    options: [
      ['--reason <text>', reasonMeaning],
      ['--partner <partner>', 'the name or id of a partner; use with --since, instead of a request id'],
      [
        '--since <instant>',
        'decline all requests that the partner submitted at this UTC instant or later',
        utcInstant,
      ],
      ['--dry-run', 'list the requests, without declining them'],
      json(inShapeOfApi),
      yes,
    ],
    examples: [
      "anteroom request decline 42 --reason 'Found a closer provider.'",
      'anteroom request decline --partner Lantern --since 2026-12-01T14:00:00Z',
    ],
    run: decline,
  })
}

export function closeCommand(): Command {
  return onRecord({
    name: 'close',
    description: 'Close an unassigned intake permanently, for example a duplicate or a withdrawn one',
    options: [['--reason <text>', reasonMeaning], json(inShapeOfApi), yes],
    examples: ["anteroom request close 42 --reason 'Sent twice.'"],
    run: close,
  })
}

interface ReasonFlags {
  readonly reason?: string
}

interface DeclineFlags extends ReasonFlags {
  readonly partner?: string
  readonly since?: number
  readonly dryRun?: boolean
}

async function decline(call: Call<Context, DeclineFlags>, id: number | undefined): Promise<Answer> {
  const { context, flags, tried } = call
  const { partner, since, dryRun } = flags
  if (id === undefined && partner !== undefined && since !== undefined) {
    return declineSince(call, await requirePartner(context, partner), since)
  }
  if (id === undefined || partner !== undefined || since !== undefined || dryRun) {
    throw new Refusal('field_invalid', 'name one request by id, or many with both --partner and --since')
  }
  tried.id = id
  const request = await requireRequest(context, id)
  requireDeclinable(request)
  const reason = await reasonOf(flags)
  const [person, appointment] = [await personText(context, request.member), appointmentOf(context, request)]
  await warnOfRisk(context, request)
  await askAbout(context, request, `Decline request ${id} of ${person}, with ${appointment}?`, flags)
  // Freeing a slot needs no zone data, so makeAct is enough. `act` would throw if the server has other zone data.
  await declineRequest(context, id, makeAct(), reason)
  return requestAnswer(context, id, `Request ${id} is declined.`)
}

const dryRunRows = 10

async function declineSince(
  call: Call<Context, DeclineFlags>,
  partner: Partner,
  since: number,
): Promise<Answer> {
  const { context, flags } = call
  const { ids, unassigned } = await listSubmitted(context, partner, since)
  const which = `of ${partner.name} submitted since ${formatInstant(since)}`
  const json = { partner: partner.name, since: formatInstant(since), unassigned }
  const stay =
    unassigned > 0
      ? `${counted(unassigned, 'intake')} of this partner left unchanged, without a provider.`
      : []
  if (flags.dryRun) {
    const first = await Promise.all(ids.slice(0, dryRunRows).map((id) => requireRequest(context, id)))
    const listed = table(first, declinedColumns, 'There are no requests to decline.')
    return {
      json: { ...json, declinable: ids },
      text: [listed, '', `This would decline ${counted(ids.length, 'request')} ${which}.`, stay],
    }
  }
  const reason = await reasonOf(flags)
  if (ids.length > 0) await confirm(`Decline ${counted(ids.length, 'request')} ${which}?`, flags)
  const declined = await declineRequests(context, ids, makeAct(), reason)
  return { json: { ...json, declined }, text: [`Declined ${counted(declined, 'request')} ${which}.`, stay] }
}

const declinedColumns: Columns<RequestRecord> = {
  ...columnsOf('id', 'state'),
  SUBMITTED: ({ submittedAt }) => formatInstant(submittedAt),
  SLOT: ({ startsAt }) => instantText(startsAt),
  MEMBER: ({ member }) => member?.id ?? null,
}

async function close(call: Call<Records, ReasonFlags>, request: RequestRecord): Promise<Answer> {
  const { context, flags, act } = call
  const { id, member } = request
  requireClosable(request)
  const reason = await reasonOf(flags)
  const question = `Close request ${id} of ${await personText(context, member)}, permanently?`
  await warnOfRisk(context, request)
  await askAbout(context, request, question, flags)
  await closeRequest(context, id, act(), reason)
  return requestAnswer(context, id, `Request ${id} is closed.`)
}

/** Warns before staff turn away a member who may be at risk. */
async function warnOfRisk(context: Records, { id }: RequestRecord): Promise<void> {
  if (!(await readRisk(context, id, makeAct()))) return
  printNotice(
    `the member's ninth PHQ-9 item is not zero, or could not be read; first read anteroom request show ${id} --screening`,
  )
}

/** Must be called before the confirmation question: the reason and the confirmation may both come from stdin. */
function reasonOf({ reason }: ReasonFlags): Promise<string | undefined> | undefined {
  return reason === undefined ? undefined : givenText(reason)
}
