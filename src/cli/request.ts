import type { Command } from 'commander'
import { assignProvider, concernOf, requireAssignable } from '../operations/assign-provider'
import type { Context } from '../operations/context'
import { requireProvider, requireRequest } from '../operations/find-records'
import { listRequests } from '../operations/list-requests'
import { acceptRequest, declineRequest, readScreening } from '../operations/requests'
import { suggestProviders } from '../operations/suggest-providers'
import { formatInstant } from '../scheduling/calendar'
import { recordId, utcInstant } from './arguments'
import {
  type Flags as CommonFlags,
  confirm,
  printJson,
  printLine,
  printNotice,
  printResult,
  printRows,
} from './output'
import { commandGroup } from './record-command'
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
import { type MakeAct, storageCommand, withContext, withRecords } from './storage'

interface Flags extends CommonFlags {
  readonly intakes?: boolean
  readonly unassigned?: boolean
  readonly screening?: boolean
  readonly provider?: string
  readonly slot?: number
  readonly limit?: number
}

/** `anteroom request`: the queue of what members ask for, and the moves of its states. */
export function requestCommand(): Command {
  return commandGroup('request', 'The booking requests and intakes of members', [
    storageCommand('list', 'List requests in order of submission')
      .option('--intakes', 'only intakes, those with a non-zero ninth PHQ-9 item first')
      .option('--unassigned', 'only those that wait for a provider')
      .option('--json', 'print them as JSON')
      .action((flags: Flags) => withContext(flags, (context) => list(context, flags))),
    requestCommandOf('show', 'Show a request')
      .option('--screening', 'show the screening answers too; the audit log tells who read them')
      .option('--json', 'print it as JSON, in the shape of the API')
      .action((id: number, flags: Flags) =>
        withContext(flags, (context, act) => show(context, id, act, flags)),
      ),
    requestCommandOf('suggest', 'List the providers who fit an intake, best first, with the reasons')
      .option('--limit <n>', 'how many', recordId, 10)
      .option('--json', 'print them as JSON')
      .action((id: number, flags: Flags) => withContext(flags, (context) => suggest(context, id, flags))),
    requestCommandOf('assign', 'Assign a provider to an intake, in place of the one that it has if any')
      .requiredOption('--provider <ref>', 'who')
      .option('--slot <instant>', 'the start of a free slot of theirs, in UTC; none unless given', utcInstant)
      .option('--json', 'print the request as JSON, in the shape of the API')
      .option('--yes', 'do not ask before a provider is replaced')
      .action((id: number, flags: Flags) =>
        withContext(flags, (context, act) => assign(context, id, act, flags)),
      ),
    requestCommandOf('accept', 'Accept a pending request').action((id: number, flags: Flags) =>
      withRecords(flags, async (records, act) => {
        await acceptRequest(records, id, act())
        printLine(`Request ${id} is accepted.`)
      }),
    ),
    requestCommandOf('decline', 'Decline a pending or accepted request; its slot is free again').action(
      (id: number, flags: Flags) =>
        withRecords(flags, async (records, act) => {
          await declineRequest(records, id, act())
          printLine(`Request ${id} is declined.`)
        }),
    ),
  ])
}

function requestCommandOf(name: string, description: string): Command {
  return storageCommand(name, description).argument('<request>', 'id', recordId)
}

async function list(
  context: Context,
  { intakes = false, unassigned = false, json = false }: Flags,
): Promise<void> {
  const queue = await listRequests(context, { intakesOnly: intakes, unassignedOnly: unassigned })
  const names = await namesOf(context)
  const rows = queue.map(({ request, ninthItem }) => ({ ...presentRow(request, names), ninthItem }))
  const none = 'There are no requests.'
  if (intakes) printRows({ json }, rows, intakeColumns, none)
  else
    printRows(
      { json },
      rows.map(({ ninthItem: _, ...row }) => row),
      columns,
      none,
    )
}

async function show(
  context: Context,
  id: number,
  act: MakeAct,
  { screening: asked, json }: Flags,
): Promise<void> {
  const request = await requireRequest(context, id)
  const screening = asked ? await readScreening(context, id, act()) : null
  if (json) {
    const told = presentRequest(request)
    const { answers, score } = screening ?? {}
    return printJson(screening ? { request: told, screening: { answers, ...score } } : told)
  }
  printRequest(context, request, await namesOf(context))
  if (screening) printScreening(screening)
}

async function suggest(context: Context, id: number, { limit, json }: Flags): Promise<void> {
  const found = await suggestProviders(context, id, context.clock.now())
  const shown = found.suggestions.slice(0, limit)
  if (json)
    return printJson({ request: id, ...presentNeeds(found), suggestions: shown.map(presentSuggestion) })
  printNeeds(id, found)
  for (const [index, suggestion] of shown.entries()) printSuggestion(index + 1, suggestion)
  const more = found.suggestions.length - shown.length
  if (more === 0) return
  printLine('')
  printLine(`${more} more; --limit shows them.`)
}

async function assign(context: Context, id: number, act: MakeAct, flags: Flags): Promise<void> {
  const request = await requireRequest(context, id)
  requireAssignable(request)
  const provider = requireProvider(context, flags.provider as string)
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
