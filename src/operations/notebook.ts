import { networkOf } from '../domain/addresses'
import type { AuditEntry } from '../domain/audit'
import type { Kind } from '../domain/errors'
import type { Store } from '../domain/ports/store'
import { pause } from '../domain/ports/time'
import { dayMillis, hourMillis, minuteMillis } from '../scheduling/calendar'

/** The maximum number of lines for refusals per minute. Further refusals are combined into one line for each reason. */
const maxRefusals = 1_000

/** The maximum number of refusals in memory while the database cannot be written. Further refusals are dropped. */
const maxKept = 10_000

/** The maximum number of lines for a partner's look-ups per hour. Further look-ups are combined into one line. */
const maxLookUps = 100_000

/** The addresses of a partner in a UTC day. Further addresses are combined into one line. */
const maxAddresses = 1_000

/** The uses in memory that need no second look. */
const maxRecent = 10_000

/** The outcome of a refused call whose token is valid, but not from there. */
export const outsideReason = 'token_invalid, outside its networks'

/** The outcome of a use of a token from an address past the maximum. */
export const moreAddresses = 'more addresses'

/** Lines per transaction, so that other writers do not wait long. */
const linesAtOnce = 100

/**
 * Collects records during requests, and writes the records later. The last use of a key is kept to the minute. A refused
 * authentication is kept once a minute for each reason, address and claimed partner; then their number follows. A member look-up is kept once an hour
 * for each partner and member. A use of a token is kept once a UTC day for each key and address. Nodes do not share these records, so a caller of two nodes leaves two lines.
 */
export class Notebook {
  #uses = new Map<string, number>()
  #written = new Map<string, number>()
  readonly #refusals = new LineBuffer(minuteMillis, maxRefusals, maxKept, true)
  /** Refusals with a proven identity. Calls without a valid token cannot crowd them out. */
  readonly #proven = new LineBuffer(minuteMillis, maxRefusals, maxKept, true)
  /** One buffer for each partner, so that one partner's calls cannot crowd out those of another. */
  readonly #lookUps = new Map<number, LineBuffer>()
  readonly #addresses = new Map<number, LineBuffer>()
  readonly #recent = new Map<string, number>()
  readonly #limited = new LineBuffer(10_000, maxRefusals, maxKept, true)
  readonly #counted = [this.#proven, this.#refusals, this.#limited]
  #flushing: Promise<void> = Promise.resolve()
  /** The next flush, shared by all waiting callers; null if no caller waits. */
  #next: Promise<void> | null = null

