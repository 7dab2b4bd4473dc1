import { daily, endOf, paths } from '../contract/contract'
import type { Caps } from '../simulation/moves'
import { type Body, type Chosen, Oracle, type OracleRequest } from '../simulation/oracle'
import { answerOf, type PartnerAnswer, urlWith } from '../simulation/oracle-answers'
import { isWorking, type KnownProvider } from '../simulation/oracle-directory'
import { search } from '../simulation/oracle-search'
import { dayMillis, instant } from '../simulation/wall-clock'
import { actsOf } from '../support/acts'
import { provider, region } from '../support/builders'
import { startService, type TestPartner, type TestService } from '../support/service'
import { openSeparateConnection, type SeparateConnection, type Storage } from '../support/storage'
import { type Command, command, type Ended } from './commands'
import type { Other } from './other'
import type { Done, Model } from './serial-order'

/** The index of each partner's organization. */
export const organizationOf = [0, 0, 1]
/** The working hours of each provider. The slots of different providers overlap. */
const hoursOf = [
  ['09:00', '12:00'],
  ['09:30', '12:30'],
  ['10:00', '11:30'],
] as const

const directory = {
  regions: [region({ id: 31 })],
  providers: hoursOf.map(([start, end], place) => {
    const workingHours = [daily(start, end)]
    return provider(`p${place}`, { lastName: `Provider ${place}`, timeZone: 'Etc/UTC', workingHours })
  }),
}
const everyProvider = { region_id: 31, page: 1, page_size: 20 }

const firstDay = Date.parse('2026-12-01T08:00:00Z')

/** An action of a partner or an operator, to run concurrently. Actions with different `day`s share no persons, addresses or slots. */
export type Move =
  | {
      readonly act: 'submit'
      readonly partner: number
      readonly person: number
      readonly email: number
      readonly slot: Slot | null
      /** Makes the texts of this submission unique. */
      readonly serial: number
      readonly key?: string | null
    }
  | { readonly act: 'look up'; readonly partner: number; readonly person: number }
  | { readonly act: 'search'; readonly partner: number }
  | { readonly act: 'read'; readonly partner: number; readonly request: number }
  | { readonly act: 'cancel'; readonly partner: number; readonly request: number }
  | {
      readonly act: 'reschedule'
      readonly partner: number
      readonly request: number
      readonly slot: Slot
    }
  | { readonly act: 'command'; readonly command: Command }

export interface Slot {
  readonly provider: number
  readonly place: number
}

export function submission(partner: number, person: number, slot: Slot | null): Move {
  return { act: 'submit', partner, person, email: person, slot, serial: person }
}

export type Outcome = PartnerAnswer | Ended

/** A day that starts without members and with all slots free. */
export interface Day {
  readonly number: number
  readonly oracle: Oracle
  /** The highest ids in the database when the day begins. */
  readonly highest: { readonly member: number; readonly request: number; readonly audit: number }
}

/** A service with three partners and three providers, and other services on its database. */
export class BatchWorld implements AsyncDisposable {
  #days = 0

  private constructor(
    readonly service: TestService,
    readonly partners: TestPartner[],
    readonly providerIds: readonly number[],
    private readonly other: Other,
    /** A separate connection, so that it reads only committed data. */
    readonly onlooker: SeparateConnection,
    private readonly limits: Caps,
    /** All services that partners call, with `service` first. */
    readonly nodes: readonly TestService[],
  ) {}

  /**
   * @param openOther opens a second service on the database, in this or in another process
   * @param nodeCount the number of services that partners call
   */
  static async open(
    limits: Caps,
    openOther: (storage: Storage) => Promise<Other>,
    nodeCount = 1,
  ): Promise<BatchWorld> {
    const service = await startService({ now: instant(firstDay), limits, directory })
    const partners: TestPartner[] = []
    for (const [place, organization] of organizationOf.entries()) {
      const shared = organizationOf.indexOf(organization)
      partners.push(await service.addPartner(`Partner ${place}`, partners[shared]?.organization))
    }
    const ids = service.context.directory.listProviders().map(({ id }) => id)
    const other = await openOther(service.storage)
    const onlooker = openSeparateConnection(service.storage)
    const nodes: TestService[] = [service]
    while (nodes.length < nodeCount) {
      nodes.push(await startService({ now: instant(firstDay), limits, sharing: service }))
    }
    return new BatchWorld(service, partners, ids, other, onlooker, limits, nodes)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.onlooker[Symbol.asyncDispose]()
    await this.other[Symbol.asyncDispose]()
    for (const node of this.nodes.toReversed()) await node.stop()
  }

