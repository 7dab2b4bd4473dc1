import type { DirectoryFile } from '../../src/directory-files/document'
import type { Limits } from '../../src/domain/limits'
import type { Dice } from './dice'
import { absenceFrom, directoryFileFrom, providerCount, regionIds, withKnownRegions } from './directory-files'
import type { Body } from './oracle'
import type { Absence } from './oracle-directory'

// Random moves of partners, operators and the world, chosen from a seed. Moves refer to records by index. Each world maps
// the indexes to its own ids, tokens and texts.

export const partnerCount = 4
export const organizationOf: readonly (number | null)[] = [0, 0, 1, null]
export const organizationCount = 2

export type Caps = Pick<Limits, 'openRequests' | 'emailConflicts'>

export type TokenChoice = 'in force' | 'forged' | 'of nobody' | 'without a key' | { readonly old: number }

export interface SlotChoice {
  /** The index of the provider. An index past the last provider means an unknown provider. */
  readonly provider: number
  /**
   * The list to choose from. `held`: slots of the provider's requests. `mine`: slots of the member's requests. `grid`:
   * all slots of the working hours.
   */
  readonly of: 'soon' | 'offered' | 'held' | 'mine' | 'overlapping mine' | 'grid'
  readonly pick: number
  /** Minutes to add to the start of the chosen slot. */
  readonly aside: number
}

interface Called {
  readonly partner: number
  readonly token: TokenChoice
  readonly via: number
}

interface Named {
  readonly partner: number
  readonly person: number
}

/** `own` is a new key. `sent` is the index of a key that the partner has sent before. */
export type KeyChoice = 'none' | 'own' | { readonly sent: number }

export interface Submitted extends Called, Named {
  readonly act: 'submit'
  readonly email: number
  readonly isUpperCase: boolean
  readonly slot: SlotChoice | null
  /** Optional fields of memberData. Null stands for a unique text. */
  readonly more: Readonly<Record<string, string | null>>
  readonly answers: number
  readonly key: KeyChoice
  /** Makes the texts of this submission unique. */
  readonly serial: number
}

export interface Retried extends Called {
  readonly act: 'retry'
  /**
   * `own and moved` selects requests whose booking or intake has changed since. `another` selects requests of other
   * partners.
   */
  readonly of: 'own' | 'own and moved' | 'another'
  readonly sent: number
  readonly isSpaced: boolean
}

export interface Searched extends Called {
  readonly act: 'search'
  readonly query: Readonly<Record<string, string | number>>
}

/** Moves the clock to the next event of a kind, plus an offset in ms. */
export interface Tick {
  readonly act: 'tick'
  readonly to: 'now' | 'slot' | 'held' | 'date' | 'month' | 'clock change' | 'cutover' | 'expiry'
  readonly millis: number
}

/** `request` is the index of a request. The newest request has index 0. */
export type RequestMove = { readonly via: number; readonly request: number } & (
  | { readonly act: 'accept' | 'decline' | 'close' | 'read answers' }
  | { readonly act: 'move'; readonly slot: SlotChoice }
  | {
      readonly act: 'assign'
      readonly ofIntakes: boolean
      readonly provider: number
      readonly slot: SlotChoice | null
    }
)

export type MemberMove = { readonly via: number } & Named &
  (
    | { readonly act: 'erase' }
    | { readonly act: 'release' }
    | { readonly act: 'find by email' }
    | { readonly act: 'switch member'; readonly active: boolean }
  )

export type TokenMove = { readonly via: number; readonly partner: number } & (
  | { readonly act: 'revoke' | 'issue' }
  /** The cutover, in ms from now. */
  | { readonly act: 'rotate'; readonly cutover: number }
)

export type StaffMove = { readonly via: number } & (
  | { readonly act: 'load'; readonly file: DirectoryFile }
  | { readonly act: 'switch provider'; readonly provider: number; readonly active: boolean }
  | { readonly act: 'add time off' | 'remove time off'; readonly provider: number; readonly absence: Absence }
  | { readonly act: 'switch partner'; readonly partner: number; readonly active: boolean }
  | { readonly act: 'switch organization'; readonly organization: number; readonly active: boolean }
  | { readonly act: 'join'; readonly partner: number; readonly organization: number | null }
  /** Declines a partner's requests of the last `since` ms. */
  | { readonly act: 'decline all'; readonly partner: number; readonly since: number }
)

export type Upheaval =
  /** Crashes, then opens a copy of the database files (`copy`) or the same files (`files`). */
  | { readonly act: 'crash'; readonly keeps: 'copy' | 'files' }
  /** Crashes after `answered` of the submissions have a response. Opens a copy of the files. */
  | { readonly act: 'crash amid'; readonly asked: readonly Submitted[]; readonly answered: number }
  | { readonly act: 'restart' }
  | { readonly act: 'second' }
  /** Writes the audit lines that are still in memory, and removes expired replays. */
  | { readonly act: 'flush' }
  | { readonly act: 'census' }

