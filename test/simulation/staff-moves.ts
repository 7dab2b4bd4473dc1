import type { DirectoryLoad } from '../../src/domain/decisions/compare-directory'
import type { Partner } from '../../src/domain/partner'
import type { Context } from '../../src/operations/context'
import { loadDirectory } from '../../src/operations/directory-loads'
import { editMember, eraseMember, setMemberActive } from '../../src/operations/members'
import {
  setOrganizationActive,
  setPartnerActive,
  setPartnerOrganization,
} from '../../src/operations/partners'
import { heldIn, removeTimeOff, setProviderActive, storeTimeOff } from '../../src/operations/providers'
import {
  acceptRequest,
  endRequest,
  endRequests,
  listSubmitted,
  readScreening,
} from '../../src/operations/requests'
import { issueFirstToken, revokeToken, rotateToken } from '../../src/operations/tokens'
import { placeRequest, reopenRequest } from '../../src/operations/transitions'
import { actsOf } from '../support/acts'
import {
  emailOf,
  externalUserIdOf,
  type MemberMove,
  type Outcome,
  type RequestMove,
  type StaffMove,
  type TokenMove,
} from './moves'
import type { OraclePartner } from './oracle'
import { slotOf, unknownId } from './partner-moves'
import { actOf, contextOf, resultOf, type World } from './world'

type Move = RequestMove | MemberMove | TokenMove | StaffMove

export function carryOutForStaff(world: World, move: Move): Promise<Outcome> | Outcome {
  switch (move.act) {
    case 'accept':
    case 'decline':
    case 'close':
    case 'move':
    case 'read answers':
    case 'assign':
      return changeRequest(world, move)
    case 'erase':
    case 'release':
    case 'find by email':
    case 'switch member':
      return changeMember(world, move)
    case 'issue':
    case 'rotate':
    case 'revoke':
      return changeToken(world, move)
    case 'load':
      return load(world, move)
    case 'switch provider':
    case 'add time off':
    case 'remove time off':
      return changeProvider(world, move)
    default:
      return changePartner(world, move)
  }
}

/** Reads the latest directory, like an operator's command when it starts. */
async function contextFor({ site }: World, { via }: { via: number }): Promise<Context> {
  const context = contextOf(site.via(via))
  await context.directory.catchUp()
  return context
}

async function changeRequest(world: World, move: RequestMove): Promise<Outcome> {
  const { oracle, requests } = world
  const context = await contextFor(world, move)
  if (move.act === 'assign') return assign(world, move)
  if (move.act === 'move') return moveTo(world, move)
  const id = requests.at(-1 - move.request) ?? unknownId
  const act = actOf(world)
  if (move.act === 'read answers') {
    const actual = await resultOf(readScreening(context, id, act).then(({ answers }) => answers))
    return { actual, expected: oracle.readAnswers(id) }
  }
  const ended = oracle.requests.findLast(({ state }) => state === 'declined' || state === 'closed')
  // Reopening has no move of its own, so that the known seeds keep their rare outcomes.
  if (ended && move.act !== 'accept' && move.request % 2 === 0) {
    const reopened = reopenRequest(context, ended.id, act).then(() => null)
    return { actual: await resultOf(reopened), expected: oracle.reopen(ended.id) }
  }
  const changed =
    move.act === 'accept' ? acceptRequest(context, id, act) : endRequest(context, move.act, id, act)
  return { actual: (await resultOf(changed)) ?? null, expected: oracle.move(id, endStates[move.act]) }
}

const endStates = { accept: 'accepted', decline: 'declined', close: 'closed' } as const

