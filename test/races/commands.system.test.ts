import { expect, setDefaultTimeout, test } from 'bun:test'
import { daily, paths } from '../contract/contract'
import { randomFrom, seed } from '../hostile/random'
import { instant } from '../simulation/wall-clock'
import { booking, provider, region } from '../support/builders'
import { tellFigure, times } from '../support/long'
import { type Answer, startService, type TestPartner, type TestService } from '../support/service'
import { type Onlooker, openOnlooker } from '../support/storage'
import type { Command } from './commands'
import { OtherProcess } from './other-process'

// Another process takes something from a partner who is booking: the provider, the time, the token. What was answered
// before stays, what is asked for from then on obeys, and nothing is stored behind the command's own commit. Commands that
// are about one slot are the matter of held-slot.test.ts.
setDefaultTimeout(3_600_000)

const dayMillis = 86_400_000
const firstDay = Date.parse('2026-12-01T04:00:00Z')
const roundsOfAWorld = 400
/** Each day's slots of the one provider. */
const starts = ['06:00', '06:45', '07:30', '08:15', '09:00', '09:45', '10:30', '11:15']

const directory = (different: object = {}) => ({
  regions: [region({ id: 31 })],
  providers: [
    provider('a', {
      lastName: 'Only',
      timeZone: 'Etc/UTC',
      workingHours: [daily('06:00', '12:00')],
      ...different,
    }),
    provider('b', { lastName: 'Other', timeZone: 'Etc/UTC', workingHours: [daily('06:00', '12:00')] }),
  ],
})

interface World extends AsyncDisposable {
  readonly service: TestService
  readonly other: OtherProcess
  readonly onlooker: Onlooker
  caller: TestPartner
  /** Who booked last. */
  memberId: number
  readonly providerId: number
}

async function openWorld(): Promise<World> {
  const service = await startService({ now: instant(firstDay), directory: directory() })
  const other = await OtherProcess.on(service.storage)
  const onlooker = openOnlooker(service.storage)
  return {
    service,
    other,
    onlooker,
    caller: await service.addPartner('Lantern'),
    memberId: 0,
    providerId: service.context.directory.listProviders()[0]?.id as number,
    async [Symbol.asyncDispose]() {
      await onlooker[Symbol.asyncDispose]()
      await other[Symbol.asyncDispose]()
      await service.stop()
    },
  }
}

/** What a command takes away, and how it is given back. */
interface Taking {
  readonly name: string
  command(world: World, date: string): Command
  undo(world: World, date: string): Command | null
  /** What bookings are refused with from then on. */
  readonly code: string
  /** What the record of changes names it by; null where it names nothing. */
  readonly noun: 'partner' | 'provider' | null
  /** What somebody else's search shows meanwhile of the provider's day: all that is free, nothing, or no provider. */
  readonly shown: 'free' | 'nothing' | 'no provider'
}

const switching = (noun: 'provider' | 'partner' | 'organization', idOf: (world: World) => number) => ({
  command: (world: World): Command => ({ act: 'deactivate', noun, id: idOf(world) }),
  undo: (world: World): Command => ({ act: 'reactivate', noun, id: idOf(world) }),
})
const absence = (act: 'leave' | 'return') => (world: World, date: string) =>
  ({ act, provider: world.providerId, from: `${date}T00:00:00Z`, until: `${date}T23:00:00Z` }) as const
const ofToken = (act: 'issue' | 'rotate' | 'revoke') => (world: World) =>
  ({ act, partner: world.caller.partner.id }) as const

const takings: readonly Taking[] = [
  {
    name: 'provider deactivate',
    ...switching('provider', ({ providerId }) => providerId),
    code: 'provider_unknown',
    noun: 'provider',
    shown: 'no provider',
  },
  {
    name: 'provider time-off add',
    command: absence('leave'),
    undo: absence('return'),
    code: 'slot_unavailable',
    noun: 'provider',
    shown: 'nothing',
  },
  {
    name: 'directory load',
    command: (_, date) => ({ act: 'load', directory: directory({ overrides: [{ date, windows: [] }] }) }),
    undo: () => ({ act: 'load', directory: directory() }),
    code: 'slot_unavailable',
    noun: 'provider',
    shown: 'nothing',
  },
  {
    name: 'partner deactivate',
    ...switching('partner', ({ caller }) => caller.partner.id),
    code: 'partner_inactive',
    noun: 'partner',
    shown: 'free',
  },
  {
    name: 'organization deactivate',
    ...switching('organization', ({ caller }) => caller.organization?.id as number),
    code: 'organization_deactivated',
    noun: 'partner',
    shown: 'free',
  },
  {
    name: 'token revoke',
    command: ofToken('revoke'),
    undo: ofToken('issue'),
    code: 'token_invalid',
    noun: 'partner',
    shown: 'free',
  },
  {
    name: 'token rotate',
    command: ofToken('rotate'),
    undo: () => null,
    code: 'token_invalid',
    noun: 'partner',
    shown: 'free',
  },
  {
    name: 'member deactivate',
    command: (world) => ({ act: 'deactivate', noun: 'member', id: world.memberId }),
    undo: (world) => ({ act: 'reactivate', noun: 'member', id: world.memberId }),
    code: 'member_deactivated',
    noun: null,
    shown: 'free',
  },
]