  /** Begins the next day. In the model of a new day, all partners, organizations and providers are active. */
  async nextDay(): Promise<Day> {
    const now = firstDay + this.#days * dayMillis
    for (const node of this.nodes) node.setNow(now)
    const oracle = new Oracle(
      now,
      this.partners.map(({ partner, token }, place) => {
        const keys = [{ token, from: 0, until: Number.POSITIVE_INFINITY }]
        return { id: partner.id, organization: organizationOf[place] ?? null, active: true, keys }
      }),
      this.#organizations().map((id) => ({ id, active: true })),
      this.limits,
    )
    oracle.directory.load(directory, (ref) => this.providerIds[Number(ref.slice(1))] as number)
    const highest = async (table: string) => (await this.#ask(`SELECT max(id) AS id FROM ${table}`))[0] ?? 0
    return {
      number: this.#days++,
      oracle,
      highest: {
        member: await highest('members'),
        request: await highest('booking_requests'),
        audit: await highest('audit'),
      },
    }
  }

  #organizations(): number[] {
    return [...new Set(this.partners.map(({ organization }) => organization?.id ?? 0))]
  }

  /**
   * Reactivates partners, organizations and providers, and issues missing tokens.
   * @param oracle the state of the model at the end of the day
   */
  async endDay(oracle: Oracle): Promise<void> {
    for (const [place, { id, active, keys }] of oracle.partners.entries()) {
      if (!active) await this.command({ act: 'reactivate', noun: 'partner', id }, oracle.now)
      const partner = this.partners[place] as TestPartner
      if (keys.some((key) => oracle.isInForce(key))) continue
      const { token: made } = await this.command({ act: 'issue', partner: id }, oracle.now)
      this.partners[place] = { ...partner, token: made as string }
    }
    for (const { id, active } of oracle.organizations) {
      if (!active) await this.command({ act: 'reactivate', noun: 'organization', id }, oracle.now)
    }
    for (const provider of oracle.directory.providers) {
      if (isWorking(provider)) continue
      await this.command({ act: 'reactivate', noun: 'provider', id: provider.id }, oracle.now)
    }
  }

  command(asked: Command, at: number): Promise<Ended> {
    return command(this.service.context, asked, at)
  }

  /**
   * Carries out a move. @param isElsewhere true to run commands in the second service @param service the one that partners call
   */
  async do(day: Day, move: Move, isElsewhere: boolean, service = this.service): Promise<Done<Move, Outcome>> {
    const askedAt = performance.now()
    const result = await this.#carryOut(day, move, isElsewhere, service)
    return { move, result, askedAt, answeredAt: performance.now() }
  }