  noteUse(kid: string, now: number): void {
    const minute = startOf(now, minuteMillis)
    if (this.#written.get(kid) !== minute) this.#uses.set(kid, minute)
  }

  /** @param claimedId the partner that owns the key in the token header; the header may be forged */
  noteRefusal(reason: Kind | typeof outsideReason, address: string, now: number, claimedId?: number): void {
    // The partner's identity is proven: the API finds these reasons only after it has verified the signature.
    const isProven = reason === 'partner_inactive' || reason === outsideReason
    const line = { at: now, actor: address, action: 'authentication.refuse' as const }
    const claim = claimedId === undefined ? null : `partner ${claimedId}`
    const outcome = claim && !isProven ? `${reason}, claimed` : reason
    const others = { actor: 'other addresses', record: null, outcome: reason }
    const buffer = isProven ? this.#proven : this.#refusals
    buffer.note({ ...line, record: claim, outcome }, others)
  }

  noteLookUp(partnerId: number, memberId: number, now: number): void {
    const line = { at: now, actor: `partner ${partnerId}`, action: 'member.look-up' as const }
    const buffer = this.#lookUps.get(partnerId) ?? new LineBuffer(hourMillis, maxLookUps, maxLookUps + 1)
    this.#lookUps.set(partnerId, buffer)
    const others = { record: null, outcome: 'done, more members' }
    buffer.note({ ...line, record: `member ${memberId}`, outcome: 'done' }, others)
  }

  noteAddress(kid: string, partnerId: number, address: string, now: number): void {
    const [use, day] = [`${kid} ${address}`, startOf(now, dayMillis)]
    if (this.#recent.get(use) === day) return
    this.#remember(use, day)
    const buffer = this.#addresses.get(partnerId) ?? new LineBuffer(dayMillis, maxAddresses, maxAddresses + 1)
    this.#addresses.set(partnerId, buffer)
    const partner = `partner ${partnerId}`
    const outcome = `${networkOf(address)}, kid ${kid}`
    const line = { at: now, actor: partner, action: 'token.use' as const, record: partner, outcome }
    buffer.note(line, { outcome: moreAddresses })
  }

  /** Notes a person refused by the limit of e-mail conflicts, once an hour. At most two lines in 10 s for each partner. */
  noteLimited(partnerId: number, externalUserId: string, now: number): void {
    const person = `${partnerId} ${externalUserId}`
    const last = this.#recent.get(person)
    if (last !== undefined && now - last < hourMillis) return
    this.#remember(person, now)
    const [partner, outcome] = [`partner ${partnerId}`, 'email_conflicts_limited' satisfies Kind]
    const line = { at: now, actor: partner, action: 'partner.email-limit' as const, record: partner, outcome }
    this.#limited.note(line, {})
  }

  #remember(use: string, at: number): void {
    if (this.#recent.size >= maxRecent) this.#recent.clear()
    this.#recent.set(use, at)
  }

  /**
   * Writes the collected records. Lines that cannot be written stay for the next flush.
   * @param now ms; numbers of periods that are over by then are written too
   */
  flush(store: Store, now?: number): Promise<void> {
    if (now !== undefined) for (const buffer of this.#counted) buffer.endPeriod(now)
    // Two flushes at once would write the same lines. All waiting callers share the next flush, because one flush per caller
    // would take long after an outage.
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
    const ofPartners = [...this.#lookUps.values(), ...this.#addresses.values()]
    for (const buffer of [...this.#counted, ...ofPartners]) await buffer.write(store)
    const uses = new Map(this.#uses)
    if (uses.size > 0) await store.noteKeyUses(uses)
    for (const [kid, at] of uses) {
      this.#written.set(kid, at)
      if (this.#uses.get(kid) === at) this.#uses.delete(kid)
    }
  }
}

/** A bounded buffer that accepts each audit line once per period. */
class LineBuffer {
  #start = 0
  #seen = new Set<string>()
  #kept: AuditEntry[] = []
  /** The newest repetition of a line, and how many there were. */
  readonly #repeated = new Map<string, { readonly line: AuditEntry; readonly count: number }>()

  /**
   * Accepts `most` lines in each period of `millis`. Replaces further lines by the combined lines of `others`.
   * At most `maxKept` lines wait to be written. With `isCounted`, a line at the end of a period counts the repetitions.
   */
  constructor(
    private readonly millis: number,
    private readonly most: number,
    private readonly maxKept: number,
    private readonly isCounted = false,
  ) {}

  note(line: AuditEntry, others: Partial<AuditEntry>): void {
    this.endPeriod(line.at)
    const isFree = this.#seen.has(keyOf(line)) || this.#seen.size < this.most
    const entry = isFree ? line : { ...line, ...others }
    const key = keyOf(entry)
    if (this.#seen.has(key)) {
      const count = (this.#repeated.get(key)?.count ?? 0) + 1
      if (this.isCounted) this.#repeated.set(key, { line: entry, count })
    } else if (this.#kept.length < this.maxKept) {
      this.#seen.add(key)
      this.#kept.push(entry)
    }
  }

  /** @param now ms; Infinity ends the period in any case */
  endPeriod(now: number): void {
    const start = startOf(now, this.millis)
    if (start === this.#start) return
    this.#start = start
    this.#seen.clear()
    const room = this.maxKept - this.#kept.length
    for (const { line, count } of [...this.#repeated.values()].slice(0, room))
      this.#kept.push({ ...line, outcome: `${line.outcome}, ${count} more` })
    this.#repeated.clear()
  }

  async write(store: Store): Promise<void> {
    for (let left = this.#kept.length; left > 0; left -= linesAtOnce) {
      const some = this.#kept.slice(0, Math.min(left, linesAtOnce))
      await store.appendAudit(some)
      this.#kept.splice(0, some.length)
    }
  }
}

/** The addresses of one IPv6 network share a line: one host can have all of them. */
function keyOf({ actor, record, outcome }: AuditEntry): string {
  return `${networkOf(actor)} ${record} ${outcome}`
}

function startOf(now: number, millis: number): number {
  return now - (now % millis)
}

const [repeatMillis, notedAtOnce, mostRecent] = [15 * minuteMillis, 500, 10_000]

/** Pause between transactions for other writers, in ms. */
const pauseMillis = 25

/** Adds audit lines of one actor before data is shown. Leaves out reads that the actor has noted in the last 15 minutes. */
export async function noteReadings({ store }: { readonly store: Store }, lines: readonly AuditEntry[]) {
  const actions = [...new Set(lines.filter(isRepeatable).map(({ action }) => action))]
  const [{ actor, at } = { actor: '', at: 0 }] = lines
  // A clock that was set back must not hide reads, so later lines do not count.
  const filter = { actor, actions, since: at - repeatMillis + 1, until: at + 1 }
  const recent = actions.length > 0 ? await store.read(({ audit }) => audit.list(mostRecent, filter)) : []
  const known = new Set(recent.filter(isRepeatable).map(readOf))
  const fresh = lines.filter((line) => !isRepeatable(line) || !known.has(readOf(line)))
  for (let start = 0; start < fresh.length; start += notedAtOnce) {
    if (start > 0) await pause(pauseMillis)
    await store.appendAudit(fresh.slice(start, start + notedAtOnce))
  }
}

const repeatable = /^(request\.(show|suggest|read-notes|read-risk|read-appointment)|member\.(show|find))$/

/** Reads of answers, lists and refused commands are noted each time. */
function isRepeatable({ action, record, outcome }: AuditEntry): boolean {
  return record !== null && outcome === 'done' && repeatable.test(action)
}

function readOf({ action, record }: AuditEntry): string {
  return `${action} ${record}`
}
