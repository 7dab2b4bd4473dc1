import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { diceFrom } from '../simulation/dice'
import { directoryFileFrom, withKnownRegions } from '../simulation/directory-files'
import {
  knownPersons,
  type Move,
  movesFrom,
  partnerCount,
  sharedEmails,
  sharedPersons,
  type Wardrobe,
} from '../simulation/moves'
import { baseUrl, dropTemplate } from '../simulation/running'
import { dayMillis } from '../simulation/wall-clock'
import { carryOut, openWorld, type World } from '../simulation/world'
import type { Answer } from '../support/service'

// Two worlds in which one partner, who is watched, does the same. All that the others tell of their members is other in
// each world, and in the second they have members more. Whatever the watched partner is answered must be the same in
// both, byte for byte, ids apart: then nothing of it depends on the others, but for what is the same in both worlds on
// purpose: which slots are taken, and that an address of another's member is (decisions, Order of checks).
// TEST_LONG=1 goes on for 500,000 moves; a failure names its seed and step, and ISOLATION_SEED=… makes them again.
setDefaultTimeout(process.env.TEST_LONG ? 3_600_000 : 300_000)
afterAll(dropTemplate)

const steps = 840
const startedAt = Date.parse('2026-12-01T00:00:00Z')
const seeds = process.env.ISOLATION_SEED
  ? [Number(process.env.ISOLATION_SEED)]
  : Array.from({ length: process.env.TEST_LONG ? 600 : 2 }, (_, index) => index + 1)
/** Behind the persons whom a partner knows: ids that belong to persons of others. */
const stolenPersons = 6
/** Behind them: persons of whom one world alone knows. */
const ghosts = 100

// Each private text has such a mark: zq, whose, in which world (o in both), of what, z.
const marks = /zq(\d)(?:o|w\d)[a-z]*\d+z/gi

/** How a world words what partners send: those who are not watched, otherwise than the other world. */
function wardrobeOf(world: number, watched: number): Wardrobe {
  const mark = (partner: number, what: string) =>
    `zq${partner}${partner === watched ? 'o' : `w${world}`}${what}z`
  const ownId = (partner: number, person: number) => `x-${mark(partner, `p${person}`)}`
  return {
    externalUserId(partner, person) {
      if (person < sharedPersons) {
        return `m-${partner === watched ? person : (person + world) % sharedPersons}`
      }
      if (person < knownPersons || person >= ghosts) return ownId(partner, person)
      // As the first world has it, in both.
      const victim = (partner + 1 + (person % 2)) % partnerCount
      const known = sharedPersons + (person % (knownPersons - sharedPersons))
      return wardrobeOf(0, -1).externalUserId(victim, known)
    },
    email: (partner, email) =>
      `${email < sharedEmails ? `shared.${email}` : mark(partner, `e${email}`)}@example.com`,
    text: (partner, name, serial) => `${name.replace(/\d/g, '')} ${mark(partner, `s${serial}`)}`,
  }
}

/** What partners who are not watched do in one world alone: nothing that takes a slot or claims an address of another. */
function ghostMovesFrom(seed: number, watched: number): () => Move | null {
  const { below, chance } = diceFrom(seed)
  let serial = 1_000_000
  return () => {
    if (chance(0.7)) return null
    const partner = (watched + 1 + below(partnerCount - 1)) % partnerCount
    const person = ghosts + below(4)
    const who = { partner, person, via: 0 }
    const kind = below(8)
    if (kind === 0) return { act: 'erase', ...who }
    if (kind === 1) return { act: 'switch member', ...who, active: chance(0.6) }
    const token = kind === 3 ? 'forged' : 'in force'
    if (kind < 4) return { act: 'look up', ...who, token }
    const more = kind === 4 ? { dob: '9999-01-01' } : { preferredName: null, phoneNumber: null }
    const told = {
      email: sharedEmails + person,
      isUpperCase: kind === 5,
      slot: null,
      more,
      answers: 2,
      key: 'none' as const,
    }
    return { act: 'submit', ...who, token, ...told, serial: serial++ }
  }
}

const headersOf = ({ headers }: Answer) =>
  [...headers].filter(([name]) => !['date', 'x-request-id', 'content-length'].includes(name))

/** An answer as the other world must give it: what the service chose is named by the order in which it was told. */
function comparable(world: World, told: unknown, names: Map<string, number>): unknown {
  if (!world.last) return told
  function name(this: object, key: string, value: unknown): unknown {
    if (!/^(id|authorizationNumber)$/.test(key) || value === null) return value
    const chosen = `${'firstName' in this ? 'member' : 'request'} ${value}`
    if (!names.has(chosen)) names.set(chosen, names.size)
    return names.get(chosen)
  }
  const text = JSON.stringify({ told, headers: headersOf(world.last) }, name)
  return text.replaceAll(baseUrl, '')
}

/** What of others' was told to a partner who has not sent it in the very same request. */
function leaksIn({ last, wardrobe }: World, move: Move): string[] {
  if (!last || !('partner' in move)) return []
  const whole = JSON.stringify([last.body, headersOf(last)])
  const sent = 'person' in move ? wardrobe.externalUserId(move.partner, move.person) : ''
  return Array.from(whole.matchAll(marks))
    .filter(([mark, owner]) => Number(owner) !== move.partner && !sent.includes(mark))
    .map(([mark]) => mark)
}

/** Carries a move out in a world, where it must come to what the oracle of that world says. */
async function happens(world: World, move: Move, where: object): Promise<unknown> {
  const { told, foretold } = await carryOut(world, move)
  if (!Bun.deepEquals(told, foretold))
    expect({ ...where, move, told }).toEqual({ ...where, move, told: foretold })
  const leaks = leaksIn(world, move)
  if (leaks.length > 0) expect({ ...where, move, leaks }).toEqual({ ...where, move, leaks: [] })
  return told
}

test.each(seeds)('of 840 moves one partner sees nothing of the others: seed %i', async (seed) => {
  const watched = seed % partnerCount
  const caps =
    seed % 2 ? { openRequests: 3, emailConflicts: 5 } : { openRequests: null, emailConflicts: null }
  await using plain = await openWorld(startedAt, caps, wardrobeOf(0, watched))
  await using other = await openWorld(startedAt, caps, wardrobeOf(1, watched))
  const dice = diceFrom(seed)
  const today = startedAt / dayMillis
  const load: Move = { act: 'load', via: 0, file: withKnownRegions(directoryFileFrom(dice, today)) }
  for (const world of [plain, other]) await happens(world, load, { seed })
  const persons = knownPersons + stolenPersons
  const next = movesFrom({ dice, persons, today, upheavals: false })
  const nextGhost = ghostMovesFrom(seed, watched)
  const names = [new Map<string, number>(), new Map<string, number>()] as const
  for (let step = 0; step < steps; step++) {
    const ghost = nextGhost()
    const known = other.requests.length
    if (ghost) await happens(other, ghost, { seed, step, world: 'ghosts' })
    other.requests.length = known
    const move = next()
    const told = await happens(plain, move, { seed, step, world: 0 })
    const toldOther = await happens(other, move, { seed, step, world: 1 })
    if (plain.last && 'partner' in move && move.partner === watched) {
      const [seen, seenOther] = [comparable(plain, told, names[0]), comparable(other, toldOther, names[1])]
      if (seen !== seenOther)
        expect({ seed, step, move, seen }).toEqual({ seed, step, move, seen: seenOther })
    }
  }
})
