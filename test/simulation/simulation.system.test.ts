import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { isLong, times } from '../support/long'
import { diceFrom } from './dice'
import { directoryFileFrom, withKnownRegions } from './directory-files'
import { type Caps, knownPersons, type Move, movesFrom } from './moves'
import { dropTemplate } from './running'
import { dayMillis } from './wall-clock'
import { carryOut, openWorld } from './world'

// Each run makes random moves from its seed. Partners, staff and other processes act, the clock advances, and the
// service crashes. Every response must match the oracle. From time to time, all visible data must match too.
// TEST_LONG=1 makes 10,000 runs. A failure prints the seed and the step. SIMULATION_SEED=<seed> repeats one run with a
// log.
setDefaultTimeout(isLong ? 14_400_000 : 300_000)

afterAll(dropTemplate)

const steps = times(32, 90)
const again = process.env.SIMULATION_SEED
/** Seeds whose runs have rare outcomes. */
const rare = [
  93, 97, 100, 109, 114, 129, 137, 139, 148, 149, 152, 154, 161, 167, 171, 173, 175, 176, 181, 186, 187, 189,
  196, 199, 203, 207, 210, 214, 223, 234, 241, 244, 250, 251,
]
const first = Array.from({ length: times(90, 10_000) }, (_, index) => index + 1)
const seeds = again ? [Number(again)] : [...new Set([...first, ...rare])]

/** Start times of the runs. Most are shortly before an unusual date, for example a clock change or a leap day. */
const beginnings = [
  '2026-10-22T11:00:00Z',
  '2026-12-29T22:30:00Z',
  '2027-02-26T13:05:00Z',
  '2027-03-11T15:00:00Z',
  '2028-02-25T09:00:00Z',
  '2026-06-15T18:00:00Z',
].map((at) => Date.parse(at))

const capsTried: readonly Caps[] = [
  { openRequests: 10, emailConflicts: 20 },
  { openRequests: 2, emailConflicts: 3 },
  { openRequests: 1, emailConflicts: 1 },
  { openRequests: null, emailConflicts: null },
]

const seen = new Set<string>()

async function live(seed: number, tell: (line: string) => void): Promise<void> {
  const dice = diceFrom(seed)
  const startsAt = dice.pick(beginnings)
  const today = Math.floor(startsAt / dayMillis)
  await using world = await openWorld(startsAt, dice.pick(capsTried))
  const next = movesFrom({ dice, persons: knownPersons - 2, today })
  const first: Move = { act: 'load', via: 0, file: withKnownRegions(directoryFileFrom(dice, today)) }
  for (let step = 0; step <= steps; step++) {
    const move = step === 0 ? first : step === steps ? ({ act: 'census' } as const) : next()
    tell(`${step} ${new Date(world.oracle.now).toISOString()} ${JSON.stringify(move)}`)
    try {
      const { actual, expected, since = [] } = await carryOut(world, move)
      tell(`  ${JSON.stringify(actual)}`)
      seen.add(kindOf(move, actual))
      for (const one of since) seen.add(`${kindOf(move, actual)}, ${one}`)
      if (!Bun.deepEquals(actual, expected)) expect(actual).toEqual(expected)
    } catch (error) {
      throw new Error(`SIMULATION_SEED=${seed}, step ${step}: ${JSON.stringify(move)}\n${error}`)
    }
  }
}

function kindOf({ act }: Move, actual: unknown): string {
  if (typeof actual === 'string') return `${act}: ${actual}`
  const { status, code, replayed } = Object(actual)
  return `${act}: ${code ?? (replayed ? 'replayed' : status) ?? 'done'}`
}

test(`simulation: every response and record of ${seeds.length} random runs matches the oracle`, async () => {
  for (const one of seeds) await live(one, again ? console.log : () => {})
})

test('simulation: the random runs cover every outcome', () => {
  if (again) return
  const met = (act: string) =>
    [...seen].filter((kind) => kind.startsWith(`${act}: `)).map((kind) => kind.slice(act.length + 2))
  const atTheGate = [
    'missing_claim',
    'organization_deactivated',
    'organization_not_configured',
    'partner_inactive',
    'partner_not_found',
    'token_invalid',
  ]
  expect(met('submit').sort()).toEqual(
    [
      ...atTheGate,
      '201',
      'email_conflicts_limited',
      'email_taken',
      'field_invalid',
      'idempotency_key_reused',
      'member_deactivated',
      'provider_unknown',
      'slot_already_yours',
      'slot_conflicts_with_yours',
      'slot_unavailable',
      'too_many_open_requests',
    ].sort(),
  )

  // Within a day, a retry gets the first response, except after the member was erased. After a day, a retry is a new
  // request. A key that only another partner has sent makes a new request too.
  expect(met('retry')).toEqual(
    expect.arrayContaining([
      ...['pending', 'accepted', 'declined', 'unassigned', 'of a member who is deactivated', 'reopened'].map(
        (fate) => `replayed, ${fate} within a day`,
      ),
      'idempotency_key_reused, pending within a day',
      'idempotency_key_reused, reopened within a day',
      '201, erased within a day',
      '201, pending after a day',
      '201, reopened after a day',
      'slot_already_yours, pending after a day',
      '201, of another partner',
      'email_taken, of another partner',
      '201, refused',
      'slot_unavailable, refused',
      ...atTheGate,
    ]),
  )
  expect(met('retry').filter((kind) => /^replayed.*(after|erased|refused)/.test(kind))).toEqual([])
  const searches = ['200', 'page_out_of_range', 'region_outside_country', 'region_required', 'region_unknown']
  expect(met('search')).toEqual(expect.arrayContaining([...searches, ...atTheGate]))
  expect(met('search')).toEqual(expect.arrayContaining(['200, again 304', '200, again 200']))
  expect(met('look up')).toEqual(expect.arrayContaining(['200', 'member_not_found', 'member_deactivated']))
  for (const act of ['accept', 'decline', 'assign', 'close', 'move']) {
    expect(met(act)).toEqual(expect.arrayContaining(['done', 'move_unknown', 'record_unknown']))
  }
  expect(met('assign')).toEqual(expect.arrayContaining(['slot_unavailable', 'slot_conflicts_with_yours']))
  expect(met('move')).toContain('slot_unavailable')
  expect(met('issue')).toEqual(expect.arrayContaining(['done', 'token_exists']))
  expect(met('rotate')).toEqual(expect.arrayContaining(['done', 'field_invalid', 'record_unknown']))
  for (const act of [
    'erase',
    'flush',
    'crash',
    'crash amid',
    'restart',
    'second',
    'load',
    'revoke',
    'decline all',
  ]) {
    expect(met(act)).toContain('done')
  }
})