async function moveTo(world: World, move: Extract<RequestMove, { act: 'move' }>): Promise<Outcome> {
  const { oracle, requests } = world
  const id = requests.at(-1 - move.request) ?? unknownId
  const context = await contextFor(world, move)
  const known = context.directory.listProviders().find(({ ref }) => ref === `p${move.slot.provider}`)
  if (!known) return { actual: null, expected: oracle.directory.providerAt(move.slot.provider) ?? null }
  const memberId = oracle.requests.find((one) => one.id === id)?.memberId ?? undefined
  const { startsAt } = slotOf(oracle, move.slot, memberId)
  const actual = await resultOf(placeRequest(context, 'move', id, known, startsAt, actOf(world)))
  return {
    actual: typeof actual === 'string' ? actual : null,
    expected: oracle.moveTo(id, known.id, startsAt),
  }
}

async function assign(world: World, move: Extract<RequestMove, { act: 'assign' }>): Promise<Outcome> {
  const { oracle, requests } = world
  const isIntake = (id: number) => oracle.requests.some((one) => one.id === id && one.isIntake)
  const named = move.ofIntakes ? requests.filter(isIntake) : requests
  const id = named.at(-1 - move.request) ?? unknownId
  const context = await contextFor(world, move)
  const ref = `p${move.slot?.provider ?? move.provider}`
  const known = context.directory.listProviders().find((one) => one.ref === ref)
  if (!known) return { actual: null, expected: oracle.directory.providerAt(Number(ref.slice(1))) ?? null }
  const memberId = oracle.requests.find((one) => one.id === id)?.memberId ?? undefined
  const startsAt = move.slot && slotOf(oracle, move.slot, memberId).startsAt
  const actual = await resultOf(placeRequest(context, 'assign', id, known, startsAt, actOf(world)))
  if (typeof actual === 'string') return { actual, expected: oracle.assign(id, known.id, startsAt, null) }
  return { actual: null, expected: oracle.assign(id, known.id, startsAt, actual.authorizationNumber) }
}

async function changeMember(world: World, move: MemberMove): Promise<Outcome> {
  const { oracle } = world
  const context = await contextFor(world, move)
  const act = actOf(world)
  const known = oracle.find(move.partner, externalUserIdOf(move.partner, move.person))
  if (move.act === 'find by email') {
    const email = known?.profile.email ?? emailOf(move.partner, move.person)
    const found = await resultOf(actsOf(context).findMemberByEmail(email.toUpperCase(), act))
    return {
      actual: found && typeof found === 'object' ? found.id : found,
      expected: oracle.findByEmail(email),
    }
  }
  const member = await actsOf(context).findMemberById(known?.id ?? unknownId)
  if (!known || !member) return { actual: member && 'a member', expected: known ? 'a member' : null }
  if (move.act === 'erase') {
    const actual = await resultOf(eraseMember(context, member, act))
    const keptIn = 'Earlier backups still contain the erased data until they are deleted.'
    return { actual, expected: { holding: oracle.erase(known.id), isPurged: true, keptIn } }
  }
  if (move.act === 'release') {
    return {
      actual: (await resultOf(editMember(context, member.id, { email: '' }, act))) ?? null,
      expected: oracle.release(known.id),
    }
  }
  const actual = (await resultOf(setMemberActive(context, member, move.active, act))) ?? null
  return { actual, expected: oracle.switchMember(known.id, move.active) }
}

async function changeToken(world: World, move: TokenMove): Promise<Outcome> {
  const { oracle } = world
  const context = await contextFor(world, move)
  const known = oracle.partners[move.partner] as OraclePartner
  const partner = await partnerOf(context, known)
  const act = actOf(world)
  let made: string | undefined
  const keep = (token: string) => {
    made = token
  }
  const refusal = (actual: unknown) => (actual === made ? null : (actual ?? null))
  if (move.act === 'issue') {
    const actual = await resultOf(issueFirstToken(context, partner, act, keep))
    return { actual: refusal(actual), expected: oracle.issue(known, made) }
  }
  if (move.act === 'rotate') {
    const cutover = oracle.now + move.cutover
    const actual = await resultOf(rotateToken(context, partner, cutover, act, keep))
    return { actual: refusal(actual), expected: oracle.rotate(known, cutover, made) }
  }
  return {
    actual: (await resultOf(revokeToken(context, partner, act))) ?? null,
    expected: oracle.revoke(known),
  }
}

