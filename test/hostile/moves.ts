import type { Limits } from '../../src/domain/limits'
import type { Body, Told } from './oracle'

// What three partners and the operator do, at random and from a seed, in words of places and numbers: a world has its
// own ids, tokens and texts for them.

/** Numbers in [0, 1) that a seed decides (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export const partnerCount = 3
/** The first two partners share an organization. */
export const organizationOf = [0, 0, 1]

/** When the slots of a day start, in minutes after midnight UTC: slots of one provider overlap with those of the others. */
export const startsOf = [
  [540, 585, 630, 675],
  [570, 615, 660, 705],
  [600, 645],
]
/** How the directory file tells the same. */
export const hoursOf = [
  ['09:00', '12:00'],
  ['09:30', '12:30'],
  ['10:00', '11:30'],
] as const

export type Caps = Pick<Limits, 'openRequests' | 'emailConflicts'>

export interface Submitted {
  readonly act: 'submit'
  readonly partner: number
  readonly isStale: boolean
  /** A number that names the person among those of the partner. */
  readonly person: number
  readonly email: number
  readonly isUpperCase: boolean
  /** Null for an intake. */
  readonly slot: { readonly provider: number; readonly days: number; readonly minutes: number } | null
  /** Optional members, each sent with a text, an empty text or a value of the few that it may have. */
  readonly more: Readonly<Record<string, string | null>>
  readonly answers: number
  /** What its texts are told from others by. */
  readonly serial: number
}

/** Requests are counted from the newest back. */
export type Move =
  | Submitted
  | { readonly act: 'look up'; readonly partner: number; readonly isStale: boolean; readonly person: number }
  | { readonly act: 'search'; readonly partner: number; readonly page: number; readonly pageSize: number }
  /** By so many minutes; or to so many behind the start of the next slot, or of the next that somebody holds. */
  | { readonly act: 'tick'; readonly minutes: number; readonly to: 'any' | 'held' | null }
  | { readonly act: 'accept' | 'decline'; readonly request: number }
  | {
      readonly act: 'assign'
      readonly request: number
      readonly slot: Submitted['slot']
      readonly provider: number
    }
  | { readonly act: 'erase' | 'release'; readonly partner: number; readonly person: number }
  | {
      readonly act: 'switch member'
      readonly partner: number
      readonly person: number
      readonly active: boolean
    }
  | { readonly act: 'switch provider'; readonly provider: number; readonly active: boolean }
  | {
      readonly act: 'switch partner' | 'switch organization'
      readonly partner: number
      readonly active: boolean
    }
  | { readonly act: 'rotate' | 'revoke' | 'issue'; readonly partner: number }

/** Persons whom all partners know by the same id, and those of one partner alone. */
export const [sharedPersons, knownPersons] = [5, 8]
/** Addresses that all partners try; behind them each person has one of their own. */
export const sharedEmails = 8
/** The text for a member that is sent with a text of the partner's own. */
export const ownText = null

const freeTexts = [
  'preferredName',
  'gender',
  'clientType',
  'suite',
  'city',
  'reasonForSeekingSupport',
  'preferredModality',
]

