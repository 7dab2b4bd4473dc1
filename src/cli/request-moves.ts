import type { Command } from 'commander'
import type { RequestRecord } from '../domain/booking-request'
import { acknowledgeMove, type Impediment, impedimentOfRequest } from '../operations/check-bookings'
import type { Context } from '../operations/context'
import { requireRequest } from '../operations/find-records'
import { acceptRequest } from '../operations/requests'
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
import { printNotice } from './output'
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

const impediments: Record<Impediment, string> = {
  deactivated: 'is deactivated',
  suspended: 'is suspended',
  away: 'is away then',
  unlicensed: 'holds no license then',
}

async function accept({ context, flags, act }: Call<Context>, id: number): Promise<void> {
  const request = await requireRequest(context, id)
  const { state, member } = request
  const why = impedimentOfRequest(context, request, context.clock.now())
  if (why && state === 'pending') {
    const fault = `${providerOf(context, request)?.ref} ${impediments[why]}`
    printNotice(`note that ${fault}`)
    const question = `Accept request ${id} of ${await personText(context, member)}, with ${appointmentOf(context, request)} all the same?`
    await askAbout(context, request, question, flags)
  }
  await acceptRequest(context, id, act())
  await printMoved(context, flags, id, `Request ${id} is accepted.`)
}

async function acknowledge({ context, flags, act }: Call<Context>, { id }: RequestRecord): Promise<void> {
  await acknowledgeMove(context, id, act())
  await printMoved(context, flags, id, `The new local time of request ${id} is acknowledged.`)
}
