import type { Command } from 'commander'
import type { RequestRecord } from '../domain/booking-request'
import type { Context } from '../operations/context'
import { requireRequest } from '../operations/find-records'
import { listRequests, readScreening } from '../operations/requests'
import { suggestProviders } from '../operations/suggest-providers'
import { noteAct } from '../operations/upkeep'
import { recordId, wholeNumber } from './arguments'
import { type Call, commandGroup, commandsOn, contextCommand } from './command'
import { printJson } from './output'
import { moveCommands } from './request-moves'
import { presentRequest, printQueue, printRequest, printScreening, printSuggestions } from './request-text'
import { makeAct, withContext } from './storage'

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
    ...moveCommands(),
  ])
}

const argument = ['<request>', 'id', recordId] as const
const onRequest = commandsOn(withContext, argument, requireRequest)

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
