import type { Command } from 'commander'
import type { RequestNote, RequestRecord } from '../../domain/booking-request'
import { Refusal } from '../../domain/errors'
import { presentTimestamp } from '../../http/endpoints/fields'
import { absenceOfRequest, acknowledgeShift } from '../../operations/check-bookings'
import type { Context } from '../../operations/context'
import { requireRequest } from '../../operations/find-records'
import { noteAct } from '../../operations/maintenance'
import { memberTimeAt, readHistory } from '../../operations/members'
import { readRisk } from '../../operations/queue'
import { acceptRequest, addNote, countNotes, readNotes, readScreening } from '../../operations/requests'
import { suggestProviders } from '../../operations/suggest-providers'
import { reopenRequest, requireReopenable } from '../../operations/transitions'
import { formatInstant } from '../../scheduling/calendar'
import type { Service } from '../../service'
import { recordId, recordIds, wholeNumber } from '../arguments'
import { auditRefusals } from '../audit-refusals'
import { type Call, commandGroup, contextCommand, json, serviceCommand, yes } from '../command'
import { errorText } from '../errors'
import { exitCodeOf } from '../exit-code'
import {
  appointmentOf,
  askAbout,
  inShapeOfApi,
  onRequest,
  onRequestId,
  requestAnswer,
  riskNotice,
} from '../on-record'
import { makeAct } from '../storage'
import { givenText } from '../terminal/given-text'
import { type Answer, type CommonFlags, printError, printNotice, type Text } from '../terminal/output'
import { absenceTexts, changeLines, personText, presentChanges, presentContact } from '../terminal/persons'
import { Cancelled } from '../terminal/question'
import {
  presentRequest,
  providerOf,
  requestText,
  screeningText,
  suggestionsAnswer,
} from '../terminal/request-text'
import { assignCommand, cancelCommand, endCommand, moveCommand } from './request-ends'
import { namesOf, presentRow, requestListCommand } from './request-list'

export function requestCommand(): Command {
  return commandGroup('request', [
    requestListCommand(),
    serviceCommand({
      name: 'show',
      description: 'Show a request, with the contact details of the member',
      words: [['<request>', 'id', recordId]],
      options: [
        ['--screening', 'show the screening answers too; the audit log records who read them'],
        json('print the request as JSON, as in the API, with contact details'),
      ],
      examples: [
        'anteroom request show 42 --screening',
        'anteroom request show 42 --json | jq -r .contact.phoneNumber',
      ],
      run: show,
    }),
    serviceCommand({
      name: 'suggest',
      description: 'List suitable providers for an intake, the best first, with reasons',
      words: [['<request>', 'id', recordId]],
      options: [['--limit <n>', 'the maximum number of providers', wholeNumber(1), 10], json()],
      examples: ['anteroom request suggest 42 --limit 3'],
      run: suggest,
    }),
    assignCommand(),
    contextCommand({
      name: 'accept',
      description: 'Accept one or more pending requests',
      words: [['<requests...>', 'ids', recordIds]],
      options: [json('print the request as JSON, as in the API; several requests as an array'), yes],
      examples: ['anteroom request accept 42', 'anteroom request accept 42 43 44'],
      run: accept,
    }),
    moveCommand(),
    endCommand('decline'),
    endCommand('close'),
    cancelCommand(),
    onRequest({
      name: 'reopen',
      description: 'Undo a decline while the slot is still free, or the closing of an intake',
      options: [json(inShapeOfApi), yes],
      examples: ['anteroom request reopen 42'],
      run: reopen,
    }),
    onRequest({
      name: 'acknowledge',
      description: 'Confirm that the changed local time of a booked slot is known',
      options: [json(inShapeOfApi)],
      examples: ['anteroom request acknowledge 42'],
      async run({ context, act }, { id }: RequestRecord) {
        await acknowledgeShift(context, id, act())
        return requestAnswer(context, id, `The new local time of request ${id} is acknowledged.`)
      },
    }),
    onRequestId({
      name: 'note',
      description: 'Add a note to a request (only staff can read it)',
      words: [['<text>', 'the note; - reads it from stdin, which keeps it out of the shell history']],
      options: [json('print the id of the note as JSON')],
      examples: ["anteroom request note 42 'Rings back after six.'", 'anteroom request note 42 -'],
      async run({ context, act }, id: number, word: string) {
        const noteId = await addNote(context, id, await givenText(word), act())
        return { json: { request: id, note: noteId }, text: `Added the note to request ${id}.` }
      },
    }),
    onRequestId({
      name: 'notes',
      description: 'Show the notes on a request; the audit log records who read them',
      options: [json()],
      examples: ['anteroom request notes 42'],
      async run({ context }, id: number) {
        const notes = await readNotes(context, id, makeAct())
        const text = notes.map((one, index) => [index > 0 ? '' : [], noteText(one)])
        return {
          json: notes.map(({ at, ...note }) => ({ ...note, at: presentTimestamp(at) })),
          text: notes.length === 0 ? 'There are no notes.' : text,
        }
      },
    }),
  ])
}

