import type { Command } from 'commander'
import type { RequestRecord } from '../domain/booking-request'
import { absenceOfRequest, acknowledgeMove } from '../operations/check-bookings'
import type { Context } from '../operations/context'
import { requireRequest } from '../operations/find-records'
import { acceptRequest } from '../operations/requests'
import { absenceTexts } from './appointment-text'
import { asJson, type Call } from './command'
import {
  appointmentOf,
  askAbout,
  inShapeOfApi,
  moving,
  onAnyRequest,
  onRequest,
  printMoved,
} from './on-request'
import { type CommonFlags, printNotice } from './output'
import { personText } from './person-text'
import { closeCommand, declineCommand } from './request-ends'
import { noteCommands } from './request-notes'
import { assignCommand, moveCommand } from './request-placement'
import { providerOf } from './request-text'

/** The commands that move a request from state to state, or say something of it. */
export function moveCommands(): Command[] {
  return [
    assignCommand(),
    moving(onAnyRequest('accept', 'Accept a pending request', accept)),
    moveCommand(),
    declineCommand(),
    closeCommand(),
    asJson(
      onRequest('acknowledge', 'Note that a booked local time which has changed is known', acknowledge),
      inShapeOfApi,
    ),
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
  await acknowledgeMove(context, id, act())
  await printMoved(context, flags, id, `The new local time of request ${id} is acknowledged.`)
}
