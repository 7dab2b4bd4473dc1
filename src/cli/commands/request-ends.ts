import type { Command } from 'commander'
import type { RequestRecord } from '../../domain/booking-request'
import { type RequestEnd, refuseText } from '../../domain/decisions/transitions'
import { Refusal } from '../../domain/errors'
import type { Member } from '../../domain/member'
import type { Partner } from '../../domain/partner'
import type { Provider } from '../../domain/provider'
import { isAtRisk } from '../../domain/screening'
import type { Context } from '../../operations/context'
import { requirePartner, requireProvider, requireRequest } from '../../operations/find-records'
import { parseStart } from '../../operations/providers'
import { listUnreadRisk, readRisk } from '../../operations/queue'
import { endRequest, endRequests, listSubmitted, requireEndable } from '../../operations/requests'
import { findAssignmentWarning, placeRequest, requirePlaceable } from '../../operations/transitions'
import { formatInstant } from '../../scheduling/calendar'
import { recordId, slotForm, slotTime, utcInstant } from '../arguments'
import { type Call, contextCommand, json, required, yes } from '../command'
import {
  appointmentOf,
  appointmentText,
  askAbout,
  inShapeOfApi,
  onRequest,
  requestAnswer,
  riskNotice,
} from '../on-record'
import { makeAct } from '../storage'
import { givenText } from '../terminal/given-text'
import { counted } from '../terminal/layout'
import { type CommonFlags, instantText, printNotice } from '../terminal/output'
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

async function assign(call: Call<Context, { provider: string; slot?: string }>, request: RequestRecord) {
  const { context, flags, act } = call
  const { id, state, member } = request
  requirePlaceable('assign', request, null)
  const provider = requireProvider(context, flags.provider)
  const slot = flags.slot === undefined ? null : parseStart(context, provider, flags.slot)
  const to = appointmentText(context, provider, slot)
  const person = await personText(context, member)
  const isMismatch = warnOfMismatch(context, request.member, provider, slot)
  if (state === 'pending' || state === 'accepted') {
    const present = `is ${state} with ${appointmentOf(context, request)}`
    const question = `Request ${id} of ${person}, ${present}. Assign it to ${to} instead?`
    await askAbout(context, request, question, flags)
  } else if (isMismatch) {
    await askAbout(context, request, `Assign request ${id} of ${person}, to ${to} anyway?`, flags)
  }
  const assigned = await placeRequest(context, 'assign', id, provider, slot, act())
  const { startsAt, authorizationNumber } = assigned
  const when = startsAt === null ? 'without a slot' : `at ${formatInstant(startsAt)}`
  const text = `Request ${id} is assigned to ${provider.ref} ${fullName(provider)} ${when}; its authorization number is ${authorizationNumber}.`
  return { json: presentRequest(assigned), text }
}

