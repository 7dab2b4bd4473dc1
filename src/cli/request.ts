import type { Command } from 'commander'
import type { RequestRecord } from '../domain/booking-request'
import type { Context } from '../operations/context'
import { requireRequest } from '../operations/find-records'
import { type MemberTime, memberTimeAt } from '../operations/members'
import { countNotes } from '../operations/notes'
import { readScreening } from '../operations/requests'
import { suggestProviders } from '../operations/suggest-providers'
import { noteAct } from '../operations/upkeep'
import type { Service } from '../service'
import { recordId, wholeNumber } from './arguments'
import { type Call, commandGroup, serviceCommand } from './command'
import { presentContact } from './contact'
import { onRequest } from './on-request'
import { printJson } from './output'
import { namesOf, presentRow, requestListCommand } from './request-list'
import { moveCommands } from './request-moves'
import { presentRequest, printRequest, printScreening, printSuggestions } from './request-text'
import { makeAct } from './storage'

/** `anteroom request`: the queue of what members ask for, and the moves of its states. */
export function requestCommand(): Command {
  return commandGroup('request', 'The booking requests and intakes of members', [
    requestListCommand(),
    serviceCommand('show', 'Show a request, and what to know before calling the member', show)
      .argument('<request>', 'id', recordId)
      .option('--screening', 'show the screening answers too; the audit log tells who read them')
      .option('--json', 'print it as JSON, in the shape of the API, with what to know before a call'),
    onRequest('suggest', 'List the providers who fit an intake, best first, with the reasons', suggest)
      .option('--limit <n>', 'how many', wholeNumber(1), 10)
      .option('--json', 'print them as JSON'),
    ...moveCommands(),
  ])
}

async function show(call: Call<Service, { screening?: boolean }>, id: number) {
  const { context: service, flags, tried } = call
  const { context, zones } = service
  const request = await requireRequest(context, id)
  tried.id = id
  const screening = flags.screening ? await readScreening(context, id, makeAct()) : null
  if (!screening) await noteAct(context, makeAct(), 'request.show', `request ${id}`)
  const { member } = request
  const timeAt = (at: number | null) =>
    member && at !== null ? memberTimeAt(zones, member.profile, at) : null
  const time = timeAt(context.clock.now())
  if (flags.json) {
    const told = await presentShown(context, request, time)
    const { answers, score } = screening ?? {}
    return printJson(screening ? { request: told, screening: { answers, ...score } } : told)
  }
  const notes = await countNotes(context, id)
  await printRequest(context, request, { time, slotTime: timeAt(request.startsAt) }, notes)
  if (screening) printScreening(screening)
}

/** A request in the API's shape, and what staff know of it beside that. */
async function presentShown(context: Context, request: RequestRecord, time: MemberTime | null) {
  const { member } = request
  const { kind, state, provider, partner, externalUserId } = presentRow(
    request,
    await namesOf(context, [request]),
  )
  const contact = member && presentContact(member, time)
  return { ...presentRequest(request), kind, state, provider, partner, externalUserId, contact }
}

async function suggest({ context, flags }: Call<Context, { limit: number }>, { id }: RequestRecord) {
  const found = await suggestProviders(context, id, context.clock.now())
  await noteAct(context, makeAct(), 'request.suggest', `request ${id}`)
  printSuggestions(id, found, flags)
}
