import { isDamage } from '../query-engine'

/** Source of the background thread. Imports only modules of Bun, so that it also runs in the executable. */
const source = `
import { Database } from 'bun:sqlite'
const run = (path, statement, values) => {
  const database = new Database(path, { readwrite: true, create: false })
  try {
    database.run('PRAGMA busy_timeout = 5000')
    const rows = database.query(statement).values(...values)
    // Moves the log into the file now. Otherwise the server's next commit would do that and block all requests.
    try {
      database.run('PRAGMA wal_checkpoint(PASSIVE)')
    } catch {}
    return rows
  } finally {
    database.close()
  }
}
onmessage = ({ data: { path, statement, values } }) => {
  try {
    postMessage({ rows: run(path, statement, values) })
  } catch ({ code, message }) {
    postMessage({ code, message })
  }
}`

type Answer = { readonly rows: unknown[][] } | { readonly code: string; readonly message: string }

/** Runs a statement on a separate connection and thread. @throws Error with SQLite's code */
export async function runAside(
  path: string,
  statement: string,
  values: readonly string[] = [],
  isBackground = false,
): Promise<unknown[][]> {
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }))
  const worker = new Worker(url, { ref: !isBackground, smol: true })
  try {
    const answer = await new Promise<Answer>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
      worker.postMessage({ path, statement, values })
    })
    if ('rows' in answer) return answer.rows
    throw Object.assign(new Error(answer.message), { code: answer.code })
  } finally {
    worker.terminate()
    URL.revokeObjectURL(url)
  }
}

export type Verdict = 'sound' | 'damaged' | 'unchecked'

export interface QuickCheck {
  /** Stops the check. Resolves when the check no longer reads the log, or after a timeout. */
  stop(): Promise<void>
}

/** Maximum wait in ms for a running check, because SQLite cannot interrupt the check. */
const stoppingMillis = 2_000

/** Checks the pages of the file in the background. @param onVerdict gets the result, unless stop() was called */
export function beginQuickCheck(path: string, onVerdict: (verdict: Verdict) => void): QuickCheck {
  let isStopped = false
  const over = runAside(path, 'PRAGMA quick_check', [], true)
    .then(
      (rows): Verdict => (rows.flat().some(isPageFault) ? 'damaged' : 'sound'),
      (error): Verdict => (isDamage(error) ? 'damaged' : 'unchecked'),
    )
    .then((verdict) => {
      if (!isStopped) onVerdict(verdict)
    })
  return {
    async stop() {
      isStopped = true
      const { promise, resolve } = Promise.withResolvers<void>()
      // The timer keeps the process alive; the background thread does not.
      const waiting = setTimeout(resolve, stoppingMillis)
      await Promise.race([over, promise])
      clearTimeout(waiting)
    },
  }
}

/** Returns false for a record that violates a constraint. Doctor reports such records separately. */
export function isPageFault(line: unknown): boolean {
  return line !== 'ok' && !/^(CHECK constraint failed|NULL value) in /.test(String(line))
}
