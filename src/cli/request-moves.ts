import type { Command } from 'commander'
import type { RequestRecord } from '../domain/booking-request'
import { acknowledgeMove } from '../operations/check-bookings'
import type { Context, Records } from '../operations/context'
import { acceptRequest } from '../operations/requests'
import { asJson, type Call } from './command'
import { inShapeOfApi, onRequest, onRequestId, printMoved } from './on-request'
import { closeCommand, declineCommand } from './request-ends'
import { noteCommands } from './request-notes'
import { assignCommand, moveCommand } from './request-placement'

/** The commands that move a request from state to state, or say something of it. */
export function moveCommands(): Command[] {
  return [
    assignCommand(),
    asJson(onRequestId('accept', 'Accept a pending request', accept), inShapeOfApi),
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

async function accept({ context, flags, act }: Call<Records>, id: number): Promise<void> {
  await acceptRequest(context, id, act())
  await printMoved(context, flags, id, `Request ${id} is accepted.`)
}

async function acknowledge({ context, flags, act }: Call<Context>, { id }: RequestRecord): Promise<void> {
  await acknowledgeMove(context, id, act())
  await printMoved(context, flags, id, `The new local time of request ${id} is acknowledged.`)
}
