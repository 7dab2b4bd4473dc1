import type { AuditEntry } from '../domain/audit'
import type { Kind } from '../domain/errors'
import type { Store } from '../domain/store'
import { minuteMillis } from '../scheduling/calendar'

/** Refusals noted in one minute: beyond that they are told as one line. */
const mostRefusals = 1_000

/** Refusals kept while the database cannot be written; what comes after is let go. */
const mostKept = 10_000

/**
 * What is noted while requests are answered and written down later, so that nobody waits for it: when keys
 * were last used, to the minute, and refused authentications, one for each reason and address in a minute.
 */
export class Notebook {
  #uses = new Map<string, number>()
  /** The last use of each key that was written down. */
  #written = new Map<string, number>()
  #minute = 0
  #seen = new Set<string>()
  #refusals: AuditEntry[] = []
  #flushing: Promise<void> = Promise.resolve()

  noteUse(kid: string, now: number): void {
    const minute = startOfMinute(now)
    if (this.#written.get(kid) !== minute) this.#uses.set(kid, minute)
  }

  /** @param address where the request came from */
  noteRefusal(reason: Kind, address: string, now: number): void {
    if (startOfMinute(now) !== this.#minute) {
      this.#minute = startOfMinute(now)
      this.#seen.clear()
    }
    const isTold = this.#seen.size < mostRefusals || this.#seen.has(`${reason} ${address}`)
    const actor = isTold ? address : 'other addresses'
    const key = `${reason} ${actor}`
    if (this.#seen.has(key) || this.#refusals.length >= mostKept) return
    this.#seen.add(key)
    this.#refusals.push({ at: now, actor, action: 'authentication.refuse', record: null, outcome: reason })
  }

  /** Writes down what was noted since the last time; what cannot be written is kept for the next. */
  flush(store: Store): Promise<void> {
    // One after another: two at once would write the same lines.
    this.#flushing = this.#flushing.catch(() => {}).then(() => this.#write(store))
    return this.#flushing
  }

  async #write(store: Store): Promise<void> {
    const refusals = [...this.#refusals]
    if (refusals.length > 0) await store.appendAudit(refusals)
    this.#refusals.splice(0, refusals.length)
    const uses = new Map(this.#uses)
    if (uses.size > 0) await store.noteKeyUses(uses)
    for (const [kid, at] of uses) {
      this.#written.set(kid, at)
      if (this.#uses.get(kid) === at) this.#uses.delete(kid)
    }
  }
}

function startOfMinute(now: number): number {
  return now - (now % minuteMillis)
}
