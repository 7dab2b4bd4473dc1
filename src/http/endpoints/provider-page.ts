import type { Turn } from '../../operations/context'
import type { FoundPage, FoundProvider } from '../../operations/search-providers'
import { type Availability, horizonMinutes, slotMinutes } from '../../scheduling/availability'
import { dayMinutes, minuteMillis } from '../../scheduling/calendar'
import type { Counted } from '../log'
import { digestOf, Representation, tagOf } from '../representation'
import { presentSlot } from './fields'

/** Byte range of a page. `end` is exclusive. */
interface Range {
  readonly start: number
  end: number
}

/** A provider in a page. Its content is valid only for a period. */
interface Entry extends Readonly<Range> {
  readonly found: FoundProvider
  /** Start of validity, in ms (inclusive). The end `holdsUntil` is exclusive. */
  readonly heldFrom: number
  readonly holdsUntil: number
  readonly digest: bigint
  readonly slots: number
}

/** A cached search page. It becomes invalid when data changes or a slot is no longer available. */
export interface ProviderPage {
  readonly representation: Representation
  readonly entries: readonly Entry[]
  readonly counted: Counted
  /** Number of providers on all pages of the search. */
  readonly count: number
  readonly version: FoundPage['version']
  /** Start of validity, in ms (inclusive). The end `holdsUntil` is exclusive. */
  readonly heldFrom: number
  readonly holdsUntil: number
}

function holds({ heldFrom, holdsUntil }: Pick<Entry, 'heldFrom' | 'holdsUntil'>, now: number): boolean {
  return heldFrom <= now && now < holdsUntil
}

/** @param now ms */
export function isCurrent(page: ProviderPage, version: FoundPage['version'], now: number): boolean {
  return page.version === version && holds(page, now)
}

/** Returns the page with the new version; null if anything in the page has changed. */
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

export class Draft {
  #bytes = Buffer.allocUnsafeSlow(256 * 1024)
  #end = 0

  get end(): number {
    return this.#end
  }

  /** Adds bytes. @param write writes at most `most` bytes at an offset, and returns the end offset */
  add(most: number, write: (bytes: Buffer, at: number) => number): void {
    if (this.#end + most > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (this.#end + most))
      this.#bytes.copy(larger, 0, 0, this.#end)
      this.#bytes = larger
    }
    this.#end = write(this.#bytes, this.#end)
  }

  addText(text: string): void {
    // A UTF-16 code unit is at most three bytes of UTF-8.
    this.add(text.length * 3, (bytes, at) => at + bytes.write(text, at))
  }

  /** Returns a view of the bytes. The view is valid until more bytes are added. */
  slice(start: number, end: number): Buffer<ArrayBuffer> {
    return this.#bytes.subarray(start, end)
  }

  clear(): void {
    this.#end = 0
  }
}

// The last draft is kept and reused, because allocating memory takes as long as filling it.
let spare: Draft | null = null

/** Returns an unused draft. Pages can be built concurrently, so each page needs its own draft. */
function takeDraft(): Draft {
  const draft = spare ?? new Draft()
  spare = null
  draft.clear()
  return draft
}

