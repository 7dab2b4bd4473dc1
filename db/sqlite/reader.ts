import type { Database } from 'bun:sqlite'

interface Asked {
  readonly read: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Reads that are asked for in one turn of the event loop share a transaction: to begin and to end one takes as long as to
 * find a record. It begins after the last of them was asked for, and so shows what anybody had committed by then.
 */
export class Reader {
  #asked: Asked[] = []
  readonly #readAll: (asked: readonly Asked[]) => void

  constructor(database: Database) {
    this.#readAll = database.transaction((asked) => {
      for (const { read } of asked) read()
    })
  }

  /** Resolves with what `work` finds. It must be synchronous: a transaction does not survive an await. */
  read<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const read = () => {
        try {
          resolve(work())
        } catch (error) {
          reject(error)
        }
      }
      if (this.#asked.push({ read, reject }) === 1) setImmediate(() => this.#answer())
    })
  }

  #answer(): void {
    const asked = this.#asked
    this.#asked = []
    try {
      this.#readAll(asked)
    } catch (error) {
      // It could not be begun, or was ended by one of them that failed: those have their answers.
      for (const { reject } of asked) reject(error)
    }
  }
}
