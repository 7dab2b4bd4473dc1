import { realpathSync, statSync } from 'node:fs'
import { Refusal } from '../../src/domain/errors'

/**
 * Sees whether a database's file and its log are still those that were opened. The system goes on writing to a file that
 * was unlinked or replaced, and nobody finds there what is written.
 */
export class Standing {
  readonly #files: readonly string[]
  readonly #opened: string

  /** @param path of a database that this process has open, with its log */
  constructor(path: string) {
    // The path too: where it is a link, that may lead elsewhere by now, and with it whoever opens the database anew.
    this.#files = [path, `${realpathSync(path)}-wal`]
    this.#opened = this.#found()
  }

  get isLost(): boolean {
    return this.#found() !== this.#opened
  }

  /** @throws Refusal storage_failed where they are not */
  require(): void {
    if (this.isLost) {
      // Of a file that was removed, the server holds the last of it.
      const way = 'do not stop the server, move it back with its -wal, or rescue it first (README, Health)'
      throw new Refusal('storage_failed', `the database file was removed or replaced: ${way}`)
    }
  }

  /** The device and the inode of each. */
  #found(): string {
    try {
      return this.#files.map(idOf).join()
    } catch {
      return ''
    }
  }
}

function idOf(file: string): string {
  const { dev, ino } = statSync(file, { bigint: true })
  return `${dev}:${ino}`
}
