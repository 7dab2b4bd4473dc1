import { openSync, readSync, realpathSync } from 'node:fs'

/** The length and version of the index's head, in words (SQLite, WAL-Index File Format, 2.1). */
const [headWords, formatVersion] = [12, 3_007_000]

/**
 * Sees whether anything was committed to a database, by this process or another: by the head of its write-ahead log's
 * index, which changes with each commit, and by which SQLite itself tells that when it begins to read. It is asked for each
 * request: PRAGMA data_version begins and ends a read for the same, and takes three times as long.
 */
export class LogIndex {
  // Never closed: with any descriptor of a file that is closed the process gives up the locks that SQLite holds on it.
  readonly #file: number | null
  #head = new Uint32Array(headWords)
  #next = new Uint32Array(headWords)
  #changes = 0

  /** @param path of a database that this process has open, with its log */
  constructor(path: string) {
    this.#file = openIndex(path)
  }

  /** A number that is another one after each commit; null where the index cannot be read, or is of another form. */
  get stamp(): number | null {
    const head = this.#head
    const next = this.#next
    if (!this.#read(next) || next[0] !== formatVersion) return null
    if (!isSame(head, next)) {
      this.#changes++
      ;[this.#head, this.#next] = [next, head]
    }
    return this.#changes
  }

  #read(into: Uint32Array): boolean {
    if (this.#file === null) return false
    try {
      return readSync(this.#file, into, 0, into.byteLength, 0) === into.byteLength
    } catch {
      // Whoever then asks what has changed is told why.
      return false
    }
  }
}

function openIndex(path: string): number | null {
  try {
    return openSync(`${realpathSync(path)}-shm`, 'r')
  } catch {
    return null
  }
}

function isSame(head: Uint32Array, next: Uint32Array): boolean {
  for (let word = 0; word < headWords; word++) if (head[word] !== next[word]) return false
  return true
}
