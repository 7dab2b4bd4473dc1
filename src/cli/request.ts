import { Command, InvalidArgumentError } from 'commander'
import { scoreScreening } from '../domain/screening'
import { assignProvider, concernOf, requireAssignable } from '../operations/assign-provider'
import type { Context } from '../operations/context'
import { requireProvider, requireRequest } from '../operations/find-records'
import { listRequests } from '../operations/list-requests'
import { suggestProviders } from '../operations/suggest-providers'
import { formatInstant, parseInstant } from '../scheduling/calendar'
import { confirm, printJson, printLine, printTable } from './output'
import { recordId } from './record-id'
import {
  columns,
  namesOf,
  ninthItemColumn,
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
import { storageCommand, withContext } from './storage'

interface Flags {
  readonly intakes?: boolean
  readonly unassigned?: boolean
  readonly screening?: boolean
  readonly provider?: string
  readonly slot?: number
  readonly limit?: number
  readonly json?: boolean
  readonly yes?: boolean
}

/** `anteroom request`: the queue of what members ask for, and the moves of its states. */
export function requestCommand(): Command {
  return new Command('request')
    .description('The booking requests and intakes of members')
    .addCommand(
      storageCommand('list', 'List requests in order of submission')
        .option('--intakes', 'only intakes, those with a non-zero ninth PHQ-9 item first')
        .option('--unassigned', 'only those that wait for a provider')
        .option('--json', 'print them as JSON')
        .action((flags: Flags) => withContext(flags, (context) => list(context, flags))),
    )
    .addCommand(
      storageCommand('show', 'Show a request')
        .argument('<request>', 'id', recordId)
        .option('--screening', 'show the screening answers too; the audit log tells who read them')
        .option('--json', 'print it as JSON, in the shape of the API')
        .action((id: number, flags: Flags) => withContext(flags, (context) => show(context, id, flags))),
    )
    .addCommand(
      storageCommand('suggest', 'List the providers who fit an intake, best first, with the reasons')
        .argument('<request>', 'id', recordId)
        .option('--limit <n>', 'how many', recordId, 10)
        .option('--json', 'print them as JSON')
        .action((id: number, flags: Flags) => withContext(flags, (context) => suggest(context, id, flags))),
    )
    .addCommand(
      storageCommand('assign', 'Assign a provider to an intake, in place of the one that it has if any')
        .argument('<request>', 'id', recordId)
        .requiredOption('--provider <ref>', 'who')
        .option(
          '--slot <instant>',
          'the start of a free slot of theirs, in UTC; none unless given',
          slotStart,
        )
        .option('--json', 'print the request as JSON, in the shape of the API')
        .option('--yes', 'do not ask before a provider is replaced')
        .action((id: number, flags: Flags) => withContext(flags, (context) => assign(context, id, flags))),
    )
    .addCommand(
      storageCommand('accept', 'Accept a pending request')
        .argument('<request>', 'id', recordId)
        .action((id: number, flags: Flags) =>
          withContext(flags, async ({ store, clock }) => {
            await store.accept(id, clock.now())
            printLine(`Request ${id} is accepted.`)
          }),
        ),
    )
    .addCommand(
      storageCommand('decline', 'Decline a pending or accepted request; its slot is free again')
        .argument('<request>', 'id', recordId)
        .action((id: number, flags: Flags) =>
          withContext(flags, async ({ store, clock }) => {
            await store.decline(id, clock.now())
            printLine(`Request ${id} is declined.`)
          }),
        ),
    )
}

async function list(context: Context, { intakes, unassigned, json }: Flags): Promise<void> {
  const queue = await listRequests(context, {
    intakesOnly: intakes ?? false,
    unassignedOnly: unassigned ?? false,
  })
  const names = await namesOf(context)
  const rows = queue.map(({ request, ninthItem }) => ({ ...presentRow(request, names), ninthItem }))
  if (!json)
    return printTable(rows, intakes ? [ninthItemColumn, ...columns] : columns, 'There are no requests.')
  printJson(intakes ? rows : rows.map(({ ninthItem: _, ...row }) => row))
}

async function show(context: Context, id: number, { screening, json }: Flags): Promise<void> {
  const request = await requireRequest(context, id)
  const answers = screening ? await context.store.readScreening(id) : null
  const score = answers && scoreScreening(answers)
  if (json) {
    const told = presentRequest(request)
    return printJson(answers ? { request: told, screening: { answers, ...score } } : told)
  }
  printRequest(context, request, await namesOf(context))
  if (answers && score) printScreening(answers, score)
}

async function suggest(context: Context, id: number, { limit, json }: Flags): Promise<void> {
  const found = await suggestProviders(context, id, context.clock.now())
  const shown = found.suggestions.slice(0, limit)
  if (json)
    return printJson({ request: id, ...presentNeeds(found), suggestions: shown.map(presentSuggestion) })
  printNeeds(id, found)
  for (const [index, suggestion] of shown.entries()) printSuggestion(index + 1, suggestion)
  const more = found.suggestions.length - shown.length
  if (more > 0) printLine(`\n${more} more; --limit shows them.`)
}

async function assign(context: Context, id: number, flags: Flags): Promise<void> {
  const request = await requireRequest(context, id)
  requireAssignable(request)
  const provider = requireProvider(context, flags.provider as string)
  const now = context.clock.now()
  const concern = concernOf(context.directory, request.member, provider, flags.slot ?? now)
  const warning = concern && warningOf(concern, provider)
  if (request.state === 'pending' || request.state === 'accepted') {
    const present = (await namesOf(context)).providers.get(request.providerId as number)
    const question = `Request ${id} is ${request.state} with ${present}. Put ${provider.ref} in their place?`
    await confirm(warning ? `${warning}.\n${question}` : question, flags)
  }
  const assigned = await assignProvider(context, id, provider, flags.slot ?? null, now)
  const { startsAt, authorizationNumber } = assigned
  const when = startsAt === null ? 'without a slot' : `at ${formatInstant(startsAt)}`
  if (flags.json) printJson(presentRequest(assigned))
  else
    printLine(
      `Request ${id} is assigned to ${provider.ref} ${when}; its authorization number is ${authorizationNumber}.`,
    )
  if (warning) process.stderr.write(`anteroom: note that ${warning}\n`)
}

function slotStart(text: string): number {
  const at = parseInstant(text)
  if (at === null) throw new InvalidArgumentError(`It must be a UTC instant as ${formatInstant(0)}.`)
  return at
}
