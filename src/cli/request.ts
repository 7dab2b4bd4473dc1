import type { Command } from 'commander'
import type { RequestRecord } from '../domain/booking-request'
import { assignProvider, concernOf, requireAssignable } from '../operations/assign-provider'
import { acknowledgeMove } from '../operations/check-bookings'
import type { Context, Records } from '../operations/context'
import { requireProvider, requireRequest } from '../operations/find-records'
import { acceptRequest, declineRequest, listRequests, readScreening } from '../operations/requests'
import { suggestProviders } from '../operations/suggest-providers'
import { noteAct } from '../operations/upkeep'
import { formatInstant } from '../scheduling/calendar'
import { recordId, utcInstant, wholeNumber } from './arguments'
import { type Call, commandGroup, commandsOn, contextCommand } from './command'
import { type CommonFlags, confirm, printJson, printLines, printNotice, printResult } from './output'
import {
  presentRequest,
  printQueue,
  printRequest,
  printScreening,
  printSuggestions,
  providerOf,
  warningOf,
} from './request-text'
import { makeAct, withContext, withRecords } from './storage'

/** `anteroom request`: the queue of what members ask for, and the moves of its states. */
export function requestCommand(): Command {
  return commandGroup('request', 'The booking requests and intakes of members', [
    contextCommand('list', 'List requests in order of submission', list)
      .option('--intakes', 'only intakes, those with a non-zero ninth PHQ-9 item first')
      .option('--unassigned', 'only those that wait for a provider')
      .option('--json', 'print them as JSON'),
    onRequest('show', 'Show a request', show)
      .option('--screening', 'show the screening answers too; the audit log tells who read them')
      .option('--json', 'print it as JSON, in the shape of the API'),
    onRequest('suggest', 'List the providers who fit an intake, best first, with the reasons', suggest)
      .option('--limit <n>', 'how many', wholeNumber(1), 10)
      .option('--json', 'print them as JSON'),
    onRequest('assign', 'Assign a provider to an intake, in place of the one that it has if any', assign)
      .requiredOption('--provider <ref>', 'who')
      .option('--slot <instant>', 'the start of a free slot of theirs, in UTC; none unless given', utcInstant)
      .option('--json', 'print the request as JSON, in the shape of the API')
      .option('--yes', 'do not ask before a provider is replaced'),
    onRequestId('accept', 'Accept a pending request', accept),
    onRequest('acknowledge', 'Note that a booked local time which has changed is known', acknowledge),
    onRequestId('decline', 'Decline a pending or accepted request; its slot is free again', decline),
  ])
}

const argument = ['<request>', 'id', recordId] as const
const onRequest = commandsOn(withContext, argument, requireRequest)
/** For those that need no directory. */
const onRequestId = commandsOn(withRecords, argument, (_records, id: number) => id)

async function accept({ context, act }: Call<Records>, id: number): Promise<void> {
  await acceptRequest(context, id, act())
  printLines(`Request ${id} is accepted.`)
}

async function decline({ context, act }: Call<Records>, id: number): Promise<void> {
  await declineRequest(context, id, act())
  printLines(`Request ${id} is declined.`)
}

async function acknowledge({ context, act }: Call<Context>, { id }: RequestRecord): Promise<void> {
  await acknowledgeMove(context, id, act())
  printLines(`The new local time of request ${id} is acknowledged.`)
}

async function list({ context, flags }: Call<Context, { intakes?: boolean; unassigned?: boolean }>) {
  const { intakes = false, unassigned = false } = flags
  const queue = await listRequests(context, { intakesOnly: intakes, unassignedOnly: unassigned })
  const people = queue.filter(({ request }) => request.member).length
  await noteAct(context, makeAct(), 'request.list', null, `done: ${people}`)
  await printQueue(context, queue, flags)
}

async function show({ context, flags }: Call<Context, { screening?: boolean }>, request: RequestRecord) {
  const screening = flags.screening ? await readScreening(context, request.id, makeAct()) : null
  if (!screening) await noteAct(context, makeAct(), 'request.show', `request ${request.id}`)
  if (flags.json) {
    const told = presentRequest(request)
    const { answers, score } = screening ?? {}
    return printJson(screening ? { request: told, screening: { answers, ...score } } : told)
  }
  await printRequest(context, request)
  if (screening) printScreening(screening)
}

async function suggest({ context, flags }: Call<Context, { limit: number }>, { id }: RequestRecord) {
  const found = await suggestProviders(context, id, context.clock.now())
  await noteAct(context, makeAct(), 'request.suggest', `request ${id}`)
  printSuggestions(id, found, flags)
}

interface AssignFlags extends CommonFlags {
  readonly provider: string
  readonly slot?: number
}

async function assign(call: Call<Context, AssignFlags>, request: RequestRecord): Promise<void> {
  const { context, flags, act } = call
  const { id } = request
  requireAssignable(request)
  const provider = requireProvider(context, flags.provider)
  const concern = concernOf(context.directory, request.member, provider, flags.slot ?? context.clock.now())
  const warning = concern && warningOf(concern, provider)
  if (request.state === 'pending' || request.state === 'accepted') {
    const present = providerOf(context, request)?.ref
    const question = `Request ${id} is ${request.state} with ${present}. Put ${provider.ref} in their place?`
    await confirm(warning ? `${warning}. ${question}` : question, flags)
  }
  const assigned = await assignProvider(context, id, provider, flags.slot ?? null, act())
  const { startsAt, authorizationNumber } = assigned
  const when = startsAt === null ? 'without a slot' : `at ${formatInstant(startsAt)}`
  const done = `Request ${id} is assigned to ${provider.ref} ${when}`
  printResult(flags, presentRequest(assigned), `${done}; its authorization number is ${authorizationNumber}.`)
  if (warning) printNotice(`note that ${warning}`)
}