/** Builds a page in steps. Copies entries of the page `before` if they are still valid. */
export async function makePage(
  found: FoundPage,
  head: string,
  now: number,
  before: ProviderPage | undefined,
  write: (draft: Draft, found: FoundProvider, availability: Availability) => void,
  turn: Turn,
): Promise<ProviderPage> {
  const known = new Map(before?.entries.map((entry) => [entry.found, entry]))
  const entries: Entry[] = []
  const draft = takeDraft()
  draft.addText(head)
  const headDigest = digestOf(draft.slice(0, draft.end))
  /** Ranges that were copied from the previous page, and the offset of each range in the draft. */
  const taken: (Range & { readonly place: number })[] = []
  let at = draft.end
  for (const item of found.items) {
    const waiting = turn()
    if (waiting) await waiting
    const old = known.get(item)
    if (old && holds(old, now)) {
      const last = taken.at(-1)
      // Merges adjacent entries into one range, which includes the comma between the entries.
      if (last && last.place === draft.end && last.end + 1 === old.start) last.end = old.end
      else {
        if (entries.length > 0) draft.addText(',')
        taken.push({ place: draft.end, start: old.start, end: old.end })
      }
      entries.push({ ...old, start: at, end: at + old.end - old.start })
    } else {
      if (entries.length > 0) draft.addText(',')
      const start = draft.end
      const availability = found.availabilityOf(item)
      write(draft, item, availability)
      const { heldFrom, holdsUntil, slots } = availability
      const digest = digestOf(draft.slice(start, draft.end))
      const end = at + draft.end - start
      entries.push({ found: item, heldFrom, holdsUntil, start: at, end, digest, slots: slots.length })
    }
    at = (entries.at(-1) as Entry).end + 1
  }
  draft.addText(']}')
  const parts: (Uint8Array<ArrayBuffer> | Blob)[] = []
  let drafted = 0
  for (const { place, start, end } of taken) {
    parts.push(draft.slice(drafted, place), (before as ProviderPage).representation.plain.slice(start, end))
    drafted = place
  }
  const body = new Blob([...parts, draft.slice(drafted, draft.end)])
  spare = draft
  const tag = tagOf([headDigest, ...entries.map(({ digest }) => digest)])
  return {
    representation: new Representation(body, tag, {}, before !== undefined),
    entries,
    counted: { slotsShown: entries.reduce((sum, { slots }) => sum + slots, 0) },
    count: found.count,
    version: found.version,
    ...heldBy(entries, found, now),
  }
}

/** Estimated memory of a page in addition to its bytes. */
const overheadBytes = 4 * 1024

/** Caches pages by query. Drops the oldest page first. */
export class PageCache {
  readonly #pages = new Map<string, { readonly page: ProviderPage; counted: number }>()
  #bytes = 0

  /** @param mostBytes returns the current limit for all encodings of all pages together */
  constructor(private readonly mostBytes: () => number) {}

  get(asked: string): ProviderPage | undefined {
    const kept = this.#pages.get(asked)
    if (!kept) return undefined
    // Counts the page again: compression may have added bytes.
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
      if (this.#bytes <= this.mostBytes()) break
      this.#forget(oldest)
    }
  }

  #forget(asked: string): void {
    this.#bytes -= this.#pages.get(asked)?.counted ?? 0
    this.#pages.delete(asked)
  }
}

const rowSlots = Math.ceil((horizonMinutes + dayMinutes) / slotMinutes)

const bytesOf = (start: number) => Buffer.from(`,${JSON.stringify(presentSlot(start * minuteMillis))}`)

/** Size of one slot with a leading comma. All slots have the same size. */
export const slotBytes = bytesOf(0).length

/** Caches the JSON of all slots in the horizon, because formatting a time takes longer than finding a free slot. */
export class SlotTable {
  /** Rows of slots by the remainder of their start in minutes, modulo slotMinutes. */
  readonly #rows: (Buffer | undefined)[] = []
  /** Number of slots from 1970 to the first slot of each row. */
  #first = 0

  /** Writes slots, each with a leading comma. Returns the end offset. @param starts minutes since 1970, ascending */
  write(starts: ArrayLike<number>, now: number, target: Uint8Array, at: number): number {
    this.#turnTo(Math.floor(now / minuteMillis))
    let end = at
    for (let i = 0, next = 1; i < starts.length; i = next++) {
      const start = starts[i] as number
      while (starts[next] === start + (next - i) * slotMinutes) next++
      const from = (Math.floor(start / slotMinutes) - this.#first) * slotBytes
      const length = (next - i) * slotBytes
      end += this.#row(start % slotMinutes).copy(target, end, from, from + length)
    }
    return end
  }

  #turnTo(minute: number): void {
    const first = Math.floor(minute / slotMinutes)
    const past = (first - this.#first) * slotMinutes
    if (past >= 0 && past < dayMinutes - slotMinutes) return
    this.#first = first
    this.#rows.length = 0
  }

  #row(beyond: number): Buffer {
    const known = this.#rows[beyond]
    if (known) return known
    const row = Buffer.concat(
      Array.from({ length: rowSlots }, (_, i) => bytesOf((this.#first + i) * slotMinutes + beyond)),
    )
    this.#rows[beyond] = row
    return row
  }
}