  async #carryOut(day: Day, move: Move, isElsewhere: boolean, service: TestService): Promise<Outcome> {
    if (move.act === 'command') {
      const { now } = day.oracle
      return isElsewhere ? this.other.do(move.command, now) : this.command(move.command, now)
    }
    const token = this.partners[move.partner]?.token ?? ''
    if (move.act === 'submit') {
      const headers = move.key ? { 'Idempotency-Key': move.key } : undefined
      return answerOf(await service.post(paths.booking, bodyOf(day, move), token, headers))
    }
    if (move.act === 'search') {
      return answerOf(await service.get(urlWith(paths.providers, everyProvider), token))
    }
    if (move.act === 'read' || move.act === 'cancel' || move.act === 'reschedule') {
      const path = pathOf(move.act, move.request)
      if (move.act === 'read') return answerOf(await service.get(path, token))
      return answerOf(await service.post(path, move.act === 'cancel' ? '' : booked(day, move.slot), token))
    }
    const query = `external_user_id=${externalUserId(day, move.person)}`
    return answerOf(await service.get(`${paths.user}?${query}`, token))
  }

  /** A model that runs the moves of a day one after another. @param kept the records that the model must end with */
  model(day: Day, kept: Kept): Model<Oracle, Move, Outcome> {
    const numbers = new Map(kept.requests.map(({ id, authorizationNumber }) => [id, authorizationNumber]))
    return {
      next: (state, done) => {
        const after = state.copy()
        return { result: this.#expectedOutcome(after, day, done, numbers), state: after }
      },
      isEnd: (state) => Bun.deepEquals(this.keptBy(state), kept),
    }
  }

  #expectedOutcome(
    oracle: Oracle,
    day: Day,
    { move, result }: Done<Move, Outcome>,
    numbers: Numbers,
  ): Outcome {
    if (move.act === 'command') {
      const refusal = this.#expectedRefusal(oracle, move.command, numbers)
      return { refusal, token: null }
    }
    const partner = oracle.partners[move.partner] as Oracle['partners'][number]
    const refusal = oracle.admit(partner, this.partners[move.partner]?.token ?? '')
    if (refusal) return refusal
    if (move.act === 'search') return this.#expectedSearch(oracle)
    if (move.act === 'look up') return oracle.lookUp(move.partner, externalUserId(day, move.person))
    if (move.act === 'read' || move.act === 'cancel') return oracle[move.act](move.partner, move.request)
    if (move.act === 'reschedule') {
      const providerId = this.providerIds[move.slot.provider] as number
      return oracle.reschedule(move.partner, move.request, providerId, startOf(day, move.slot))
    }
    const body = bodyOf(day, move)
    const keyed = move.key ? { key: move.key, text: JSON.stringify(body) } : null
    return oracle.submit(move.partner, body, (result as PartnerAnswer).body as Chosen, keyed)
  }

  #expectedSearch(oracle: Oracle): PartnerAnswer {
    return search(oracle, everyProvider, `${this.service.baseUrl}${paths.providers}`)
  }

  #expectedRefusal(oracle: Oracle, asked: Command, numbers: Numbers): string | null {
    switch (asked.act) {
      case 'accept':
        return oracle.move(asked.request, 'accepted')
      case 'decline':
        return oracle.move(asked.request, 'declined')
      case 'close':
        return oracle.move(asked.request, 'closed')
      case 'move':
        return oracle.moveTo(asked.request, asked.provider, asked.startsAt)
      case 'assign':
        return oracle.assign(asked.request, asked.provider, asked.startsAt, numbers.get(asked.request))
      case 'erase':
        return refusalIn(oracle.erase(asked.member))
      case 'release':
        return oracle.release(asked.member)
      case 'revoke':
        return oracle.revoke(known(oracle.partners, asked.partner))
      case 'deactivate':
      case 'reactivate':
        return expectedSwitch(oracle, asked)
      default:
        throw new Error(`the model does not know ${asked.act}`)
    }
  }

  /** Reads the records of a day. The search uses a partner that is never deactivated. */
  async kept({ highest, oracle }: Day): Promise<Kept> {
    const store = actsOf(this.service.context)
    const ids = (table: string, after: number) =>
      this.#ask(`SELECT id FROM ${table} WHERE id > ${after} ORDER BY id`)
    const requestIds = await ids('booking_requests', highest.request)
    const answers = await store.sortingAnswers(requestIds)
    const requests = await Promise.all(requestIds.map((id) => store.findRequest(id)))
    const memberIds = await ids('members', highest.member)
    const members = memberIds.map((id) => store.findMemberById(id))
    const audit = await store.listAudit(100, { since: oracle.now, after: highest.audit })
    return {
      members: (await Promise.all(members)).flatMap((member) => {
        if (!member) return []
        const { profile, ...rest } = member
        const known = Object.entries(profile).filter(([, value]) => value !== null)
        return { ...rest, profile: Object.fromEntries(known) }
      }),
      requests: requests.flatMap((request) => {
        if (!request) return []
        const { member, ...rest } = request
        return { ...rest, memberId: member?.id ?? null, answers: answers.get(rest.id) ?? null }
      }),
      // Audit lines of look-ups and refused tokens are written later, so they are not compared.
      audit: audit
        .filter(({ actor, action }) => actor === 'test' || storedAtOnce.test(action))
        .map(({ actor, action, record, outcome }) => `${actor} ${action} ${record} ${outcome}`),
      search: answerOf(await this.service.get(urlWith(paths.providers, everyProvider))),
    }
  }

  keptBy(oracle: Oracle): Kept {
    const { partners, members, requests, audit } = oracle
    return {
      members: inOrder(members).map(({ id, partner, externalUserId, active, profile }) => {
        const partnerId = partners[partner]?.id as number
        return {
          id,
          partnerId,
          externalUserId,
          active,
          profile: { preferredSpokenLanguage: 'en', ...profile },
        }
      }),
      // For the answers of an erased person, the model has null and the database has an empty list.
      requests: inOrder(requests).map(({ partner: _, ...request }) => {
        return { ...request, answers: request.answers ?? [] }
      }),
      audit,
      search: this.#expectedSearch(oracle),
    }
  }

  async #ask(query: string): Promise<number[]> {
    const rows = await this.onlooker.ask<{ id: number | null }>(query)
    return rows.map(({ id }) => id ?? 0)
  }
}

