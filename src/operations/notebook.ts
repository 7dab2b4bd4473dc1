import type { AuditEntry } from '../domain/audit'
import type { Kind } from '../domain/errors'
import type { Store } from '../domain/store'
import { minuteMillis } from '../scheduling/calendar'

/** Refusals noted in one minute: beyond that they are told as one line. */
const mostRefusals = 1_000

/**
 * What is noted while requests are answered and written down later, so that nobody waits for it: when keys
 * were last used, to the minute, and refused authentications, one for each reason and address in a minute.
 */
export class Notebook {
  #uses = new Map<string, number>()
  #minute = 0
  #seen = new Set<string>()
  #refusals: AuditEntry[] = []

  noteUse(kid: string, now: number): void {
    this.#uses.set(kid, startOfMinute(now))
  }

  /** @param address where the request came from */
  noteRefusal(reason: Kind, address: string, now: number): void {
    if (startOfMinute(now) !== this.#minute) {
      this.#minute = startOfMinute(now)
      this.#seen.clear()
    }
    const isBounded = this.#seen.size < mostRefusals
    const actor = isBounded ? address : 'other addresses'
    const key = `${reason} ${actor}`
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    this.#refusals.push({ at: now, actor, action: 'authentication.refuse', record: null, outcome: reason })
  }

  /** Writes down what was noted since the last time. */
  async flush(store: Store): Promise<void> {
    const [uses, refusals] = [this.#uses, this.#refusals]
    this.#uses = new Map()
    this.#refusals = []
    if (uses.size > 0) await store.noteKeyUses(uses)
    if (refusals.length > 0) await store.appendAudit(refusals)
  }
}

function startOfMinute(now: number): number {
  return now - (now % minuteMillis)
}
