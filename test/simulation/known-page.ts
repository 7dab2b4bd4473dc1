import { paths } from '../contract/contract'
import type { Dice } from './dice'
import type { TokenChoice } from './moves'
import type { Query, Told } from './oracle-answers'
import { search } from './oracle-search'
import { callerOf } from './partner-moves'
import {
  type acceptances,
  type Coding,
  faultsOf,
  opaque,
  pathTo,
  type Received,
  type Sent,
  send,
} from './raw-pages'
import { baseUrl, type Running } from './running'
import { urlOf, type World } from './world'

/** What was given under a tag. */
interface Given {
  readonly text: string
  readonly tag: string
  /** How it was coded; null where nobody was told. */
  readonly coding: Coding | null
}

/** A search that is made again and again, and what a client remembers of it. */
export class KnownPage {
  /** By their tags. */
  readonly #given = new Map<string, Given>()
  /** The tag and the body that were last heard of. */
  #last: { readonly text: string; readonly tag: string } | null = null

  constructor(
    readonly query: Query,
    readonly path: string,
  ) {}

  /** The body that it must have now, worked out from nothing. */
  foretell({ oracle }: World): Told {
    return search(oracle, this.query, urlOf(paths.providers))
  }

  /** Whether a client that was not told would show what is no longer so. */
  hasChanged(world: World): boolean {
    return this.#last !== null && JSON.stringify(this.foretell(world).body) !== this.#last.text
  }

  /** The tag that was last heard of. */
  get lastTag(): string | null {
    return this.#last?.tag ?? null
  }

  /** Tags to be sent with If-None-Match: the last, one of long ago, several, any, or one that nobody ever gave. */
  tagsFrom(dice: Dice): string | null {
    const ever = [...this.#given.values()].map(({ tag }) => tag)
    if (ever.length === 0 || dice.chance(0.4)) return null
    const lastTag = this.lastTag ?? dice.pick(ever)
    return dice.weighed<string>([
      [6, () => lastTag],
      [2, () => dice.pick(ever)],
      // Compared weakly, these are the same.
      [0.5, () => `W/${opaque(lastTag)}`],
      [0.5, () => opaque(lastTag)],
      [2, () => ['"nobody\'s"', dice.pick(ever), dice.pick(ever)].join(', ')],
      [0.5, () => '*'],
      [0.5, () => '"nobody\'s"'],
    ])
  }

  /**
   * Holds an answer to what is worked out from nothing.
   *
   * @returns what kind of answer it was
   * @throws Error telling the difference
   */
  judge(sent: Sent, received: Received, foretold: Told): string {
    const { status, headers, text, tag, coding } = received
    const due = JSON.stringify(foretold.body)
    const fail = (fault: string): never => {
      throw new Error(`${describe(sent)}: ${fault}`)
    }
    if (foretold.status !== 200) {
      const told = [status, headers.get('x-error-code'), text ?? due].join(' ')
      const toTell = [foretold.status, foretold.code, due].join(' ')
      if (told !== toTell) fail(`${told} in place of ${toTell}`)
      // Whoever is told that there is no such page any more forgets it, but not its tags.
      if (status === 400) this.#last = null
      return `${status}`
    }
    if (status !== 200 && status !== 304) fail(`${status} ${text} in place of 200`)
    const faults = faultsOf(sent, received)
    if (faults.length > 0) fail(faults.join('; '))
    if (status === 304) {
      const given = this.#given.get(opaque(tag))
      if (sent.ifNoneMatch !== '*' && !given) fail(`304 of ${tag}, which nobody was given`)
      if (given && given.text !== due) fail(`304 of ${tag}, but ${differenceOf(given.text, due)}`)
      if (!given) this.#given.set(opaque(tag), { text: due, tag, coding: null })
      this.#last = { text: due, tag }
      return '304'
    }
    if (text !== null && text !== due) fail(`${coding} ${differenceOf(text, due)}`)
    const isSame = this.#tagsOf(sent).some(
      (one) => one.text === due && (isWeak(one.tag) || one.coding === coding),
    )
    if (isSame || sent.ifNoneMatch === '*') fail('200, but nothing has changed: 304 was due')
    const before = this.#given.get(opaque(tag))
    if (before && before.text !== (text ?? due)) fail(`${tag} was the tag of another body`)
    if (before?.coding && !isWeak(tag) && before.coding !== coding)
      fail(`${tag} was the tag of ${before.coding}`)
    this.#given.set(opaque(tag), { text: text ?? due, tag, coding })
    this.#last = { text: text ?? due, tag }
    return `200 ${coding}`
  }