export interface Kept {
  readonly members: readonly {
    readonly id: number
    readonly partnerId: number
    readonly externalUserId: string
    readonly active: boolean
    readonly profile: Record<string, string>
  }[]
  readonly requests: readonly Omit<OracleRequest, 'partner'>[]
  readonly audit: readonly string[]
  readonly search: PartnerAnswer
}

/** The authorization number of each request. The service chooses the numbers at random. */
type Numbers = ReadonlyMap<number, string | null>

const storedAtOnce = /^(member\.email-conflict|request\.(cancel|reschedule))$/

export const pathOf = (act: 'read' | 'cancel' | 'reschedule', id: number) =>
  paths[act === 'read' ? 'request' : act].replace('{id}', `${id}`)

const inOrder = <T extends { readonly id: number }>(all: readonly T[]) => all.toSorted((a, b) => a.id - b.id)

const refusalIn = (result: unknown) => (typeof result === 'string' ? result : null)

function known<T extends { readonly id: number }>(all: readonly T[], id: number): T {
  const found = all.find((one) => one.id === id)
  if (!found) throw new Error(`the model knows no ${id}`)
  return found
}

type Switch = Extract<Command, { act: 'deactivate' | 'reactivate' }>

function expectedSwitch(oracle: Oracle, { act, noun, id }: Switch): string | null {
  const active = act === 'reactivate'
  if (noun === 'member') return oracle.switchMember(id, active)
  if (noun === 'provider') return oracle.switchProvider(known(oracle.directory.providers, id), active)
  if (noun === 'partner') return oracle.switchPartner(known(oracle.partners, id), active)
  return oracle.switchOrganization(known(oracle.organizations, id), active)
}

export const externalUserId = ({ number }: Day, person: number) => `m${number}.${person}`

/** The start of a slot, in ms. */
export function startOf({ oracle: { now, directory } }: Day, { provider, place }: Slot): number {
  const starts = directory.gridOf(directory.providerAt(provider) as KnownProvider, now, now + dayMillis)
  return starts[place] as number
}

function bodyOf(day: Day, { partner, person, email, slot, serial }: Extract<Move, { act: 'submit' }>): Body {
  const known = slot && booked(day, slot)
  return {
    user: { external_user_id: externalUserId(day, person) },
    ...(known && { bookingData: known }),
    memberData: {
      email: `e${email}.${day.number}@example.com`,
      firstName: `First ${partner} ${serial}`,
      lastName: `Last ${serial}`,
      country: 'CA',
      ...(serial % 2 && { phoneNumber: `+1 555 ${1_000_000 + serial}` }),
    },
    phq9Data: [{ question: 'Sleep?', answer: `Answer ${serial}` }],
  }
}

function booked(day: Day, slot: Slot) {
  const startsAt = startOf(day, slot)
  const utcStartTime = instant(startsAt)
  const selfSchedulingProviderId = day.oracle.directory.providerAt(slot.provider)?.id as number
  return { selfSchedulingProviderId, utcStartTime, utcEndTime: endOf(utcStartTime) }
}
