import { realpathSync, statSync } from 'node:fs'
import { Refusal } from '../../src/domain/errors'

/**
 * Sees whether a database's file, its log and the log's index are still those that were opened. The system goes on writing
 * to a file that was unlinked or replaced, and nobody finds there what is written. The index holds the locks too: with
 * another one, two processes write over each other's part of the log.
 */
export class Standing {
  readonly #file: Opened
  readonly #log: Opened
  readonly #index: Opened

  /** @param path of a database that this process has open, with its log */
  constructor(path: string) {
    const real = realpathSync(path)
    // The path too: where it is a link, that may lead elsewhere by now, and with it whoever opens the database anew.
    this.#file = new Opened(path)
    this.#log = new Opened(`${real}-wal`)
    this.#index = new Opened(`${real}-shm`)
  }

  /** Whether the index alone is: then others may work with the same log as if nobody else did. */
  get isIndexLost(): boolean {
    return this.#index.isLost && !this.#file.isLost && !this.#log.isLost
  }

  /** @throws Refusal storage_failed where they are not */
  require(): void {
    if (this.isIndexLost) {
      throw new Refusal(
        'storage_failed',
        'the -shm of the database was removed: stop the server, start again',
      )
    }
    if (this.#file.isLost || this.#log.isLost) {
      // Of a file that was removed, the server holds the last of it.
      const way = 'do not stop the server, move it back with its -wal, or rescue it first (README, Health)'
      throw new Refusal('storage_failed', `the database file was removed or replaced: ${way}`)
    }
  }
}

/** What stood at a path when it was opened, by its device and inode. */
class Opened {
  readonly #id: string | null

  constructor(private readonly path: string) {
    this.#id = idOf(path)
  }

  get isLost(): boolean {
    const id = idOf(this.path)
    return id === null || id !== this.#id
  }
}

function idOf(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
