import type { Command } from 'commander'
import type { RequestRecord } from '../domain/booking-request'
import { assignProvider, concernOf, requireAssignable } from '../operations/assign-provider'
import { acknowledgeMove } from '../operations/check-bookings'
import type { Context, Records } from '../operations/context'
import { requireProvider, requireRequest } from '../operations/find-records'
import { acceptRequest, declineRequest, listRequests, readScreening } from '../operations/requests'
import { suggestProviders } from '../operations/suggest-providers'
import { formatInstant } from '../scheduling/calendar'
import { recordId, utcInstant, wholeNumber } from './arguments'
import {
  type CommonFlags,
  confirm,
  printJson,
  printLine,
  printNotice,
  printResult,
  printRows,
} from './output'
import { type Call, commandGroup, commandsOn } from './record-command'
import {
  columns,
  intakeColumns,
  namesOf,
  presentNeeds,
  presentRequest,
  presentRow,
  presentSuggestion,
  printNeeds,
  printRequest,
  printScreening,
  printSuggestion,
  warningOf,
} from './request-text'
import { storageCommand, withContext, withRecords } from './storage'

interface ListFlags extends CommonFlags {
  readonly intakes?: boolean
  readonly unassigned?: boolean
}

/** `anteroom request`: the queue of what members ask for, and the moves of its states. */
export function requestCommand(): Command {
  return commandGroup('request', 'The booking requests and intakes of members', [
    storageCommand('list', 'List requests in order of submission')
      .option('--intakes', 'only intakes, those with a non-zero ninth PHQ-9 item first')
      .option('--unassigned', 'only those that wait for a provider')
      .option('--json', 'print them as JSON')
      .action(list),
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
    onRequestRecord('accept', 'Accept a pending request', accept),
    onRequest('acknowledge', 'Note that a booked local time which has changed is known', acknowledge),
    onRequestRecord('decline', 'Decline a pending or accepted request; its slot is free again', decline),
  ])
}

type RecordCall = Call<Records, number>
type RequestCall<Flags> = Call<Context, RequestRecord, CommonFlags & Flags>

const argument = ['<request>', 'id', recordId] as const
const onRequest = commandsOn(withContext, argument, requireRequest)
/** For those that need no directory. */
const onRequestRecord = commandsOn(withRecords, argument, (_records, id: number) => id)

async function accept({ context, record: id, act }: RecordCall): Promise<void> {
  await acceptRequest(context, id, act())
  printLine(`Request ${id} is accepted.`)
}

async function decline({ context, record: id, act }: RecordCall): Promise<void> {
  await declineRequest(context, id, act())
  printLine(`Request ${id} is declined.`)
}

async function acknowledge({ context, record: { id }, act }: RequestCall<object>): Promise<void> {
  await acknowledgeMove(context, id, act())
  printLine(`The new local time of request ${id} is acknowledged.`)
}

function list({ intakes = false, unassigned = false, ...flags }: ListFlags): Promise<void> {
  return withContext(flags, async (context) => {
    const queue = await listRequests(context, { intakesOnly: intakes, unassignedOnly: unassigned })
    const names = await namesOf(context)
    const rows = queue.map(({ request, ninthItem }) => ({ ...presentRow(request, names), ninthItem }))
    const none = 'There are no requests.'
    if (intakes) return printRows(flags, rows, intakeColumns, none)
    const unmarked = rows.map(({ ninthItem: _, ...row }) => row)
    printRows(flags, unmarked, columns, none)
  })
}

async function show(call: RequestCall<{ readonly screening?: boolean }>): Promise<void> {
  const { context, record: request, act, flags } = call
  const screening = flags.screening ? await readScreening(context, request.id, act()) : null
  if (flags.json) {
    const told = presentRequest(request)
    const { answers, score } = screening ?? {}
    return printJson(screening ? { request: told, screening: { answers, ...score } } : told)
  }
  printRequest(context, request, await namesOf(context))
  if (screening) printScreening(screening)
}

async function suggest({
  context,
  record: { id },
  flags,
}: RequestCall<{ readonly limit: number }>): Promise<void> {
  const found = await suggestProviders(context, id, context.clock.now())
  const shown = found.suggestions.slice(0, flags.limit)
  if (flags.json)
    return printJson({ request: id, ...presentNeeds(found), suggestions: shown.map(presentSuggestion) })
  printNeeds(id, found)
  for (const [index, suggestion] of shown.entries()) printSuggestion(index + 1, suggestion)
  const more = found.suggestions.length - shown.length
  if (more === 0) return
  printLine('')
  printLine(`${more} more; --limit shows them.`)
}

async function assign(
  call: RequestCall<{ readonly provider: string; readonly slot?: number }>,
): Promise<void> {
  const { context, record: request, act, flags } = call
  const { id } = request
  requireAssignable(request)
  const provider = requireProvider(context, flags.provider)
  const concern = concernOf(context.directory, request.member, provider, flags.slot ?? context.clock.now())
  const warning = concern && warningOf(concern, provider)
  if (request.state === 'pending' || request.state === 'accepted') {
    const present = (await namesOf(context)).providers.get(request.providerId as number)
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
