import type { AuditEntry } from '../domain/audit'
import type { Kind } from '../domain/errors'
import type { Store } from '../domain/ports/store'
import { hourMillis, minuteMillis } from '../scheduling/calendar'

/** Refusals noted in one minute: beyond that they are told as one line. */
const mostRefusals = 1_000

/** Refusals kept while the database cannot be written; what comes after is let go. */
const mostKept = 10_000

/** Look-ups noted in one hour, and kept while the database cannot be written: beyond that a line for each partner. */
const mostLookUps = 100_000

/** Lines that are written in one transaction, so that nobody waits long for it. */
const linesAtOnce = 100

/**
 * What is noted while requests are answered and written down later, so that nobody waits for it: when keys
 * were last used, to the minute, refused authentications, one for each reason, address and claimed partner in a
 * minute, and look-ups of members, one for each partner and member in an hour. Of several nodes each has a notebook: who
 * comes to more than one of them leaves a line by each.
 */
export class Notebook {
  #uses = new Map<string, number>()
  /** The last use of each key that was written down. */
  #written = new Map<string, number>()
  readonly #refusals = new Lines(minuteMillis, mostRefusals, mostKept)
  readonly #lookUps = new Lines(hourMillis, mostLookUps, mostLookUps)
  #flushing: Promise<void> = Promise.resolve()
  /** The flush that waits for the one that is under way; null where none does. */
  #next: Promise<void> | null = null

  noteUse(kid: string, now: number): void {
    const minute = startOf(now, minuteMillis)
    if (this.#written.get(kid) !== minute) this.#uses.set(kid, minute)
  }

  /**
   * @param address where the request came from
   * @param claimedId the partner whose key was named, whoever named it
   */
  noteRefusal(reason: Kind, address: string, now: number, claimedId?: number): void {
    // A deactivated partner is told so only once its signature has been verified.
    const isProven = reason === 'partner_inactive'
    const line = { at: now, actor: address, action: 'authentication.refuse' as const }
    const claim = claimedId === undefined ? null : `partner ${claimedId}`
    const outcome = claim && !isProven ? `${reason}, claimed` : reason
    const others = () => ({ ...line, actor: 'other addresses', record: null, outcome: reason })
    this.#refusals.note({ ...line, record: claim, outcome }, others)
  }

  noteLookUp(partnerId: number, memberId: number, now: number): void {
    const line = { at: now, actor: `partner ${partnerId}`, action: 'member.look-up' as const }
    const others = () => ({ ...line, record: null, outcome: 'done, more members' })
    this.#lookUps.note({ ...line, record: `member ${memberId}`, outcome: 'done' }, others)
  }

  /** Writes down what was noted since the last time; what cannot be written is kept for the next. */
  flush(store: Store): Promise<void> {
    // One after another: two at once would write the same lines. One that has not begun will write all there is by then, and
    // whoever asks meanwhile waits for that: each with its own, all would wait for as many after an outage.
    this.#next ??= this.#flushing
      .catch(() => {})
      .then(() => {
        this.#next = null
        return this.#write(store)
      })
    this.#flushing = this.#next
    return this.#flushing
  }

  async #write(store: Store): Promise<void> {
    await this.#refusals.write(store)
    await this.#lookUps.write(store)
    const uses = new Map(this.#uses)
    if (uses.size > 0) await store.noteKeyUses(uses)
    for (const [kid, at] of uses) {
      this.#written.set(kid, at)
      if (this.#uses.get(kid) === at) this.#uses.delete(kid)
    }
  }
}

/** Audit lines that are to be written, each once in a time, in a memory that is bounded. */
class Lines {
  #start = 0
  #seen = new Set<string>()
  #kept: AuditEntry[] = []

  /**
   * @param millis the time
   * @param most lines in that time, beyond which others stand for them
   * @param mostKept lines that wait
   */
  constructor(
    private readonly millis: number,
    private readonly most: number,
    private readonly mostKept: number,
  ) {}

  note(line: AuditEntry, others: () => AuditEntry): void {
    const start = startOf(line.at, this.millis)
    if (start !== this.#start) {
      this.#start = start
      this.#seen.clear()
    }
    if (this.#seen.has(keyOf(line))) return
    const entry = this.#seen.size < this.most ? line : others()
    if (this.#seen.has(keyOf(entry)) || this.#kept.length >= this.mostKept) return
    this.#seen.add(keyOf(entry))
    this.#kept.push(entry)
  }

  async write(store: Store): Promise<void> {
    for (let left = this.#kept.length; left > 0; left -= linesAtOnce) {
      const some = this.#kept.slice(0, Math.min(left, linesAtOnce))
      await store.appendAudit(some)
      this.#kept.splice(0, some.length)
    }
  }
}

function keyOf({ actor, record, outcome }: AuditEntry): string {
  return `${actor} ${record} ${outcome}`
}

function startOf(now: number, millis: number): number {
  return now - (now % millis)
}