  /**
   * Asks a process as someone who asks it alone: what it tells must be the same to the byte, whatever it has seen.
   *
   * @throws Error telling the difference
   */
  async askElsewhere(world: World, { ask }: Running, partner: number): Promise<string> {
    const { token, refusal } = callerOf(world.oracle, { partner, token: 'in force' })
    const { status, text } = await ask(this.path, { headers: { Authorization: `Bearer ${token}` } })
    const foretold = refusal ?? this.foretell(world)
    const due = JSON.stringify(foretold.body)
    if (status === foretold.status && text === due) return `${status} elsewhere`
    throw new Error(`elsewhere ${this.path}: ${status} ${differenceOf(text, due)}`)
  }

  #tagsOf({ ifNoneMatch }: Sent): Given[] {
    return (ifNoneMatch ?? '').split(', ').flatMap((one) => this.#given.get(opaque(one)) ?? [])
  }

  /** What is sent to a server on a port. */
  sentFor({ oracle }: World, port: number, { partner, token, acceptance, tags }: Asking): Sent {
    const [accepts, given] = acceptance
    const url = `${baseUrl}:${port}${this.path}`
    return {
      url,
      token: callerOf(oracle, { partner, token }).token,
      method: 'GET',
      accepts,
      given,
      ifNoneMatch: tags,
    }
  }

  /** Asks a server on a port, once or twice, as someone whom it knows or not. @returns what kinds of answers there were */
  async ask(world: World, port: number, asking: Asking): Promise<string[]> {
    const { refusal } = callerOf(world.oracle, asking)
    const sent = this.sentFor(world, port, asking)
    const foretold = refusal ?? this.foretell(world)
    if (asking.how === 'once') return [this.judge(sent, await send(sent), foretold)]
    const first: Sent = asking.how === 'headed' ? { ...sent, method: 'HEAD' } : sent
    const one = await send(first)
    const other = await send(sent)
    const kinds = [this.judge(first, one, foretold), this.judge(sent, other, foretold)]
    const isAlike = one.status === other.status && (one.text === other.text || asking.how === 'headed')
    const isAsLong = one.headers.get('content-length') === other.headers.get('content-length')
    // What is coded otherwise has another length, and, where tags are strong, another tag.
    const isSameTag = one.tag === other.tag || (one.coding !== other.coding && !isWeak(one.tag))
    if (!isAlike || !isSameTag || (one.coding === other.coding && !isAsLong)) {
      const [was, is] = [one, other].map(({ status, coding, tag, headers }) =>
        [status, coding, tag, headers.get('content-length')].join(' '),
      )
      throw new Error(`${describe(first)}: ${was}, but the same asked again by GET: ${is}`)
    }
    return asking.how === 'headed' ? [`HEAD ${kinds[0]}`, ...kinds.slice(1)] : kinds
  }
}

/** How a page is asked for. */
export interface Asking {
  readonly partner: number
  readonly token: TokenChoice
  readonly acceptance: (typeof acceptances)[number]
  /** If-None-Match; null for none. */
  readonly tags: string | null
  /** Once, twice in a row, or by a HEAD first. */
  readonly how: 'once' | 'twice' | 'headed'
}

const differences: readonly Query[] = [
  { page_size: 4 },
  { page_size: 3, page: 2 },
  { language: 'fr' },
  { modality: 'in-video' },
]

