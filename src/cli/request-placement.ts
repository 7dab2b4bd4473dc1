import type { Command } from 'commander'
import type { RequestRecord } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import type { Member } from '../domain/member'
import type { Provider } from '../domain/provider'
import type { Context } from '../operations/context'
import { requireProvider } from '../operations/find-records'
import {
  assignProvider,
  concernOf,
  moveRequest,
  requireAssignable,
  requireMovable,
} from '../operations/transitions'
import { formatInstant } from '../scheduling/calendar'
import { utcInstant } from './arguments'
import type { Call } from './command'
import { appointmentOf, appointmentText, askAbout, inShapeOfApi, moving, onRequest } from './on-request'
import { type CommonFlags, printNotice, printResult } from './output'
import { personText } from './person-text'
import { presentRequest, providerOf, warningOf } from './request-text'

/** `anteroom request assign`. */
export function assignCommand(): Command {
  return onRequest('assign', 'Assign a provider to an intake, in place of the one that it has if any', assign)
    .requiredOption('--provider <ref>', 'who')
    .option('--slot <instant>', 'the start of a free slot of theirs, in UTC; none unless given', utcInstant)
    .option('--json', inShapeOfApi)
    .option('--yes', 'do not ask before a provider is replaced, or has no license where the member is')
}

/** `anteroom request move`. */
export function moveCommand(): Command {
  return moving(
    onRequest('move', 'Move a pending or accepted request to another slot; it is pending again', move)
      .requiredOption('--slot <instant>', 'the start of a free slot, in UTC', utcInstant)
      .option('--provider <ref>', 'whose slot; the one whom the request is with unless given'),
  )
}

interface AssignFlags extends CommonFlags {
  readonly provider: string
  readonly slot?: number
}

async function assign(call: Call<Context, AssignFlags>, request: RequestRecord): Promise<void> {
  const { context, flags, act } = call
  const { id, state, member } = request
  requireAssignable(request)
  const provider = requireProvider(context, flags.provider)
  const to = appointmentText(context, provider, flags.slot ?? null)
  const person = await personText(context, member)
  const isConcern = tellConcern(context, request.member, provider, flags.slot)
  if (state === 'pending' || state === 'accepted') {
    const present = `is ${state} with ${appointmentOf(context, request)}`
    await askAbout(
      context,
      request,
      `Request ${id} of ${person}, ${present}. Assign it to ${to} instead?`,
      flags,
    )
  } else if (isConcern) {
    await askAbout(context, request, `Assign request ${id} of ${person}, to ${to} all the same?`, flags)
  }
  const assigned = await assignProvider(context, id, provider, flags.slot ?? null, act())
  const { startsAt, authorizationNumber } = assigned
  const when = startsAt === null ? 'without a slot' : `at ${formatInstant(startsAt)}`
  const done = `Request ${id} is assigned to ${provider.ref} ${when}`
  printResult(flags, presentRequest(assigned), `${done}; its authorization number is ${authorizationNumber}.`)
}

interface MoveFlags extends CommonFlags {
  readonly slot: number
  readonly provider?: string
}

async function move(call: Call<Context, MoveFlags>, request: RequestRecord): Promise<void> {
  const { context, flags, act } = call
  const { id } = request
  const present = providerOf(context, request)
  const provider = flags.provider === undefined ? present : requireProvider(context, flags.provider)
  requireMovable(request, { providerId: provider?.id ?? 0, startsAt: flags.slot })
  // The record of whom it is with may be one that cannot be read.
  if (!provider) throw new Refusal('record_unknown', 'name a provider with --provider')
  tellConcern(context, request.member, provider, flags.slot)
  const [person, from] = [await personText(context, request.member), appointmentOf(context, request)]
  const to = appointmentText(context, provider, flags.slot)
  const again = request.state === 'accepted' ? ' It is accepted, and will be pending again.' : ''
  await askAbout(context, request, `Move request ${id} of ${person}, from ${from} to ${to}?${again}`, flags)
  const moved = await moveRequest(context, id, provider, flags.slot, act())
  const done = `Request ${id} is moved to ${provider.ref} at ${formatInstant(flags.slot)}, and pending.`
  printResult(flags, presentRequest(moved), done)
}

/** Says before anything is asked or done what speaks against a provider for a member. Tells whether anything does. */
function tellConcern(
  context: Context,
  member: Member,
  provider: Provider,
  slot: number | undefined,
): boolean {
  const concern = concernOf(context.directory, member, provider, slot ?? context.clock.now())
  if (concern) printNotice(`note that ${warningOf(concern, provider)}`)
  return concern !== null
}
