import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { type Caps, knownPersons, movesFrom, sharedEmails, sharedPersons, type Wardrobe } from './moves'
import type { OracleRequest } from './oracle'
import { carryOut, openWorld, type World } from './world'

// Members of three partners live as the oracle says, whatever is submitted, looked up and moved, and however the clock
// goes on. TEST_LONG=1 lives longer; a failure names the seed and the step, and LIFE_SEED=… lives that life again.
setDefaultTimeout(process.env.TEST_LONG ? 3_600_000 : 60_000)

const steps = 700
const capsTried: readonly Caps[] = [
  { openRequests: 10, emailConflicts: 20 },
  { openRequests: 3, emailConflicts: 4 },
  { openRequests: 1, emailConflicts: 1 },
  { openRequests: null, emailConflicts: null },
]
const seeds = process.env.LIFE_SEED
  ? [Number(process.env.LIFE_SEED)]
  : Array.from({ length: process.env.TEST_LONG ? 400 : 4 }, (_, index) => index + 1)

const plain: Wardrobe = {
  externalUserId: (partner, person) => (person < sharedPersons ? `m-${person}` : `m-${partner}-${person}`),
  email: (partner, email) => `e${email < sharedEmails ? '' : partner}.${email}@example.com`,
  text: (_, name, serial) => `${name} ${serial}`,
}

const seen = new Set<string>()

test.each(seeds)(
  'a life of 700 moves is as foretold, and so is what is kept of it: seed %i',
  async (seed) => {
    await using world = await openWorld(capsTried[seed % capsTried.length] as Caps, plain)
    const next = movesFrom(seed, knownPersons)
    for (let step = 0; step < steps; step++) {
      const move = next()
      const { told, foretold } = await carryOut(world, move)
      seen.add(`${move.act}: ${typeof told === 'string' ? told : (told?.code ?? told?.status ?? 'done')}`)
      if (!Bun.deepEquals(told, foretold))
        expect({ seed, step, move, told }).toEqual({ seed, step, move, told: foretold })
    }
    expect(await keptIn(world)).toEqual(foretoldOf(world))
  },
)

test('such lives meet with everything that can happen', () => {
  if (process.env.LIFE_SEED) return
  const met = (act: string) =>
    [...seen].filter((kind) => kind.startsWith(`${act}: `)).map((kind) => kind.slice(act.length + 2))
  expect(met('submit').sort()).toEqual([
    '201',
    'email_conflicts_limited',
    'email_taken',
    'field_invalid',
    'member_deactivated',
    'organization_deactivated',
    'partner_inactive',
    'provider_unknown',
    'slot_already_yours',
    'slot_conflicts_with_yours',
    'slot_unavailable',
    'token_invalid',
    'too_many_open_requests',
  ])
  for (const act of ['accept', 'decline', 'assign']) {
    expect(met(act)).toEqual(expect.arrayContaining(['done', 'move_unknown']))
  }
  expect(met('look up')).toEqual(expect.arrayContaining(['200', 'member_not_found', 'member_deactivated']))
  expect(met('erase')).toEqual(['done'])
})

/** All that the database holds of members and requests, and of what was done to them. */
async function keptIn({ service, oracle, madeBy }: World) {
  const { store } = service.context
  const audit = await store.listAudit(100_000)
  const requests = await store.listRequests({ intakesOnly: false, unassignedOnly: false })
  const answers = await store.sortingAnswers(requests.map(({ id }) => id))
  const members = await Promise.all(oracle.members.map(({ id }) => store.exportMember(id, service.act())))
  return {
    counts: countsOf(service.databasePath),
    members: members.map(({ member, createdAt, updatedAt }) => ({
      id: member.id,
      partnerId: member.partnerId,
      externalUserId: member.externalUserId,
      active: member.active,
      told: Object.fromEntries(Object.entries(member.profile).filter(([, value]) => value !== null)),
      createdAt,
      updatedAt,
    })),
    requests: requests.map(({ member, localOffsetMinutes, ...request }) => ({
      ...request,
      memberId: member?.id ?? null,
      localOffsetMinutes,
      answers: answers.get(request.id) as unknown,
    })),
    // What was done; look-ups and refused tokens are noted in a time of their own.
    audit: audit
      .filter(
        ({ id, actor, action }) => id > madeBy && (actor === 'test' || action === 'member.email-conflict'),
      )
      .map(({ actor, action, record, outcome }) => `${actor} ${action} ${record} ${outcome}`),
  }
}

function countsOf(path: string) {
  using database = new Database(path, { readonly: true })
  const count = (table: string) =>
    database.query<{ count: number }, []>(`SELECT count(*) AS count FROM ${table}`).get()?.count
  return {
    members: count('members'),
    requests: count('booking_requests'),
    forgotten: count('booking_requests WHERE sealed_screening_answers IS NULL'),
  }
}

/** The same as the oracle has it. */
function foretoldOf({ oracle }: World) {
  const { members, requests, audit, partners } = oracle
  return {
    counts: {
      members: members.length,
      requests: requests.length,
      forgotten: requests.filter(({ answers }) => answers === null).length,
    },
    members: members.map(({ partner, told, ...member }) => ({
      ...member,
      partnerId: partners[partner]?.id ?? 0,
      told: { preferredSpokenLanguage: 'en', ...told },
    })),
    requests: requests.map((request) => ({
      ...request,
      answers: request.answers ?? [],
      localOffsetMinutes: offsetOf(request),
    })),
    audit,
  }
}

/** All providers work by UTC. */
function offsetOf({ startsAt }: OracleRequest): number | null {
  return startsAt === null ? null : 0
}
