import type { Database, Statement } from 'bun:sqlite'
import { Distribution, durationBounds } from '../../src/domain/measures'
import { countTransaction } from './file/head'
import { isBusy, toRefusal } from './query-engine'

/** Maximum time in ms that a write waits for another process. */
const busyTimeoutMillis = 2_000
const retryMillis = 10
/** Maximum writes in one transaction. All other requests wait during a transaction. */
const largestGroup = 128

/** Checks the database file, and receives the outcome of writes. */
export interface Watch {
  /** @throws Refusal storage_failed if the file is no longer the one that was opened */
  requireFile(): void
  noteStored(): void
  noteFailed(error: unknown): void
}

/** In ms. A shorter turn of the event loop was idle. */
const idleTurnMillis = 0.05

interface Job {
  readonly work: () => unknown
  readonly queuedAt: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Group commit: all writes of an event loop turn share a disk sync. Each write has a savepoint, so it can fail alone. */
export class Writer {
  #queue: Job[] = []
  #scheduled = false
  /** Duration of the last group, in ms. */
  #lastTook = 0
  /** True if the open transaction must reach the disk even without changes. */
  #mustReachDisk = false
  #failedGroups = 0
  readonly #dataVersion: Statement<{ data_version: number }, []>
  #seenVersion = 0
  #stamp = 0
  readonly groupSizes = new Distribution([1, 2, 4, 8, 16, 32, 64, 128])
  readonly commitMillis = new Distribution(durationBounds)

  /** Called in each transaction, before and after its writes. */
  group = { begin() {}, end() {} }

  constructor(
    private readonly database: Database,
    private readonly watch: Watch = unwatched,
  ) {
    this.#dataVersion = database.query('PRAGMA data_version')
  }

  /**
   * Runs `work`, which must be synchronous. If `work` throws, only its changes are rolled back.
   * @throws Refusal storage_busy if another process locks the database for too long; storage_failed
   */
  write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, queuedAt: performance.now(), resolve: resolve as Job['resolve'], reject })
      this.#schedule()
    })
  }

  get depth(): number {
    return this.#queue.length
  }

  /** Number of failed transactions. A transaction can fail at BEGIN too. */
  get failedGroups(): number {
    return this.#failedGroups
  }

  /** Differs after each commit by any process. Null if the database cannot be read. */
  get stamp(): number | null {
    try {
      const { data_version: version = 0 } = this.#dataVersion.get() ?? {}
      // data_version counts the commits of other connections. #commit counts the commits of this connection.
      if (version !== this.#seenVersion) this.#stamp++
      this.#seenVersion = version
      return this.#stamp
    } catch {
      return null
    }
  }

  /** Trial write: commits a transaction that changes only the transaction counter. @throws the refusals of write */
  attempt(): Promise<void> {
    return this.write(() => {
      this.#mustReachDisk = true
    })
  }

  async drain(): Promise<void> {
    if (this.#queue.length > 0) await this.write(() => {}).catch(() => {})
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#gather(performance.now() + this.#lastTook)
  }

  /** Waits while requests arrive, at most as long as the last group took. More writes then share a sync. */
  #gather(until: number): void {
    const beganAt = performance.now()
    setImmediate(() => {
      const now = performance.now()
      if (now - beganAt > idleTurnMillis && now < until) this.#gather(until)
      else this.#writeGroup()
    })
  }

  #writeGroup(): void {
    this.#scheduled = false
    const beganAt = performance.now()
    try {
      this.watch.requireFile()
      this.database.run('BEGIN IMMEDIATE')
    } catch (error) {
      this.#postpone(error)
      return
    }
    const group = this.#queue.splice(0, largestGroup)
    const answers = this.#commit(group, beganAt)
    this.#lastTook = performance.now() - beganAt
    for (const [index, job] of group.entries()) {
      const answer = answers[index] as Answer
      if ('error' in answer) job.reject(toRefusal(answer.error))
      else job.resolve(answer.value)
    }
    if (this.#queue.length > 0) this.#schedule()
  }

  #commit(group: readonly Job[], beganAt: number): Answer[] {
    this.#mustReachDisk = false
    try {
      const before = this.#countChanges()
      this.group.begin()
      const answers = group.map((job) => this.#attempt(job))
      this.group.end()
      const isWritten = this.#countChanges() !== before || this.#mustReachDisk
      if (isWritten) {
        countTransaction(this.database)
        this.#stamp++
      }
      this.database.run('COMMIT')
      // If the file was removed meanwhile, the writes must fail, because they would be lost.
      this.watch.requireFile()
      if (isWritten) this.watch.noteStored()
      this.groupSizes.note(group.length)
      this.commitMillis.note(performance.now() - beganAt)
      return answers
    } catch (error) {
      // If the transaction fails, for example on a full disk, all writes of the group fail.
      this.#rollBack()
      this.#failedGroups++
      this.watch.noteFailed(error)
      return group.map(() => ({ error }))
    }
  }

  #rollBack(): void {
    try {
      if (this.database.inTransaction) this.database.run('ROLLBACK')
    } catch {
      // A failed ROLLBACK is ignored, because callers get the earlier error.
    }
  }

  #countChanges(): number {
    return this.database.query<{ count: number }, []>('SELECT total_changes() AS count').get()?.count ?? 0
  }

  #attempt(job: Job): Answer {
    this.database.run('SAVEPOINT job')
    try {
      const value = job.work()
      this.database.run('RELEASE job')
      return { value }
    } catch (error) {
      // Some errors end the whole transaction. Then there is no savepoint.
      if (!this.database.inTransaction) throw error
      this.database.run('ROLLBACK TO job')
      this.database.run('RELEASE job')
      this.watch.noteFailed(error)
      return { error }
    }
  }

  #postpone(error: unknown): void {
    this.#failedGroups++
    const waited = isBusy(error) ? performance.now() - busyTimeoutMillis : Infinity
    const refused = this.#queue.filter((job) => job.queuedAt <= waited)
    this.#queue = this.#queue.filter((job) => job.queuedAt > waited)
    if (refused.length > 0) this.watch.noteFailed(error)
    for (const job of refused) job.reject(toRefusal(error))
    if (this.#queue.length === 0) return
    this.#scheduled = true
    setTimeout(() => this.#writeGroup(), retryMillis)
  }
}

const unwatched: Watch = { requireFile() {}, noteStored() {}, noteFailed() {} }

type Answer = { readonly value: unknown } | { readonly error: unknown }
