import type { Command } from 'commander'
import type { RequestRecord } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import type { Partner } from '../domain/partner'
import type { Context, Records } from '../operations/context'
import { requirePartner, requireRequest } from '../operations/find-records'
import {
  declineRequest,
  declineRequests,
  listSubmitted,
  readRisk,
  requireDeclinable,
} from '../operations/requests'
import { closeRequest, requireClosable } from '../operations/transitions'
import { formatInstant } from '../scheduling/calendar'
import { recordId, utcInstant } from './arguments'
import { type Call, contextCommand } from './command'
import { givenText } from './given-text'
import { appointmentOf, askAbout, moving, onRecord, printMoved } from './on-request'
import {
  type Columns,
  columnsOf,
  confirm,
  instantText,
  printJson,
  printLines,
  printNotice,
  printTable,
} from './output'
import { personText } from './person-text'
import { makeAct } from './storage'

const reasonMeaning = 'why, as a note which staff alone read; - takes it from stdin'

/** `anteroom request decline`: one, or all that a partner submitted since an instant. */
export function declineCommand(): Command {
  return moving(
    contextCommand(
      'decline',
      'Decline a pending or accepted request, or many; their slots are free again',
      decline,
    )
      .argument('[request]', 'id', recordId)
      .option('--reason <text>', reasonMeaning)
      .option('--partner <partner>', 'name or id of the partner, with --since, instead of an id')
      .option(
        '--since <instant>',
        'all of the partner that were submitted at this UTC instant or later',
        utcInstant,
      )
      .option('--dry-run', 'only tell which these are'),
  )
}

/** `anteroom request close`. */
export function closeCommand(): Command {
  return moving(
    onRecord('close', 'Close an intake without a provider, withdrawn or a duplicate, for good', close).option(
      '--reason <text>',
      reasonMeaning,
    ),
  )
}

interface ReasonFlags {
  readonly reason?: string
}

interface DeclineFlags extends ReasonFlags {
  readonly partner?: string
  readonly since?: number
  readonly dryRun?: boolean
}

async function decline(call: Call<Context, DeclineFlags>, id: number | undefined): Promise<void> {
  const { context, flags, tried } = call
  const { partner, since, dryRun } = flags
  if (id === undefined && partner !== undefined && since !== undefined) {
    return declineSince(call, await requirePartner(context, partner), since)
  }
  if (id === undefined || partner !== undefined || since !== undefined || dryRun) {
    throw new Refusal('field_invalid', 'name a request by id, or many by both --partner and --since')
  }
  tried.id = id
  const request = await requireRequest(context, id)
  requireDeclinable(request)
  const reason = await reasonOf(flags)
  const [person, appointment] = [await personText(context, request.member), appointmentOf(context, request)]
  await tellRisk(context, request)
  await askAbout(context, request, `Decline request ${id} of ${person}, with ${appointment}?`, flags)
  // A slot that is given back is judged by no clock.
  await declineRequest(context, id, makeAct(), reason)
  await printMoved(context, flags, id, `Request ${id} is declined.`)
}

/** How many of the requests that would be declined are shown. */
const mostListed = 10

async function declineSince(
  call: Call<Context, DeclineFlags>,
  partner: Partner,
  since: number,
): Promise<void> {
  const { context, flags } = call
  const { ids, unassigned } = await listSubmitted(context, partner, since)
  const [which, told] = [
    `of ${partner.name} submitted since ${formatInstant(since)}`,
    { partner: partner.name, since: formatInstant(since), unassigned },
  ]
  if (flags.dryRun) {
    if (flags.json) return printJson({ ...told, declinable: ids })
    const first = await Promise.all(ids.slice(0, mostListed).map((id) => requireRequest(context, id)))
    printTable(first, declinedColumns, 'None can be declined.')
    printLines('', `${ids.length} requests ${which} would be declined.`)
  } else {
    const reason = await reasonOf(flags)
    if (ids.length > 0) await confirm(`Decline ${ids.length} requests ${which}?`, flags)
    const declined = await declineRequests(context, ids, makeAct(), reason)
    if (flags.json) return printJson({ ...told, declined })
    printLines(`${declined} requests ${which} are declined.`)
  }
  if (unassigned > 0) printLines(`${unassigned} intakes of theirs without a provider stay as they are.`)
}

const declinedColumns: Columns<RequestRecord> = {
  ...columnsOf('id', 'state'),
  SUBMITTED: ({ submittedAt }) => formatInstant(submittedAt),
  SLOT: ({ startsAt }) => instantText(startsAt),
  MEMBER: ({ member }) => member?.id ?? null,
}

async function close(call: Call<Records, ReasonFlags>, request: RequestRecord): Promise<void> {
  const { context, flags, act } = call
  const { id, member } = request
  requireClosable(request)
  const reason = await reasonOf(flags)
  const question = `Close request ${id} of ${await personText(context, member)}, for good?`
  await tellRisk(context, request)
  await askAbout(context, request, question, flags)
  await closeRequest(context, id, act(), reason)
  await printMoved(context, flags, id, `Request ${id} is closed.`)
}

/** Says before anybody is sent away that they may be in danger. */
async function tellRisk(context: Records, { id }: RequestRecord): Promise<void> {
  if (!(await readRisk(context, id, makeAct()))) return
  printNotice(
    `note that their ninth PHQ-9 item is not zero, or could not be read: anteroom request show ${id} --screening`,
  )
}

/** The reason that the flags give, if any: read before anything is asked. */
function reasonOf({ reason }: ReasonFlags): Promise<string | undefined> | undefined {
  return reason === undefined ? undefined : givenText(reason)
}