/** Makes moves one after another, without end. @param persons how many of each partner take part */
export function movesFrom(seed: number, persons: number): () => Move {
  const random = randomFrom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const chance = (share: number) => random() < share
  let serial = 0

  const slot = () => {
    const provider = chance(0.04) ? startsOf.length : below(startsOf.length)
    const starts = startsOf[provider] ?? [540]
    const start = starts[below(starts.length)] ?? 0
    return {
      provider,
      days: chance(0.05) ? 29 + below(3) : below(3),
      minutes: chance(0.05) ? start + 15 : start,
    }
  }

  const optional = () => {
    const more: Record<string, string | null> = {}
    for (const name of freeTexts) if (chance(0.3)) more[name] = chance(0.3) ? '' : ownText
    if (chance(0.3)) more.phoneNumber = ownText
    if (chance(0.2)) more.dob = chance(0.1) ? '9999-01-01' : `199${below(10)}-02-2${below(9)}`
    if (chance(0.2)) more.leaveVoicemail = chance(0.5) ? 'Yes' : 'No'
    if (chance(0.3)) more.preferredSpokenLanguage = ['en', 'fr', 'fr-CA', 'es'][below(4)] ?? 'en'
    return more
  }

  const someone = () => ({ partner: below(partnerCount), person: below(persons) })
  const email = (person: number) => (chance(0.6) ? sharedEmails + person : below(sharedEmails + persons))

  const submit = ({ partner, person } = someone()): Submitted => ({
    act: 'submit',
    partner,
    isStale: chance(0.02),
    person,
    email: email(person),
    isUpperCase: chance(0.3),
    slot: chance(0.75) ? slot() : null,
    more: optional(),
    answers: below(3),
    serial: serial++,
  })

  const tick = (): Move => {
    const to = (['any', 'held', 'held', null, null] as const)[below(5)] ?? null
    const minutes = to ? [0, 0, 1, 20, 44, 45] : [1, 7, 15, 30, 45, 60, 240, 600]
    return { act: 'tick', minutes: minutes[below(minutes.length)] ?? 0, to }
  }
  const kinds: readonly [share: number, make: () => Move][] = [
    [48, () => submit()],
    [14, () => ({ act: 'look up', ...someone(), isStale: chance(0.02) })],
    [8, () => ({ act: 'search', partner: below(partnerCount), page: 1 + below(3), pageSize: 1 + below(3) })],
    [8, tick],
    [3, () => ({ act: 'accept', request: below(25) })],
    [6, () => ({ act: 'decline', request: below(25) })],
    [6, () => ({ act: 'assign', request: below(25), slot: chance(0.7) ? slot() : null, provider: below(3) })],
    [4, () => ({ act: 'switch member', ...someone(), active: chance(0.6) })],
    [2, () => ({ act: 'erase', ...someone() })],
    [2, () => ({ act: 'release', ...someone() })],
    [1, () => ({ act: 'switch provider', provider: below(3), active: chance(0.8) })],
    [1, () => ({ act: 'switch partner', partner: below(partnerCount), active: chance(0.8) })],
    [0.8, () => ({ act: 'switch organization', partner: below(partnerCount), active: chance(0.8) })],
    [0.5, () => ({ act: 'rotate', partner: below(partnerCount) })],
    [0.3, () => ({ act: 'revoke', partner: below(partnerCount) })],
    [3, () => ({ act: 'issue', partner: below(partnerCount) })],
  ]
  const total = kinds.reduce((sum, [share]) => sum + share, 0)
  return () => {
    let place = random() * total
    const [, make] = kinds.find(([share]) => {
      place -= share
      return place < 0
    }) ?? [0, () => submit()]
    return make()
  }
}

/** How a world words what partners send. */
export interface Wardrobe {
  externalUserId(partner: number, person: number): string
  email(partner: number, email: number): string
  /** A text that no other submission has. */
  text(partner: number, name: string, serial: number): string
}

/** What a move of a partner's and of the operator has come to. */
export interface Outcome {
  readonly told: Told | string | null
  readonly foretold: Told | string | null
}

/** A submission as it is sent. @param slot its provider's id and start, null for an intake */
export function bodyOf(
  move: Submitted,
  { externalUserId, email, text }: Wardrobe,
  bookingData: Body['bookingData'] | null,
): Body {
  const { partner, person, isUpperCase, serial } = move
  const address = email(partner, move.email)
  const own = (name: string) => {
    const digits = String(1_000_000 + ((serial * 7_919 + partner) % 1_000_000))
    return name === 'phoneNumber'
      ? `+1 (${text(partner, name, serial).replace(/\D/g, '').slice(0, 3)}) ${digits}`
      : text(partner, name, serial)
  }
  const more = Object.entries(move.more).map(([name, value]) => [name, value ?? own(name)])
  return {
    user: { external_user_id: externalUserId(partner, person) },
    ...(bookingData && { bookingData }),
    memberData: {
      email: isUpperCase ? address.toUpperCase() : address,
      firstName: own('firstName'),
      lastName: own('lastName'),
      country: serial % 2 ? 'CA' : 'us',
      ...Object.fromEntries(more),
    },
    phq9Data: Array.from({ length: move.answers }, (_, i) => ({
      question: own(`question${i}`),
      answer: own(`answer${i}`),
    })),
  }
}