export type Move =
  | Submitted
  | Retried
  | (Called & Named & { readonly act: 'look up' })
  | Searched
  | (Called & { readonly act: 'regions'; readonly query: Readonly<Record<string, string | number>> })
  | Tick
  | RequestMove
  | MemberMove
  | TokenMove
  | StaffMove
  | Upheaval

/** Persons of each partner. The first `sharedPersons` have the same external user id at every partner. */
export const [sharedPersons, knownPersons] = [4, 6]
/** The number of email addresses that all partners use. */
export const sharedEmails = 5
/** A placeholder for a text that only one partner uses. */
export const ownText = null

const freeTexts = ['preferredName', 'gender', 'suite', 'city', 'reasonForSeekingSupport', 'preferredModality']

export interface Chooser {
  readonly dice: Dice
  /** The number of persons of each partner. */
  readonly persons: number
  /** The day on which the world begins, in days since 1970-01-01. */
  readonly today: number
}

export function movesFrom({ dice, persons, today }: Chooser): () => Move {
  const { below, chance, pick } = dice
  let serial = 0

  // The first partner acts more often, so that conflicts occur in a short run.
  const partner = () => (chance(0.4) ? 0 : below(partnerCount))
  const someone = () => ({ partner: partner(), person: below(persons) })
  const via = () => (chance(0.3) ? 1 : 0)
  const token = (): TokenChoice =>
    chance(0.94) ? 'in force' : pick([{ old: below(4) }, 'forged', 'of nobody', 'without a key'])
  const called = () => ({ partner: partner(), token: token(), via: via() })

  const slot = (): SlotChoice => ({
    provider: chance(0.03) ? providerCount : below(providerCount),
    of: dice.weighed<SlotChoice['of']>([
      [50, () => 'soon'],
      [14, () => 'offered'],
      [6, () => 'held'],
      [5, () => 'mine'],
      [10, () => 'overlapping mine'],
      [16, () => 'grid'],
    ]),
    pick: below(1_000),
    aside: chance(0.04) ? pick([-15, 15, 45]) : 0,
  })

  const optional = () => {
    const more: Record<string, string | null> = {}
    for (const name of freeTexts) if (chance(0.2)) more[name] = chance(0.3) ? '' : ownText
    if (chance(0.2)) more.phoneNumber = ownText
    if (chance(0.2)) more.dob = chance(0.1) ? '9999-01-01' : `199${below(10)}-02-2${below(9)}`
    if (chance(0.1)) more.leaveVoicemail = pick(['Yes', 'No'])
    if (chance(0.2)) more.preferredSpokenLanguage = pick(['en', 'fr', 'fr-CA', 'es'])
    return more
  }

  const submit = (): Submitted => {
    const who = someone()
    return {
      act: 'submit',
      ...called(),
      ...who,
      email: chance(0.6) ? sharedEmails + who.person : below(sharedEmails + persons),
      isUpperCase: chance(0.3),
      slot: chance(0.75) ? slot() : null,
      more: optional(),
      answers: below(3),
      key: dice.weighed<KeyChoice>([
        [5, () => 'none'],
        [5, () => 'own'],
        [1, () => ({ sent: below(100) })],
      ]),
      serial: serial++,
    }
  }

  const retry = (): Retried => ({
    act: 'retry',
    ...called(),
    of: pick(['own', 'own', 'own and moved', 'own and moved', 'own and moved', 'another'] as const),
    sent: below(100),
    isSpaced: chance(0.15),
  })

  const paging = () => ({
    ...(chance(0.4) && { page: 1 + below(3) }),
    ...(chance(0.6) && { page_size: 1 + below(4) }),
  })
  const search = (): Searched => ({
    act: 'search',
    ...called(),
    query: {
      ...(chance(0.75) && { region_id: chance(0.05) ? 77 : chance(0.7) ? regionIds[0] : pick(regionIds) }),
      ...(chance(0.35) && { country_code: pick(['CA', 'GB', 'gb', 'IE', 'NL']) }),
      ...(chance(0.2) && { modality: pick(['in-person', 'telephonic', 'in-video']) }),
      ...(chance(0.2) && { language: pick(['en', 'fr', 'fr-CA', 'FR-fr']) }),
      ...paging(),
    },
  })

  const tick = (): Tick => {
    const to = pick([
      'now',
      'now',
      'now',
      'slot',
      'slot',
      'held',
      'held',
      'date',
      'month',
      'clock change',
      'cutover',
      'expiry',
    ] as const)
    const minutes = pick([1, 15, 45, 59, 60, 240, 600, 1_440, 2_880, 14_400])
    const millis =
      to === 'now' ? minutes * 60_000 - below(60_000) : pick([-1, 0, 0, 1, 60_000, 1_200_000, 2_700_000])
    return { act: 'tick', to, millis }
  }

  const ofRequest = () => ({ via: via(), request: below(14) })
  const assign = (): Move => ({
    act: 'assign',
    via: via(),
    request: below(chance(0.9) ? 3 : 14),
    ofIntakes: chance(0.85),
    provider: below(providerCount),
    slot: chance(0.75) ? { ...slot(), ...(chance(0.4) && { of: 'overlapping mine' as const }) } : null,
  })
  const moveTo = (): Move => ({
    act: 'move',
    ...ofRequest(),
    slot: { ...slot(), ...(chance(0.3) && { of: 'overlapping mine' as const }) },
  })
  const ofMember = () => ({ via: via(), ...someone() })
  const ofPartner = () => ({ via: via(), partner: partner() })
  const ofProvider = () => ({ via: via(), provider: below(providerCount) })
  const timeOff = (act: 'add time off' | 'remove time off'): Move => ({
    act,
    ...ofProvider(),
    absence: absenceFrom(dice, today),
  })
  const load = (): Move => ({
    act: 'load',
    via: via(),
    file: withKnownRegions(directoryFileFrom(dice, today)),
  })
  const amid = (): Move => ({
    act: 'crash amid',
    asked: Array.from({ length: 2 + below(5) }, (_, place) => ({
      ...submit(),
      via: 0,
      partner: 0,
      person: 50 + serial,
      email: sharedEmails + 50 + serial,
      slot: place % 2 ? { provider: below(providerCount), of: 'soon', pick: place, aside: 0 } : null,
      more: {},
      key: chance(0.6) ? 'own' : 'none',
    })),
    answered: below(4),
  })

  const everyday: readonly (readonly [share: number, make: () => Move])[] = [
    [44, submit],
    [13, retry],
    [12, () => ({ act: 'look up', ...called(), ...someone() })],
    [11, search],
    [
      2,
      () => ({
        act: 'regions',
        ...called(),
        query: { country_code: pick(['CA', 'gb', 'IE', 'NL']), ...paging() },
      }),
    ],
    [17, tick],
    [4, () => ({ act: 'accept', ...ofRequest() })],
    [6, () => ({ act: 'decline', ...ofRequest() })],
    [9, assign],
    [4, moveTo],
    [2, () => ({ act: 'close', ...ofRequest() })],
    [1, () => ({ act: 'read answers', ...ofRequest() })],
    [5, () => ({ act: 'switch member', ...ofMember(), active: chance(0.5) })],
    [2, () => ({ act: 'erase', ...ofMember() })],
    [2, () => ({ act: 'release', ...ofMember() })],
    [1, () => ({ act: 'find by email', ...ofMember() })],
    [2, () => ({ act: 'switch provider', ...ofProvider(), active: chance(0.7) })],
    [2, () => timeOff('add time off')],
    [1, () => timeOff('remove time off')],
    [1.5, () => ({ act: 'switch partner', ...ofPartner(), active: chance(0.8) })],
    [
      1,
      () => ({
        act: 'switch organization',
        via: via(),
        organization: below(organizationCount),
        active: chance(0.8),
      }),
    ],
    [1, () => ({ act: 'join', ...ofPartner(), organization: chance(0.2) ? null : below(organizationCount) })],
    [3, () => ({ act: 'rotate', ...ofPartner(), cutover: pick([0, 0, -1, 60_000, 3_600_000, 86_400_000]) })],
    [1.2, () => ({ act: 'revoke', ...ofPartner() })],
    [3, () => ({ act: 'issue', ...ofPartner() })],
    [2, load],
    [1, () => ({ act: 'decline all', ...ofPartner(), since: pick([0, 3_600_000, 864_000_000]) })],
  ]
  const rare: typeof everyday = [
    [1, () => ({ act: 'crash', keeps: pick(['copy', 'files'] as const) })],
    [1, amid],
    [0.5, () => ({ act: 'restart' })],
    [1, () => ({ act: 'second' })],
    [1, () => ({ act: 'flush' })],
    [1.5, () => ({ act: 'census' })],
  ]
  return () => dice.weighed([...everyday, ...rare])
}

export const externalUserIdOf = (partner: number, person: number) =>
  person < sharedPersons ? `m-${person}` : `m-${partner}-${person}`

export const emailOf = (partner: number, email: number) =>
  `e${email < sharedEmails ? '' : partner}.${email}@example.com`

export interface Outcome {
  readonly actual: unknown
  readonly expected: unknown
  readonly since?: readonly string[]
}

/** The body of a submission. @param bookingData null for an intake */
export function bodyOf(move: Submitted, bookingData: Body['bookingData'] | null): Body {
  const { partner, person, isUpperCase, serial } = move
  const address = emailOf(partner, move.email)
  const own = (name: string) => {
    const digits = String(1_000_000 + ((serial * 7_919 + partner) % 1_000_000))
    return name === 'phoneNumber' ? `+1 (${String(serial).slice(0, 3)}) ${digits}` : `${name} ${serial}`
  }
  const more = Object.entries(move.more).map(([name, value]) => [name, value ?? own(name)])
  return {
    user: { external_user_id: externalUserIdOf(partner, person) },
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
