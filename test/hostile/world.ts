import type { Act } from '../../src/domain/audit'
import { Refusal } from '../../src/domain/errors'
import type { Organization } from '../../src/domain/partner'
import { assignProvider } from '../../src/operations/assign-provider'
import { deactivateMember, eraseMember, reactivateMember, releaseEmail } from '../../src/operations/members'
import {
  deactivateOrganization,
  deactivatePartner,
  reactivateOrganization,
  reactivatePartner,
} from '../../src/operations/partners'
import { deactivateProvider, reactivateProvider } from '../../src/operations/providers'
import { acceptRequest, declineRequest } from '../../src/operations/requests'
import { issueFirstToken, revokeToken, rotateToken } from '../../src/operations/tokens'
import { minuteMillis } from '../../src/scheduling/calendar'
import { daily, endOf, paths } from '../contract/contract'
import { provider, region } from '../support/builders'
import { type Answer, startService, type TestPartner, type TestService } from '../support/service'
import {
  bodyOf,
  type Caps,
  hoursOf,
  type Move,
  type Outcome,
  organizationOf,
  type Submitted,
  startsOf,
  type Wardrobe,
} from './moves'
import { type Chosen, instant, Oracle, type Told } from './oracle'

const startedAt = Date.parse('2026-12-01T08:00:00Z')
const unknownId = 4_711_000

/** A service with three partners, and the oracle that knows what becomes of all that is done there. */
export interface World extends AsyncDisposable {
  readonly service: TestService
  readonly oracle: Oracle
  readonly wardrobe: Wardrobe
  readonly partners: readonly TestPartner[]
  /** The last line of the audit log that tells how the world was made. */
  readonly madeBy: number
  /** The ids of the requests that moves can name, by their places. */
  readonly requests: number[]
  /** The last token of each partner that was replaced or revoked. */
  readonly staleTokens: string[]
  /** What the last request was answered, as it came. */
  last: Answer | null
}

/** Starts a world of its own. */
export async function openWorld(caps: Caps, wardrobe: Wardrobe): Promise<World> {
  const service = await startService({
    now: instant(startedAt),
    limits: caps,
    directory: {
      regions: [region({ id: 31 })],
      providers: hoursOf.map(([start, end], place) =>
        provider(`p${place}`, {
          lastName: `Provider ${place}`,
          timeZone: 'Etc/UTC',
          workingHours: [daily(start, end)],
        }),
      ),
    },
  })
  const organizations: Organization[] = []
  const partners: TestPartner[] = []
  for (const [place, organization] of organizationOf.entries()) {
    const partner = await service.addPartner(`Partner ${place}`, organizations[organization])
    organizations[organization] = partner.organization as Organization
    partners.push(partner)
  }
  const known = service.context.directory.listProviders()
  const oracle = new Oracle(
    startedAt,
    partners.map(({ partner, token }, place) => ({
      id: partner.id,
      organization: organizationOf[place] ?? 0,
      active: true,
      token,
    })),
    startsOf.map((starts, place) => ({
      id: known.find(({ ref }) => ref === `p${place}`)?.id ?? 0,
      lastName: `Provider ${place}`,
      starts,
      active: true,
    })),
    caps,
  )
  return {
    service,
    oracle,
    wardrobe,
    partners,
    madeBy: (await service.context.store.auditHead()).id,
    requests: [],
    staleTokens: partners.map(() => 'none'),
    last: null,
    [Symbol.asyncDispose]: () => service.stop(),
  }
}

/** Carries a move out, and tells what came of it and what had to. */
export async function carryOut(world: World, move: Move): Promise<Outcome> {
  world.last = null
  switch (move.act) {
    case 'submit':
      return submit(world, move)
    case 'look up':
    case 'search':
      return read(world, move)
    case 'tick':
      if (move.to) world.oracle.now = world.oracle.nextStart(move.to)
      world.oracle.now += move.minutes * minuteMillis
      world.service.setNow(instant(world.oracle.now))
      return { told: null, foretold: null }
    case 'switch member':
    case 'erase':
    case 'release':
      return changeMember(world, move)
    case 'accept':
    case 'decline':
    case 'assign':
      return moveRequest(world, move)
    case 'rotate':
    case 'revoke':
    case 'issue':
      return changeToken(world, move)
    default:
      return switchOver(world, move)
  }
}

