import type { Command } from 'commander'
import type { RequestNote, RequestRecord } from '../../domain/booking-request'
import { presentTimestamp } from '../../http/endpoints/fields'
import { absenceOfRequest, acknowledgeShift } from '../../operations/check-bookings'
import type { Context, Records } from '../../operations/context'
import { requireRequest } from '../../operations/find-records'
import { type MemberTime, memberTimeAt } from '../../operations/members'
import { acceptRequest, addNote, countNotes, readNotes, readScreening } from '../../operations/requests'
import { suggestProviders } from '../../operations/suggest-providers'
import { noteAct } from '../../operations/upkeep'
import { formatInstant } from '../../scheduling/calendar'
import type { Service } from '../../service'
import { recordId, wholeNumber } from '../arguments'
import { type Call, commandGroup, json, serviceCommand, yes } from '../command'
import {
  appointmentOf,
  askAbout,
  inShapeOfApi,
  onAnyRequest,
  onRequest,
  onRequestId,
  printMoved,
} from '../on-record'
import { makeAct } from '../storage'
import { givenText } from '../terminal/given-text'
import { type CommonFlags, printJson, printLines, printNotice, printResult } from '../terminal/output'
import { absenceTexts, personText, presentContact } from '../terminal/persons'
import {
  presentRequest,
  printRequest,
  printScreening,
  printSuggestions,
  providerOf,
} from '../terminal/request-text'
import { assignCommand, closeCommand, declineCommand, moveCommand } from './request-ends'
import { namesOf, presentRow, requestListCommand } from './request-list'

/** `anteroom request note` and `notes`: what staff write about a request, and read. */
export function noteCommands(): Command[] {
  return [
    onRequestId({
      name: 'note',
      description: 'Write a note on a request, which staff alone read',
      words: [['<text>', 'the note; - takes it from stdin, so that no history of a shell has it']],
      options: [json('print its id as JSON')],
      examples: ["anteroom request note 42 'Rings back after six.'", 'anteroom request note 42 -'],
      run: note,
    }),
    onRequestId({
      name: 'notes',
      description: 'Show the notes on a request; the audit log tells who read them',
      options: [json('print them as JSON')],
      examples: ['anteroom request notes 42'],
      run: showNotes,
    }),
  ]
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

/** The commands that move a request from state to state, or say something of it. */
export function moveCommands(): Command[] {
  return [
    assignCommand(),
    onAnyRequest({
      name: 'accept',
      description: 'Accept a pending request',
      options: [json(inShapeOfApi), yes],
      examples: ['anteroom request accept 42'],
      run: accept,
    }),
    moveCommand(),
    declineCommand(),
    closeCommand(),
    onRequest({
      name: 'acknowledge',
      description: 'Note that a booked local time which has changed is known',
      options: [json(inShapeOfApi)],
      examples: ['anteroom request acknowledge 42'],
      run: acknowledge,
    }),
    ...noteCommands(),
  ]
}

async function accept({ context, flags, act }: Call<Context>, id: number): Promise<void> {
  const request = await requireRequest(context, id)
  const absence = request.state === 'pending' ? absenceOfRequest(context, request, context.clock.now()) : null
  if (absence) {
    printNotice(`note that ${providerOf(context, request)?.ref} ${absenceTexts[absence]}`)
    // Providers may agree to a session outside their hours.
    if (absence !== 'override' && absence !== 'outside_hours') await askToAccept(context, request, flags)
  }
  await acceptRequest(context, id, act())
  const warning = absence && { warning: absence }
  await printMoved(context, flags, id, `Request ${id} is accepted.`, warning)
}

async function askToAccept(context: Context, request: RequestRecord, flags: CommonFlags): Promise<void> {
  const person = await personText(context, request.member)
  const question = `Accept request ${request.id} of ${person}, with ${appointmentOf(context, request)} all the same?`
  await askAbout(context, request, question, flags)
}

async function acknowledge({ context, flags, act }: Call<Context>, { id }: RequestRecord): Promise<void> {
  await acknowledgeShift(context, id, act())
  await printMoved(context, flags, id, `The new local time of request ${id} is acknowledged.`)
}

/** `anteroom request`: the queue of what members ask for, and the moves of its states. */
export function requestCommand(): Command {
  return commandGroup('request', [
    requestListCommand(),
    serviceCommand({
      name: 'show',
      description: 'Show a request, and what to know before calling the member',
      words: [['<request>', 'id', recordId]],
      options: [
        ['--screening', 'show the screening answers too; the audit log tells who read them'],
        json('print it as JSON, in the shape of the API, with what to know before a call'),
      ],
      examples: [
        'anteroom request show 42 --screening',
        'anteroom request show 42 --json | jq -r .contact.phoneNumber',
      ],
      run: show,
    }),
    onRequest({
      name: 'suggest',
      description: 'List the providers who fit an intake, best first, with the reasons',
      options: [['--limit <n>', 'how many', wholeNumber(1), 10], json('print them as JSON')],
      examples: ['anteroom request suggest 42 --limit 3'],
      run: suggest,
    }),
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
