import type { Turn } from '../../operations/context'
import type { FoundPage, FoundProvider } from '../../operations/search-providers'
import { type Availability, horizonMinutes, slotMinutes } from '../../scheduling/availability'
import { dayMinutes, minuteMillis } from '../../scheduling/calendar'
import type { Counted } from '../log'
import { digestOf, Representation, tagOf } from '../representation'
import { presentSlot } from './fields'

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
  readonly slots: number
}

/** A page of search as it is sent, and for when: until something is stored, or time has changed what can be had. */
export interface ProviderPage {
  readonly representation: Representation
  readonly entries: readonly Entry[]
  /** What measures count each time it is sent. */
  readonly counted: Counted
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

/** The bytes of a page, which are written one after another. */
export class Draft {
  #bytes = Buffer.allocUnsafeSlow(256 * 1024)
  #end = 0

  /** Where the next are written. */
  get end(): number {
    return this.#end
  }

  /** @param write writes at a place, `most` bytes at most, and tells where they end */
  add(most: number, write: (bytes: Buffer, at: number) => number): void {
    if (this.#end + most > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (this.#end + most))
      this.#bytes.copy(larger, 0, 0, this.#end)
      this.#bytes = larger
    }
    this.#end = write(this.#bytes, this.#end)
  }

  addText(text: string): void {
    // A unit of UTF-16 is three bytes of UTF-8 at most.
    this.add(text.length * 3, (bytes, at) => at + bytes.write(text, at))
  }

  /** Those from one place to another, until more are added. */
  slice(start: number, end: number): Buffer<ArrayBuffer> {
    return this.#bytes.subarray(start, end)
  }

  clear(): void {
    this.#end = 0
  }
}

// Memory that is new costs as much as all that is written into it: a page is drafted where the last one was.
let spare: Draft | null = null

/** One that no other page is being drafted in: others may be made between the steps of one. */
function takeDraft(): Draft {
  const draft = spare ?? new Draft()
  spare = null
  draft.clear()
  return draft
}

/**
 * Makes a page, in steps: from what it was before, where that is given, but for those who are others, or can be had at
 * other times.
 *
 * @param head its JSON up to its entries
 * @param write adds an entry's JSON
 */
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
  /** What is taken of the page as it was, and before which place of the draft it comes. */
  const taken: (Range & { readonly place: number })[] = []
  let at = draft.end
  for (const item of found.items) {
    const waiting = turn()
    if (waiting) await waiting
    const old = known.get(item)
    if (old && holds(old, now)) {
      const last = taken.at(-1)
      // Entries that stood beside one another are taken together, with the comma between them.
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

/** What is counted for a page beside its bytes: what is kept to tell whether it is right. */
const overheadBytes = 4 * 1024

/** Pages that are remembered by what was asked for, in so much memory: those that were made first are let go first. */
export class PageCache {
  readonly #pages = new Map<string, { readonly page: ProviderPage; counted: number }>()
  #bytes = 0

  /** @param mostBytes of all of them, in all their forms, at this moment */
  constructor(private readonly mostBytes: () => number) {}

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
      if (this.#bytes <= this.mostBytes()) break
      this.#forget(oldest)
    }
  }

  #forget(asked: string): void {
    this.#bytes -= this.#pages.get(asked)?.counted ?? 0
    this.#pages.delete(asked)
  }
}

/** Slots in a row: the horizon and one more day. */
const rowSlots = Math.ceil((horizonMinutes + dayMinutes) / slotMinutes)

const bytesOf = (start: number) => Buffer.from(`,${JSON.stringify(presentSlot(start * minuteMillis))}`)

/** Bytes of one slot with the comma before it; all times have the same length. */
export const slotBytes = bytesOf(0).length

/**
 * The JSON of every slot that can be offered, made once, because writing times for each provider takes much longer than
 * computing when they are free. Consecutive slots are adjacent, so that a window of working hours is one copy.
 */
export class SlotTable {
  /** By the minute that starts have beyond whole slots. */
  readonly #rows: (Buffer | undefined)[] = []
  /** The whole slots before the first of a row. */
  #first = 0

  /**
   * Writes slots in ascending order, each with a comma before it. Returns the offset of their end.
   *
   * @param starts minutes, of the 30 days from `now` (ms)
   */
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

  /** Starts again once a row no longer covers the horizon. */
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