async function submit(world: World, move: Submitted): Promise<Outcome> {
  const { oracle, service, wardrobe } = world
  const { partner, token, refusal } = callerOf(world, move)
  const body = bodyOf(move, wardrobe, bookingDataOf(world, move.slot))
  const answer = await service.post(paths.booking, body, token)
  world.last = answer
  const chosen = answer.body as Chosen
  if (answer.status === 201) world.requests.push(Number(chosen.id))
  return { told: toldBy(answer), foretold: refusal ?? oracle.submit(partner, body, chosen) }
}

/** Who calls with which token, and why that gets no further, if it does not. */
function callerOf(
  { oracle, staleTokens }: World,
  { partner, isStale = false }: { partner: number; isStale?: boolean },
) {
  const known = oracle.partners[partner] as Oracle['partners'][number]
  const token = (isStale ? null : known.token) ?? staleTokens[partner] ?? ''
  return { partner, token, refusal: oracle.admit(known, token) }
}

function bookingDataOf({ oracle }: World, slot: Submitted['slot']) {
  if (!slot) return null
  const { providerId, startsAt } = slotOf(oracle, slot)
  const utcStartTime = instant(startsAt)
  return { selfSchedulingProviderId: providerId, utcStartTime, utcEndTime: endOf(utcStartTime) }
}

function slotOf({ now, providers }: Oracle, { provider, days, minutes }: NonNullable<Submitted['slot']>) {
  const today = now - (now % (1_440 * minuteMillis))
  const startsAt = today + (days * 1_440 + minutes) * minuteMillis
  return { providerId: providers[provider]?.id ?? unknownId, startsAt }
}

async function read(world: World, move: Extract<Move, { act: 'look up' | 'search' }>): Promise<Outcome> {
  const { oracle, service, wardrobe } = world
  const { partner, token, refusal } = callerOf(world, move)
  if (move.act === 'search') {
    const { page, pageSize } = move
    const query = `region_id=31&page=${page}&page_size=${pageSize}`
    world.last = await service.get(`${paths.providers}?${query}`, token)
    const url = `${service.baseUrl}${paths.providers}`
    return { told: toldBy(world.last), foretold: refusal ?? oracle.search(page, pageSize, url) }
  }
  const externalUserId = wardrobe.externalUserId(partner, move.person)
  const query = `external_user_id=${encodeURIComponent(externalUserId)}`
  world.last = await service.get(`${paths.user}?${query}`, token)
  return { told: toldBy(world.last), foretold: refusal ?? oracle.lookUp(partner, externalUserId) }
}

function toldBy({ status, headers, body }: Answer): Told {
  return { status, code: headers.get('x-error-code'), retryAfter: headers.get('retry-after'), body }
}

/** The kind of refusal that an operator's move met with; null if it was made. */
async function refusalOf(move: Promise<unknown>): Promise<string | null> {
  try {
    await move
    return null
  } catch (error) {
    if (error instanceof Refusal) return error.kind
    throw error
  }
}

type RequestMove = Extract<Move, { act: 'accept' | 'decline' | 'assign' }>

async function moveRequest({ oracle, service, requests }: World, move: RequestMove): Promise<Outcome> {
  const { context } = service
  const id = requests.at(-1 - move.request) ?? unknownId
  const act = service.act()
  if (move.act === 'accept') {
    return { told: await refusalOf(acceptRequest(context, id, act)), foretold: oracle.move(id, 'accepted') }
  }
  if (!('slot' in move)) {
    return { told: await refusalOf(declineRequest(context, id, act)), foretold: oracle.move(id, 'declined') }
  }
  const place = move.slot?.provider ?? move.provider
  const known = context.directory.listProviders().find(({ ref }) => ref === `p${place % startsOf.length}`)
  if (!known) throw new Error('there is no such provider')
  const startsAt = move.slot && slotOf(oracle, move.slot).startsAt
  const told = await refusalOf(assignProvider(context, id, known, startsAt, act))
  const number = told === null && (await context.store.findRequest(id))?.authorizationNumber
  return { told, foretold: oracle.assign(id, known.id, startsAt, number) }
}