/** The pages that clients come back to: of different searches, and of some that differ in little. */
export function pagesFrom(dice: Dice, count: number, regionIds: readonly number[]): KnownPage[] {
  const pages: KnownPage[] = []
  while (pages.length < count) {
    const page = pageFrom(dice, regionIds)
    const sibling = { ...page.query, ...dice.pick(differences) }
    pages.push(page, new KnownPage(sibling, pathTo(sibling, { hasSlash: true, extra: '' })))
  }
  return pages
}

/** A page of any search. */
export function pageFrom(dice: Dice, regionIds: readonly number[]): KnownPage {
  const { below, chance, pick } = dice
  const where: [string, string | number][] = dice.weighed<[string, string | number][]>([
    [9, () => [['region_id', regionIds[0] as number]]],
    [4, () => [['region_id', pick(regionIds)]]],
    [4, () => [['country_code', pick(['GB', 'gb', 'IE'])]]],
    [
      1,
      () => [
        ['region_id', pick(regionIds)],
        ['country_code', pick(['CA', 'GB'])],
      ],
    ],
    [0.2, () => [['country_code', 'CA']]],
    [0.1, () => [['region_id', 77]]],
  ])
  const size = pick([1, 2, 3, 5, 7, 10, 20, 100])
  const parameters: [string, string | number][] = [
    ...where,
    ...(chance(0.15)
      ? [['modality', pick(['in-person', 'telephonic', 'in-video'])] as [string, string]]
      : []),
    ...(chance(0.15) ? [['language', pick(['en', 'fr', 'fr-CA', 'FR-fr'])] as [string, string]] : []),
    ...(chance(0.75) ? [['page_size', size] as [string, number]] : []),
    ...(chance(size < 10 ? 0.5 : 0.05) ? [['page', 1 + below(size < 4 ? 4 : 2)] as [string, number]] : []),
  ]
  const start = below(parameters.length)
  const query = Object.fromEntries([...parameters.slice(start), ...parameters.slice(0, start)])
  const extra = chance(0.2) ? pick(['&utm=1', '&Language=en', '&page_size_=2', '&x']) : ''
  return new KnownPage(query, pathTo(query, { hasSlash: !chance(0.2), extra }))
}

const isWeak = (tag: string) => tag.startsWith('W/')

function describe({ method, url, accepts, ifNoneMatch }: Sent): string {
  return `${method} ${url} Accept-Encoding: ${accepts} If-None-Match: ${ifNoneMatch}`
}

interface Page {
  readonly count: number
  /** None where a search was refused. */
  readonly results?: readonly { readonly providerId: number; readonly availability: readonly unknown[] }[]
}

/** In what two pages differ, in a few words. */
function differenceOf(told: string, foretold: string): string {
  const [is, ought] = [JSON.parse(told), JSON.parse(foretold)] as [Page, Page]
  const raw = `${told.slice(0, 300)} in place of ${foretold.slice(0, 300)}`
  if (!is.results || !ought.results) return raw
  const ids = ({ results = [] }: Page) => results.map(({ providerId }) => providerId).join()
  if (is.count !== ought.count || ids(is) !== ids(ought)) {
    return `lists ${is.count}: ${ids(is)} in place of ${ought.count}: ${ids(ought)}`
  }
  const place = is.results.findIndex((one, index) => !Bun.deepEquals(one, ought.results?.[index]))
  const [one, other] = [is.results[place], ought.results[place]]
  if (!one || !other) return raw
  const texts = (entry: typeof one) => entry.availability.map((slot) => JSON.stringify(slot))
  const [slots, due] = [texts(one), texts(other)]
  const without = (from: string[], those: string[]) =>
    from.filter((slot) => !those.includes(slot)).slice(0, 4)
  const shown = JSON.stringify({ ...one, availability: slots.length })
  return `${shown}: offers wrongly ${without(slots, due)}; lacks ${without(due, slots)}`
}
