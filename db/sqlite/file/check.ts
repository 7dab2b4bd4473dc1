/** What a check of a database says, or that it could not be made. */
export type Verdict = 'sound' | 'damaged' | 'unchecked'

/** A check under way. */
export interface QuickCheck {
  /** Resolves once it no longer holds the log, whether or not it came to a verdict. */
  stop(): Promise<void>
}

/** How long a stop waits: SQLite ends no statement midway. The log of a check that is longer stays for the next start. */
const stoppingMillis = 2_000

// It runs beside those who are answered, in a thread and on a connection of its own. The runtime alone is imported, so that
// it runs from within the executable too. What a single record holds against a rule is doctor's to tell: the file is sound.
// Checkpoint: what was added to the log meanwhile the server's next commit would write back, and it would answer nobody for
// as long. As much as it writes back at any commit, SQLite's 1,000 pages, is left to it.
const source = `import { Database } from 'bun:sqlite'
import { realpathSync, statSync } from 'node:fs'
const mostLeft = 4 * 2 ** 20
const ofRecords = /^(CHECK constraint failed|NULL value) in /
const check = (path) => {
  const database = new Database(path, { readonly: true })
  try {
    database.run('PRAGMA busy_timeout = 5000')
    const lines = database.query('PRAGMA quick_check').values().flat()
    return lines.every((line) => line === 'ok' || ofRecords.test(line)) ? 'sound' : 'damaged'
  } finally {
    database.close()
  }
}
const writeBack = (path) => {
  if (statSync(realpathSync(path) + '-wal').size <= mostLeft) return
  const database = new Database(path, { readwrite: true, create: false })
  try {
    database.run('PRAGMA wal_checkpoint(PASSIVE)')
  } finally {
    database.close()
  }
}
onmessage = ({ data: { path, stopped } }) => {
  if (Atomics.load(stopped, 0) === 1) return postMessage('unchecked')
  try {
    const verdict = check(path)
    try {
      if (verdict === 'sound' && Atomics.load(stopped, 0) === 0) writeBack(path)
    } catch {}
    postMessage(verdict)
  } catch ({ code }) {
    postMessage(/^SQLITE_(CORRUPT|NOTADB)/.test(code) ? 'damaged' : 'unchecked')
  }
}
`

/** Begins to look through the pages of a database that is open (quick_check). */
export function beginQuickCheck(path: string, tell: (verdict: Verdict) => void): QuickCheck {
  const url = URL.createObjectURL(new Blob([source], { type: 'application/javascript' }))
  const worker = new Worker(url, { ref: false, smol: true })
  const stopped = new Int32Array(new SharedArrayBuffer(4))
  const over = new Promise<Verdict>((resolve) => {
    worker.onmessage = ({ data }) => resolve(data)
    worker.onerror = () => resolve('unchecked')
  }).then((verdict) => {
    URL.revokeObjectURL(url)
    worker.terminate()
    if (stopped[0] === 0) tell(verdict)
  })
  worker.postMessage({ path, stopped })
  return {
    async stop() {
      Atomics.store(stopped, 0, 1)
      const { promise, resolve } = Promise.withResolvers<void>()
      // The process would not wait for the thread.
      const waiting = setTimeout(resolve, stoppingMillis)
      await Promise.race([over, promise])
      clearTimeout(waiting)
    },
  }
}