const codeOf = ({ status, headers }: Answer) => (status < 300 ? String(status) : headers.get('x-error-code'))
const tally = new Map<string, number>()

/** One round on a day of its own, and what there is to hold against it. */
async function playRound(world: World, round: number, taking: Taking): Promise<string[]> {
  const { service, other, onlooker, providerId } = world
  const random = randomFrom(seed + round)
  const at = firstDay + (round % roundsOfAWorld) * dayMillis
  service.setNow(instant(at))
  const date = instant(at).slice(0, 10)
  const book = (place: number) => {
    const slot = { providerId, utcStartTime: `${date}T${starts[place]}:00Z` }
    return service.post(paths.booking, booking(`m-${round}`, slot), world.caller.token)
  }
  const count = async (from: string) => {
    const [row] = await onlooker.ask<{ count: number }>(`SELECT count(*) AS count FROM ${from}`)
    return row?.count as number
  }
  const held = () =>
    count(`booking_requests WHERE starts_at >= ${at} AND provider_id = ${providerId} AND state = 'pending'`)
  const faults: string[] = []
  const hold = (isSo: boolean, what: string) => {
    if (!isSo) faults.push(what)
  }

  const before = await Promise.all([book(0), book(1)])
  hold(
    before.every(({ status }) => status === 201),
    `before the command: ${before.map(codeOf)}`,
  )
  world.memberId = before[0]?.body.member?.id
  const others = [2, 3, 4, 5].map(async (place) => {
    await Bun.sleep(random() * 4)
    return book(place)
  })
  await Bun.sleep(random() * 4)
  const ended = await other.do(taking.command(world, date), at)
  // From here on the command is known to be done.
  const heldThen = await held()
  const [late, search] = await Promise.all([
    book(6),
    service.get(`${paths.providers}?region_id=31&page_size=100`),
  ])
  const during = await Promise.all(others)
  const stored = during.filter(({ status }) => status === 201).length
  hold(ended.refusal === null, `the command was refused: ${ended.refusal}`)
  hold(codeOf(late) === taking.code, `a booking behind it: ${codeOf(late)}`)
  for (const answer of during) {
    const code = codeOf(answer)
    hold(code === '201' || code === taking.code, `a booking beside it: ${code}`)
    tally.set(`${code}`, (tally.get(`${code}`) ?? 0) + 1)
  }
  hold(heldThen === 2 + stored, `${heldThen} held as it ended, and ${2 + stored} answered`)
  const heldAtLast = await held()
  hold(heldAtLast === 2 + stored, `${heldAtLast} held at last, and ${2 + stored} answered`)
  const behind = await storedBehind()
  hold(behind === 0, `${behind} stored behind its commit`)
  const free = starts.length - 2 - stored
  hold(isShown(search, free), 'the search does not show it')

  const undo = taking.undo(world, date)
  const token = undo ? (await other.do(undo, at)).token : ended.token
  if (token) world.caller = { ...world.caller, token }
  hold((await book(7)).status === 201, 'a booking was refused after all was given back')
  return faults

  /** Slots that were taken in a later transaction than the command's. */
  async function storedBehind(): Promise<number> {
    if (taking.noun === null) return 0
    const commands = `SELECT max(version) FROM changes WHERE noun = '${taking.noun}'`
    return await count(`changes WHERE noun = 'taken' AND version > (${commands})`)
  }

  function isShown({ body }: Answer, free: number): boolean {
    const entries: { providerId: number; availability: { utcStartTime: string }[] }[] = body.results
    const entry = entries.find((one) => one.providerId === providerId)
    if (taking.shown === 'no provider') return entry === undefined
    const slots = entry?.availability.filter(({ utcStartTime }) => utcStartTime.startsWith(date)) ?? []
    return entry !== undefined && slots.length === (taking.shown === 'free' ? free : 0)
  }
}

const rounds = times(50, 10_000)

test(`in ${rounds} rounds a command of another process holds for every booking behind it, and for none before`, async () => {
  const slowest = { round: 0, millis: 0 }
  for (let first = 0; first < rounds; first += roundsOfAWorld) {
    await using world = await openWorld()
    for (let round = first; round < Math.min(rounds, first + roundsOfAWorld); round++) {
      const taking = takings[round % takings.length] as Taking
      const startedAt = performance.now()
      const faults = await playRound(world, round, taking)
      const millis = performance.now() - startedAt
      if (millis > slowest.millis) Object.assign(slowest, { round, millis })
      if (faults.length > 0) expect({ seed, round, command: taking.name, faults }).toEqual({} as never)
    }
  }
  const beside = [...tally].map(([code, times]) => `${code} ${times}`).join(', ')
  tellFigure(
    `commands of another process: ${rounds} rounds, bookings beside them: ${beside}; slowest round ${slowest.millis.toFixed(0)} ms`,
  )
  expect([...tally.keys()]).toEqual(expect.arrayContaining(['201', ...takings.map(({ code }) => code)]))
})