type MemberMove = Extract<Move, { act: 'switch member' | 'erase' | 'release' }>

async function changeMember({ oracle, service, wardrobe }: World, move: MemberMove): Promise<Outcome> {
  const { context } = service
  const known = oracle.find(move.partner, wardrobe.externalUserId(move.partner, move.person))
  const member = await context.store.findMemberById(known?.id ?? unknownId)
  if (!known || !member) return { told: member && 'a member', foretold: known ? 'a member' : null }
  const act = service.act()
  if (move.act === 'erase') {
    return { told: await refusalOf(eraseMember(context, member, act)), foretold: oracle.erase(known.id) }
  }
  if (!('active' in move)) {
    return { told: await refusalOf(releaseEmail(context, member, act)), foretold: oracle.release(known.id) }
  }
  const change = move.active ? reactivateMember : deactivateMember
  const told = await refusalOf(change(context, member, act))
  return { told, foretold: oracle.switchMember(known.id, move.active) }
}

type TokenMove = Extract<Move, { act: 'rotate' | 'revoke' | 'issue' }>

async function changeToken(world: World, { act, partner: place }: TokenMove): Promise<Outcome> {
  const { oracle, service, partners, staleTokens } = world
  const [known, caller] = [oracle.partners[place], partners[place]]
  if (!known || !caller) throw new Error('there is no such partner')
  const change = () => {
    const by: Act = service.act()
    if (act === 'issue') return issueFirstToken(service.context, caller.partner, by)
    if (act === 'revoke') return revokeToken(service.context, caller.partner, by)
    return rotateToken(service.context, caller.partner, by.at, by)
  }
  let made: string | undefined
  const told = await refusalOf(
    change().then((token) => {
      made = token ?? undefined
    }),
  )
  const isPossible = (known.token === null) === (act === 'issue')
  if (!isPossible) return { told, foretold: act === 'issue' ? 'token_exists' : 'record_unknown' }
  staleTokens[place] = known.token ?? staleTokens[place] ?? ''
  known.token = made ?? null
  return { told, foretold: oracle.note(`token.${act}`, `partner ${known.id}`) }
}

type Switch = Extract<Move, { act: 'switch provider' | 'switch partner' | 'switch organization' }>

/** Switches a provider, a partner or an organization off, or on again. */
async function switchOver({ oracle, service, partners }: World, move: Switch): Promise<Outcome> {
  const { context } = service
  const by = service.act()
  const { active } = move
  const note = (noun: string, id: number) =>
    oracle.note(`${noun}.${active ? 'reactivate' : 'deactivate'}`, `${noun} ${id}`)
  if (move.act === 'switch provider') {
    const known = oracle.providers[move.provider]
    if (!known) throw new Error('there is no such provider')
    const change = active ? reactivateProvider : deactivateProvider
    const told = await refusalOf(change(context, { id: known.id, ref: `p${move.provider}` }, by))
    known.active = active
    return { told, foretold: note('provider', known.id) }
  }
  const [known, caller] = [oracle.partners[move.partner], partners[move.partner]]
  if (!known || !caller?.organization) throw new Error('there is no such partner')
  if (move.act === 'switch partner') {
    const change = active ? reactivatePartner : deactivatePartner
    const told = await refusalOf(change(context, caller.partner, by))
    known.active = active
    return { told, foretold: note('partner', known.id) }
  }
  const change = active ? reactivateOrganization : deactivateOrganization
  const told = await refusalOf(change(context, caller.organization, by))
  oracle.organizationsActive[known.organization] = active
  return { told, foretold: note('organization', caller.organization.id) }
}