function noteText({ at, actor, kind, text }: RequestNote): Text {
  const about = kind === 'note' ? '' : `, why it was ${pastOf[kind]}`
  return [`${formatInstant(at)}  ${actor}${about}`, text.split(/\r?\n/).map((line) => `  ${line}`)]
}

const pastOf = { decline: 'declined', close: 'closed', cancel: 'cancelled' } as const

async function accept(call: Call<Context>, ids: readonly number[]): Promise<Answer> {
  const { context, tried } = call
  const [first] = ids
  if (first !== undefined && ids.length === 1) {
    tried.id = first
    return acceptOne(call, first)
  }
  const answers: Answer[] = []
  for (const id of new Set(ids)) {
    const one = async () => void answers.push(await acceptOne(call, id))
    try {
      await auditRefusals(context, { ...tried, id }, one)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      printError(errorText(error, []).replace('error:', `error: request ${id}:`))
      process.exitCode ||= exitCodeOf(error)
      if (error instanceof Cancelled) break
    }
  }
  return { json: answers.map(({ json }) => json), text: answers.map(({ text }) => text) }
}

async function acceptOne({ context, flags, act }: Call<Context>, id: number): Promise<Answer> {
  const request = await requireRequest(context, id)
  const isPending = request.state === 'pending'
  const absence = isPending ? absenceOfRequest(context, request, context.clock.now()) : null
  if (absence) printNotice(`note that ${providerOf(context, request)?.ref} ${absenceTexts[absence]}`)
  const isUnread = isPending && (await readRisk(context, request, makeAct())).isUnread
  if (isUnread) printNotice(riskNotice(id))
  // Asks no question for a slot outside the provider's hours, because providers may agree to such sessions.
  const isAway = absence !== null && absence !== 'override' && absence !== 'outside_hours'
  if (isUnread || isAway) await askToAccept(context, request, flags)
  await acceptRequest(context, id, act())
  // A partner may have moved the request since staff saw it.
  const appointment = appointmentOf(context, await requireRequest(context, id))
  const text = `Request ${id} is accepted, with ${appointment}.`
  return requestAnswer(context, id, text, absence && { warning: absence })
}

async function askToAccept(context: Context, request: RequestRecord, flags: CommonFlags): Promise<void> {
  const person = await personText(context, request.member)
  const question = `Accept request ${request.id} of ${person}, with ${appointmentOf(context, request)} anyway?`
  await askAbout(context, request, question, flags)
}

async function reopen({ context, flags, act }: Call<Context>, request: RequestRecord): Promise<Answer> {
  const { id, isIntake, member } = request
  requireReopenable(request, context.clock.now())
  const what = isIntake ? 'without a provider' : `with ${appointmentOf(context, request)}`
  const question = `Reopen request ${id} of ${await personText(context, member)}, ${what}?`
  await askAbout(context, request, question, flags)
  const { state } = await reopenRequest(context, id, act())
  return requestAnswer(context, id, `Request ${id} is ${state} again.`)
}

async function show(call: Call<Service, { screening?: boolean }>, id: number): Promise<Answer> {
  const { context: service, flags, tried } = call
  const { context, zones } = service
  const request = await requireRequest(context, id)
  tried.id = id
  const screening = flags.screening ? await readScreening(context, id, makeAct()) : null
  if (!screening) await noteAct(context, makeAct(), 'request.show', `request ${id}`)
  const { member } = request
  const timeAt = (at: number | null) =>
    member && at !== null ? memberTimeAt(zones, member.profile, at) : null
  const now = context.clock.now()
  const time = timeAt(now)
  const { sent } = await readHistory(context, member)
  // Read after the answers, so that --screening counts as reading.
  const { risk, isUnread } = await readRisk(context, request, makeAct())
  const row = presentRow(request, await namesOf(context, [request]))
  const { kind, state, provider, partner, externalUserId } = row
  // The request as in the API, with further details that staff need for a call.
  const json = {
    ...presentRequest(request),
    ...{ kind, state, provider, partner, externalUserId },
    contact: member && presentContact(member, time),
    risk: risk && { ninthItem: risk.ninthItem, severity: risk.severity, unread: isUnread },
    changes: presentChanges(sent),
  }
  const times = { time, slotTime: timeAt(request.startsAt) }
  const notes = await countNotes(context, id)
  const shown = requestText(context, request, row, times, notes, { risk, isUnread })
  const text = [shown, changeLines(sent, now)]
  if (!screening) return { json, text }
  const { answers, score } = screening
  return {
    json: { request: json, screening: { answers, ...score } },
    text: [text, screeningText(screening)],
  }
}

async function suggest(
  { context: { context, zones }, flags, tried }: Call<Service, { limit: number }>,
  id: number,
): Promise<Answer> {
  tried.id = (await requireRequest(context, id)).id
  const found = await suggestProviders(context, zones, id)
  await noteAct(context, makeAct(), 'request.suggest', `request ${id}`)
  return suggestionsAnswer(id, found, flags.limit)
}