async function partnerOf(context: Context, { id }: OraclePartner): Promise<Partner> {
  return (await actsOf(context).listPartners()).find((one) => one.id === id) as Partner
}

async function load(world: World, move: Extract<StaffMove, { act: 'load' }>): Promise<Outcome> {
  const context = await contextFor(world, move)
  const actual = await loadDirectory(context, move.file, actOf(world))
  const known = context.directory.listProviders()
  const expected = world.oracle.load(move.file, (ref) => known.find((one) => one.ref === ref)?.id ?? 0)
  return { actual: sorted(actual), expected: sorted(expected) }
}

function sorted({ added, changed, deactivated, unchanged }: DirectoryLoad) {
  return {
    added: added.toSorted(),
    changed: changed.toSorted(),
    deactivated: deactivated.toSorted(),
    unchanged,
  }
}

type ProviderMove = Extract<StaffMove, { act: 'switch provider' | 'add time off' | 'remove time off' }>

async function changeProvider(world: World, move: ProviderMove): Promise<Outcome> {
  const { oracle } = world
  const context = await contextFor(world, move)
  const act = actOf(world)
  const provider = context.directory.listProviders().find(({ ref }) => ref === `p${move.provider}`)
  const known = oracle.directory.providerAt(move.provider)
  if (!known || !provider) return { actual: provider ?? null, expected: known ?? null }
  if (move.act === 'switch provider') {
    const actual = (await resultOf(setProviderActive(context, provider, move.active, act))) ?? null
    return { actual, expected: oracle.switchProvider(known, move.active) }
  }
  if (move.act === 'add time off') {
    const isNew = await resultOf(storeTimeOff(context, provider.id, move.absence, act))
    const listing = context.directory.findAnyListing(provider.id)
    const held = listing ? heldIn(move.absence, listing, act.at).map(({ requestId }) => requestId) : []
    const actual = typeof isNew === 'string' ? isNew : { isKnown: !isNew, held: held.sort() }
    return { actual, expected: oracle.addTimeOff(known, move.absence) }
  }
  const absence = known.away[0] ?? known.entry.timeOff?.[0] ?? move.absence
  const actual = (await resultOf(removeTimeOff(context, provider, absence, act))) ?? null
  return { actual, expected: oracle.removeTimeOff(known, absence) }
}

type PartnerMove = Exclude<StaffMove, ProviderMove | { act: 'load' }>

async function changePartner(world: World, move: PartnerMove): Promise<Outcome> {
  const { oracle } = world
  const context = await contextFor(world, move)
  const act = actOf(world)
  if (move.act === 'switch organization') {
    const known = oracle.organizations[move.organization] as (typeof oracle.organizations)[number]
    const organization = (await actsOf(context).listOrganizations()).find(({ id }) => id === known.id)
    const actual = await resultOf(
      setOrganizationActive(context, organization as NonNullable<typeof organization>, move.active, act),
    )
    return { actual: actual ?? null, expected: oracle.switchOrganization(known, move.active) }
  }
  const known = oracle.partners[move.partner] as OraclePartner
  const partner = await partnerOf(context, known)
  if (move.act === 'switch partner') {
    const actual = (await resultOf(setPartnerActive(context, partner, move.active, act))) ?? null
    return { actual, expected: oracle.switchPartner(known, move.active) }
  }
  if (move.act === 'join') {
    const id = move.organization === null ? null : oracle.organizations[move.organization]?.id
    const organization = (await actsOf(context).listOrganizations()).find((one) => one.id === id) ?? null
    const actual = (await resultOf(setPartnerOrganization(context, partner, organization, act))) ?? null
    return { actual, expected: oracle.join(known, move.organization) }
  }
  const since = oracle.now - move.since
  const { decline: ids, close } = await listSubmitted(context, partner, since)
  const declined = await endRequests(context, 'decline', ids, act)
  return { actual: { declined, unassigned: close.length }, expected: oracle.declineAll(move.partner, since) }
}
