import { openSync, realpathSync, statSync } from 'node:fs'
import { Refusal } from '../../../src/domain/errors'
import { transactionsBetween, userVersionIn } from './head'

/**
 * Sees whether a database's file, its log and the log's index are still those that were opened. The system goes on writing
 * to a file that was unlinked or replaced, and nobody finds there what is written. The index holds the locks too: with
 * another one, two processes write over each other's part of the log.
 */
export class Standing {
  readonly #file: Opened
  readonly #log: Opened
  readonly #index: Opened
  #content: Content | null = null

  /** @param path of a database that this process has open, with its log */
  constructor(path: string) {
    const real = realpathSync(path)
    // The path too: where it is a link, that may lead elsewhere by now, and with it whoever opens the database anew.
    this.#file = new Opened(path)
    this.#log = new Opened(`${real}-wal`)
    this.#index = new Opened(`${real}-shm`)
  }

  /**
   * Sees from now on whether the file is written over where it stands, too, as `cp` does: for one server in a process.
   *
   * @param newest tells the database's user_version, its log included
   */
  holdContent(path: string, newest: () => number): void {
    this.#content ??= new Content(path, newest)
  }

  /** Whether the index alone is lost: then others may work with the same log as if nobody else did. */
  get isIndexLost(): boolean {
    return this.#index.isLost && !this.#file.isLost && !this.#log.isLost
  }

  /** Whether the file is another database's now: what is written back to it would destroy that one. */
  get isOverwritten(): boolean {
    return this.#content?.isOverwritten ?? false
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
      const way =
        'do not stop the server, move it back with its -wal, or rescue it first (docs/running.md, Health)'
      throw new Refusal('storage_failed', `the database file was removed or replaced: ${way}`)
    }
    if (this.isOverwritten) {
      const way = 'what it held is gone; stop the server, and start with what was put there or a backup'
      throw new Refusal('storage_failed', `the database file was written over: ${way}`)
    }
  }
}

/** What is in a file while a server has it open: its head goes on with the transactions that were written back to it. */
class Content {
  // Never closed: with any descriptor of a file that is closed the process gives up the locks that SQLite holds on it.
  readonly #file: number
  #seen: number

  constructor(
    path: string,
    private readonly newest: () => number,
  ) {
    this.#file = openSync(path, 'r')
    this.#seen = userVersionIn(this.#file) ?? 0
  }

  get isOverwritten(): boolean {
    const found = userVersionIn(this.#file)
    if (found === this.#seen) return false
    // A copy that anteroom makes counts from another number on, and an older one is behind.
    if (found === null) return true
    if (transactionsBetween(this.#seen, found) > transactionsBetween(this.#seen, this.newest())) return true
    this.#seen = found
    return false
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
