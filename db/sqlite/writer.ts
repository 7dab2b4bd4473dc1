import type { Database, Statement } from 'bun:sqlite'
import { Distribution, durationBounds } from '../../src/domain/measures'
import { isBusy, toRefusal } from './constraint'
import { countTransaction } from './file/head'

/** Busy timeout: how long a write waits for another process's transaction before it is refused. */
const busyTimeoutMillis = 2_000
const retryMillis = 10
/** Group commit: writes in one transaction. Nobody is answered meanwhile, not even those who read or are refused. */
const largestGroup = 128

/** Who looks after what is written to. */
export interface Watch {
  /** @throws Refusal storage_failed if the file is no longer the one that was opened */
  requireFile(): void
  noteStored(): void
  noteFailed(error: unknown): void
}

/** A turn of the event loop that took less, in ms, had nothing to do but to look for what came in. */
const idleTurnMillis = 0.05

interface Job {
  readonly work: () => unknown
  readonly queuedAt: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * The only way to write: group commit. What is asked for in one turn of the event loop is done in one durable transaction,
 * a savepoint each, so that each write is all or nothing and many share one sync of the disk.
 */
export class Writer {
  #queue: Job[] = []
  #scheduled = false
  /** How long the newest group took, in ms. */
  #lastTook = 0
  /** Whether the transaction that is open is to reach the disk though nothing is changed in it. */
  #mustReachDisk = false
  #failedGroups = 0
  readonly #dataVersion: Statement<{ data_version: number }, []>
  #seenVersion = 0
  #stamp = 0
  readonly groupSizes = new Distribution([1, 2, 4, 8, 16, 32, 64, 128])
  readonly commitMillis = new Distribution(durationBounds)

  /**
   * @param watch nobody's, unless given
   * @param most writes in one transaction
   */
  constructor(
    private readonly database: Database,
    private readonly watch: Watch = unwatched,
    private readonly most = largestGroup,
  ) {
    this.#dataVersion = database.query('PRAGMA data_version')
  }

  /**
   * Runs `work` inside a transaction and resolves with its answer once that is on disk. What it throws undoes
   * its own changes alone. `work` must be synchronous: a transaction does not survive an await.
   *
   * @throws Refusal storage_busy when another process holds the lock for too long, storage_failed when the disk is
   *   full, say
   */
  write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, queuedAt: performance.now(), resolve: resolve as Job['resolve'], reject })
      this.#schedule()
    })
  }

  /** Writes that were asked for and are not begun. */
  get depth(): number {
    return this.#queue.length
  }

  /** Transactions that were begun, or tried to be, and not committed. */
  get failedGroups(): number {
    return this.#failedGroups
  }

  /** A number that changes after each commit of this process or another; null if the database cannot be read. */
  get stamp(): number | null {
    try {
      const { data_version: version = 0 } = this.#dataVersion.get() ?? {}
      // It does not change for commits of this connection, which are counted at once.
      if (version !== this.#seenVersion) this.#stamp++
      this.#seenVersion = version
      return this.#stamp
    } catch {
      return null
    }
  }

  /** Writes a transaction in which nothing is changed but the count of transactions. @throws as write does */
  attempt(): Promise<void> {
    return this.write(() => {
      this.#mustReachDisk = true
    })
  }

  /** Resolves once all that was asked for so far is written, or refused: who asked for it may be gone. */
  async drain(): Promise<void> {
    if (this.#queue.length > 0) await this.write(() => {}).catch(() => {})
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#gather(performance.now() + this.#lastTook)
  }

  /**
   * Begins a group once nothing comes in any more, or after as long as the last one took: so those who read have as much
   * of the time as those who write, and what comes in meanwhile goes with the same sync.
   */
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
    const group = this.#queue.splice(0, this.most)
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
      const answers = group.map((job) => this.#attempt(job))
      const isWritten = this.#countChanges() !== before || this.#mustReachDisk
      if (isWritten) {
        countTransaction(this.database)
        this.#stamp++
      }
      this.database.run('COMMIT')
      // Once more before the answers: what was committed to a file that was removed meanwhile is not acknowledged. Where it
      // is put back, the group is there all the same, as after a crash between commit and answer. A file that is removed
      // from here on was removed with what was acknowledged in it.
      this.watch.requireFile()
      if (isWritten) this.watch.noteStored()
      this.groupSizes.note(group.length)
      this.commitMillis.note(performance.now() - beganAt)
      return answers
    } catch (error) {
      // A full disk, say: nothing of the group was stored.
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
      // The disk is gone, say: the callers are told of the first failure, and nothing was committed.
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
      // Some failures end the whole transaction: then there is nothing left to go back to.
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
