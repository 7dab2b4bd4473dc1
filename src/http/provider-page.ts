import type { FoundPage, FoundProvider } from '../operations/search-providers'
import type { Availability } from '../scheduling/availability'
import { digestOf, Representation, tagOf } from './representation'
import type { Steps } from './turns'

/** A part of the bytes of a page. */
interface Range {
  readonly start: number
  end: number
}

/** A provider's place among the bytes of a page, and when it is right. */
interface Entry extends Readonly<Range> {
  readonly found: FoundProvider
  /** ms, inclusive and exclusive. */
  readonly heldFrom: number
  readonly holdsUntil: number
  readonly digest: bigint
}

/** A page of search as it is sent, and for when: until something is stored, or time has changed what can be had. */
export interface ProviderPage {
  readonly representation: Representation
  readonly entries: readonly Entry[]
  /** Of all pages. */
  readonly count: number
  readonly version: FoundPage['version']
  /** ms, inclusive and exclusive. */
  readonly heldFrom: number
  readonly holdsUntil: number
}

/** Whether a page or an entry is right at a moment (ms), as far as time goes. */
function holds({ heldFrom, holdsUntil }: Pick<Entry, 'heldFrom' | 'holdsUntil'>, now: number): boolean {
  return heldFrom <= now && now < holdsUntil
}

/** Whether a page is right at `now` (ms) for all that is stored up to a version. */
export function isCurrent(page: ProviderPage, version: FoundPage['version'], now: number): boolean {
  return page.version === version && holds(page, now)
}

/** The page as it was, where what was stored since or the time have changed nothing that it shows; null otherwise. */
export function renewed(page: ProviderPage, found: FoundPage, now: number): ProviderPage | null {
  const { entries, count } = page
  const isSame =
    count === found.count &&
    entries.length === found.items.length &&
    entries.every((entry, place) => entry.found === found.items[place] && holds(entry, now))
  return isSame ? { ...page, version: found.version, ...heldBy(entries, found, now) } : null
}

function heldBy(entries: readonly Entry[], { holdsUntil }: FoundPage, now: number) {
  return { heldFrom: now, holdsUntil: Math.min(holdsUntil, ...entries.map((entry) => entry.holdsUntil)) }
}

const [comma, end] = [Buffer.from(','), Buffer.from(']}')]

/**
 * Makes a page, in steps: from what it was before, where that is given, but for those who are others, or can be had at
 * other times.
 *
 * @param head its JSON up to its entries
 * @param bytesOf an entry's JSON
 */
export function* makePage(
  found: FoundPage,
  head: Uint8Array<ArrayBuffer>,
  now: number,
  before: ProviderPage | undefined,
  bytesOf: (found: FoundProvider, availability: Availability) => Uint8Array<ArrayBuffer>,
): Steps<ProviderPage> {
  const known = new Map(before?.entries.map((entry) => [entry.found, entry]))
  const entries: Entry[] = []
  const pieces: (Uint8Array<ArrayBuffer> | Range)[] = []
  let at = head.length
  for (const item of found.items) {
    if (entries.length > 0) yield
    const old = known.get(item)
    if (old && holds(old, now)) {
      entries.push({ ...old, start: at, end: at + old.end - old.start })
      const last = pieces.at(-1)
      // Entries that stood beside one another are taken together, with the comma between them.
      if (last && 'end' in last && last.end + comma.length === old.start) last.end = old.end
      else pieces.push({ start: old.start, end: old.end })
    } else {
      const availability = found.availabilityOf(item)
      const bytes = bytesOf(item, availability)
      const { heldFrom, holdsUntil } = availability
      const digest = digestOf(bytes)
      entries.push({ found: item, heldFrom, holdsUntil, start: at, end: at + bytes.length, digest })
      pieces.push(bytes)
    }
    at = (entries.at(-1) as Entry).end + comma.length
  }
  const toPart = (piece: Uint8Array<ArrayBuffer> | Range) =>
    'end' in piece ? (before as ProviderPage).representation.body.slice(piece.start, piece.end) : piece
  const parts = pieces.flatMap((piece, place) => (place > 0 ? [comma, toPart(piece)] : [toPart(piece)]))
  const body = new Blob([head, ...parts, end])
  const tag = tagOf([digestOf(head), ...entries.map(({ digest }) => digest)])
  return {
    representation: new Representation(body, tag, {}, before !== undefined),
    entries,
    count: found.count,
    version: found.version,
    ...heldBy(entries, found, now),
  }
}

/** What is counted for a page beside its bytes: what is kept to tell whether it is right. */
const overheadBytes = 4 * 1024

/** Pages that are remembered by what was asked for, in so much memory: those that were made first are let go first. */
export class PageCache {
  readonly #pages = new Map<string, { readonly page: ProviderPage; counted: number }>()
  #bytes = 0

  /** @param mostBytes of all of them, in all their forms */
  constructor(private readonly mostBytes: number) {}

  get(asked: string): ProviderPage | undefined {
    const kept = this.#pages.get(asked)
    if (!kept) return undefined
    // It may have been compressed since it was counted.
    const bytes = kept.page.representation.bytes + overheadBytes
    this.#bytes += bytes - kept.counted
    kept.counted = bytes
    return kept.page
  }

  keep(asked: string, page: ProviderPage): void {
    this.#forget(asked)
    const counted = page.representation.bytes + overheadBytes
    this.#pages.set(asked, { page, counted })
    this.#bytes += counted
    for (const oldest of this.#pages.keys()) {
      if (this.#bytes <= this.mostBytes) break
      this.#forget(oldest)
    }
  }

  #forget(asked: string): void {
    this.#bytes -= this.#pages.get(asked)?.counted ?? 0
    this.#pages.delete(asked)
  }
}