async function move(call: Call<Context, { slot: string; provider?: string }>, request: RequestRecord) {
  const { context, flags, act } = call
  const { id } = request
  const present = providerOf(context, request)
  const provider = flags.provider === undefined ? present : requireProvider(context, flags.provider)
  const slot = provider ? parseStart(context, provider, flags.slot) : 0
  requirePlaceable('move', request, { providerId: provider?.id ?? 0, startsAt: slot })
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
  const moved = await placeRequest(context, 'move', id, provider, slot, act())
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

interface EndFlags extends CommonFlags {
  readonly reason?: string
  readonly partner?: string
  readonly since?: number
  readonly dryRun?: boolean
}

type EndCall = Call<Context, EndFlags>

/** Ends that can apply to many requests at once. */
type MassEnd = Exclude<RequestEnd, 'cancel'>

const endWords = {
  decline: {
    past: 'declined',
    able: 'declinable',
    noun: 'request',
    description: 'Decline one or more pending or accepted requests, and free their slots',
    reason: 'Found a closer provider.',
  },
  close: {
    past: 'closed',
    able: 'closable',
    noun: 'intake',
    description: 'Close one or more unassigned intakes, for example a duplicate or a withdrawn one',
    reason: 'Sent twice.',
  },
} as const

export function cancelCommand(): Command {
  return onRequest({
    name: 'cancel',
    description: 'Cancel an unassigned, pending or accepted request for its member, and free its slot',
    options: [['--reason <text>', reasonMeaning], json(inShapeOfApi), yes],
    examples: ["anteroom request cancel 42 --reason 'The member phoned.'"],
    async run(call: EndCall, request) {
      await endOne(call, 'cancel', request)
      return requestAnswer(call.context, request.id, `Request ${request.id} is cancelled.`)
    },
  })
}

export function endCommand(end: MassEnd): Command {
  const { past, noun, description, reason } = endWords[end]
  return contextCommand({
    name: end,
    description,
    words: [['[request]', 'id', recordId]],
    options: [
      ['--reason <text>', reasonMeaning],
      ['--partner <partner>', 'the name or id of a partner; use with --since, instead of a request id'],
      ['--since <instant>', `${end} all ${noun}s that the partner sent since this UTC instant`, utcInstant],
      ['--dry-run', `list the ${noun}s; none is ${past}`],
      json(inShapeOfApi),
      yes,
    ],
    examples: [
      `anteroom request ${end} 42 --reason '${reason}'`,
      `anteroom request ${end} --partner Lantern --since 2026-12-01T14:00:00Z`,
    ],
    async run(call: EndCall, id: number | undefined) {
      const { context, flags, tried } = call
      const { partner, since, dryRun } = flags
      if (id === undefined && partner !== undefined && since !== undefined) {
        return endSince(call, end, await requirePartner(context, partner), since)
      }
      if (id === undefined || partner !== undefined || since !== undefined || dryRun) {
        throw new Refusal('field_invalid', 'name one request by id, or many with both --partner and --since')
      }
      tried.id = id
      await endOne(call, end, await requireRequest(context, id))
      return requestAnswer(context, id, `Request ${id} is ${past}.`)
    },
  })
}

async function endOne({ context, flags }: EndCall, end: RequestEnd, request: RequestRecord): Promise<void> {
  const { id, member } = request
  requireEndable(request, end)
  const reason = await reasonOf(flags)
  const from = request.providerId !== null ? `, with ${appointmentOf(context, request)}` : ''
  const question = `${titleOf(end)} request ${id} of ${await personText(context, member)}${from}?`
  const { risk } = await readRisk(context, request, makeAct())
  if (isAtRisk(risk)) printNotice(riskNotice(id))
  await askAbout(context, request, question, flags)
  // Freeing a slot needs no zone data, so makeAct is enough. `act` would throw if the server has other zone data.
  await endRequest(context, end, id, makeAct(), reason)
}

function titleOf(end: RequestEnd): string {
  return end.charAt(0).toUpperCase() + end.slice(1)
}

const dryRunRows = 10

async function endSince({ context, flags }: EndCall, end: MassEnd, partner: Partner, since: number) {
  const { past, able, noun } = endWords[end]
  const submitted = await listSubmitted(context, partner, since)
  const ids = submitted[end]
  const atRisk = new Set(await listUnreadRisk(context, context.clock.now()))
  const unread = ids.filter((id) => atRisk.has(id)).length
  const risk = unread > 0 ? ` (${unread} with a raised or unclear ninth item that no one has read)` : ''
  const which = `of ${partner.name} submitted since ${formatInstant(since)}`
  const unassigned = submitted.close.length
  const json = {
    partner: partner.name,
    since: formatInstant(since),
    unreadRisk: unread,
    ...(end === 'decline' && { unassigned }),
  }
  const stay =
    end === 'decline' && unassigned > 0
      ? `${counted(unassigned, 'intake')} of this partner left unchanged. Close intakes with: anteroom request close --partner`
      : []
  if (flags.dryRun) {
    const first = await Promise.all(ids.slice(0, dryRunRows).map((id) => requireRequest(context, id)))
    const listed = table(first, endedColumns, `There are no ${noun}s to ${end}.`)
    return {
      json: { ...json, [able]: ids },
      text: [listed, '', `This would ${end} ${counted(ids.length, noun)} ${which}${risk}.`, stay],
    }
  }
  const reason = await reasonOf(flags)
  const refusal = reason === undefined ? null : refuseText(reason)
  if (refusal) throw refusal
  if (ids.length > 0) await confirm(`${titleOf(end)} ${counted(ids.length, noun)} ${which}${risk}?`, flags)
  const ended = await endRequests(context, end, ids, makeAct(), reason)
  const text = [`${titleOf(end)}d ${counted(ended, noun)} ${which}.`, stay]
  return { json: { ...json, [past]: ended }, text }
}

const endedColumns: Columns<RequestRecord> = {
  ...columnsOf('id', 'state'),
  SUBMITTED: ({ submittedAt }) => formatInstant(submittedAt),
  SLOT: ({ startsAt }) => instantText(startsAt),
  MEMBER: ({ member }) => member?.id ?? null,
}

/** Must be called before the confirmation question: the reason and the confirmation may both come from stdin. */
function reasonOf({ reason }: EndFlags): Promise<string | undefined> | undefined {
  return reason === undefined ? undefined : givenText(reason)
}
