import type { Command } from 'commander'
import type { RequestRecord } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import type { Partner } from '../domain/partner'
import { assignProvider, concernOf, requireAssignable } from '../operations/assign-provider'
import { acknowledgeMove } from '../operations/check-bookings'
import type { Context, Records } from '../operations/context'
import { requirePartner, requireProvider, requireRequest } from '../operations/find-records'
import { memberTimeAt } from '../operations/member-time'
import {
  acceptRequest,
  declineRequest,
  declineRequests,
  listSubmitted,
  readScreening,
} from '../operations/requests'
import { suggestProviders } from '../operations/suggest-providers'
import { noteAct } from '../operations/upkeep'
import { formatInstant } from '../scheduling/calendar'
import type { Service } from '../service'
import { recordId, utcInstant, wholeNumber } from './arguments'
import { asking, type Call, commandGroup, commandsIn, commandsOn, recordsCommand } from './command'
import { examples } from './command-help'
import { presentContact } from './contact'
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
import { requestListCommand } from './request-list'
import {
  presentRequest,
  printRequest,
  printScreening,
  printSuggestions,
  providerOf,
  warningOf,
} from './request-text'
import { makeAct, withContext, withRecords, withService } from './storage'

/** `anteroom request`: the queue of what members ask for, and the moves of its states. */
export function requestCommand(): Command {
  return commandGroup('request', 'The booking requests and intakes of members', [
    requestListCommand(),
    examples(
      onService('show', 'Show a request, and what to know before calling the member', show)
        .argument('<request>', 'id', recordId)
        .option('--screening', 'show the screening answers too; the audit log tells who read them')
        .option('--json', 'print it as JSON, in the shape of the API, with what to know before a call'),
      'anteroom request show 42 --screening',
      'anteroom request show 42 --json | jq -r .contact.phoneNumber',
    ),
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
    asking(
      recordsCommand(
        'decline',
        'Decline a pending or accepted request, or many; their slots are free again',
        decline,
      )
        .argument('[request]', 'id', recordId)
        .option('--partner <partner>', 'name or id of the partner, with --since, instead of an id')
        .option(
          '--since <instant>',
          'all of the partner that were submitted at this UTC instant or later',
          utcInstant,
        )
        .option('--dry-run', 'only tell which these are'),
    ),
  ])
}

const argument = ['<request>', 'id', recordId] as const
/** For those that need time zone data. */
const onService = commandsIn(withService)
const onRequest = commandsOn(withContext, argument, requireRequest)
/** For those that need no directory. */
const onRequestId = commandsOn(withRecords, argument, (_records, id: number) => id)

async function accept({ context, act }: Call<Records>, id: number): Promise<void> {
  await acceptRequest(context, id, act())
  printLines(`Request ${id} is accepted.`)
}

interface DeclineFlags {
  readonly partner?: string
  readonly since?: number
  readonly dryRun?: boolean
}

async function decline(call: Call<Records, DeclineFlags>, id: number | undefined): Promise<void> {
  const { context, flags, act } = call
  const { partner, since, dryRun } = flags
  if (id === undefined && partner !== undefined && since !== undefined) {
    return declineSince(call, await requirePartner(context, partner), since)
  }
  if (id === undefined || partner !== undefined || since !== undefined || dryRun) {
    throw new Refusal('field_invalid', 'name a request by id, or many by both --partner and --since')
  }
  await declineRequest(context, id, act())
  printLines(`Request ${id} is declined.`)
}

/** How many of the requests that would be declined are shown. */
const mostListed = 10

async function declineSince(
  call: Call<Records, DeclineFlags>,
  partner: Partner,
  since: number,
): Promise<void> {
  const { context, flags, act } = call
  const { ids, unassigned } = await listSubmitted(context, partner, since)
  const which = `of ${partner.name} submitted since ${formatInstant(since)}`
  if (flags.dryRun) {
    const first = await Promise.all(ids.slice(0, mostListed).map((id) => requireRequest(context, id)))
    printTable(first, declinedColumns, 'None can be declined.')
    printLines('', `${ids.length} requests ${which} would be declined.`)
  } else {
    if (ids.length > 0) await confirm(`Decline ${ids.length} requests ${which}?`, flags)
    printLines(`${await declineRequests(context, ids, act())} requests ${which} are declined.`)
  }
  if (unassigned > 0) printLines(`${unassigned} intakes of theirs without a provider stay as they are.`)
}

const declinedColumns: Columns<RequestRecord> = {
  ...columnsOf('id', 'state'),
  SUBMITTED: ({ submittedAt }) => formatInstant(submittedAt),
  SLOT: ({ startsAt }) => instantText(startsAt),
  MEMBER: ({ member }) => member?.id ?? null,
}

async function acknowledge({ context, act }: Call<Context>, { id }: RequestRecord): Promise<void> {
  await acknowledgeMove(context, id, act())
  printLines(`The new local time of request ${id} is acknowledged.`)
}

async function show(call: Call<Service, { screening?: boolean }>, id: number) {
  const { context: service, flags, tried } = call
  const { context, zones } = service
  const request = await requireRequest(context, id)
  tried.id = id
  const screening = flags.screening ? await readScreening(context, id, makeAct()) : null
  if (!screening) await noteAct(context, makeAct(), 'request.show', `request ${id}`)
  const { member } = request
  const time = member && memberTimeAt(zones, member.profile, context.clock.now())
  if (flags.json) {
    const told = { ...presentRequest(request), contact: member && presentContact(member, time) }
    const { answers, score } = screening ?? {}
    return printJson(screening ? { request: told, screening: { answers, ...score } } : told)
  }
  await printRequest(context, request, time)
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
