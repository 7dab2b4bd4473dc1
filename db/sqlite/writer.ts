import type { Database } from 'bun:sqlite'
import { isBusy, toRefusal } from './constraint'
import { countTransaction } from './file-head'

/** Busy timeout: how long a write waits for another process's transaction before it is refused. */
const busyTimeoutMillis = 2_000
const retryMillis = 10
/** Group commit: writes in one transaction. Nobody is answered meanwhile, not even those who read or are refused. */
const largestGroup = 128

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

  /**
   * @param seal is called at the end of each transaction that changes something
   * @param most writes in one transaction
   */
  constructor(
    private readonly database: Database,
    private readonly seal: () => void,
    private readonly most = largestGroup,
  ) {}

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

  /** Resolves once all that was asked for so far is written, or refused: who asked for it may be gone. */
  async drain(): Promise<void> {
    if (this.#queue.length > 0) await this.write(() => {}).catch(() => {})
  }

  #schedule(later: (drain: () => void) => void = setImmediate): void {
    if (this.#scheduled) return
    this.#scheduled = true
    later(() => this.#writeGroup())
  }

  #writeGroup(): void {
    this.#scheduled = false
    try {
      this.database.run('BEGIN IMMEDIATE')
    } catch (error) {
      this.#postpone(error)
      return
    }
    const group = this.#queue.splice(0, this.most)
    const answers = this.#commit(group)
    for (const [index, job] of group.entries()) {
      const answer = answers[index] as Answer
      if ('error' in answer) job.reject(toRefusal(answer.error))
      else job.resolve(answer.value)
    }
    if (this.#queue.length > 0) this.#schedule()
  }

  #commit(group: readonly Job[]): Answer[] {
    try {
      const before = this.#countChanges()
      const answers = group.map((job) => this.#attempt(job))
      if (this.#countChanges() !== before) {
        this.seal()
        countTransaction(this.database)
      }
      this.database.run('COMMIT')
      return answers
    } catch (error) {
      // A full disk, say: nothing of the group was stored.
      this.#rollBack()
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
      return { error }
    }
  }

  #postpone(error: unknown): void {
    const waited = isBusy(error) ? performance.now() - busyTimeoutMillis : Infinity
    const refused = this.#queue.filter((job) => job.queuedAt <= waited)
    this.#queue = this.#queue.filter((job) => job.queuedAt > waited)
    for (const job of refused) job.reject(toRefusal(error))
    if (this.#queue.length > 0) this.#schedule((drain) => setTimeout(drain, retryMillis))
  }
}

type Answer = { readonly value: unknown } | { readonly error: unknown }
