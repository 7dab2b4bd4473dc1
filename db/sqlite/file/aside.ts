/** What a thread of its own does: it is not this program's source, which an executable has in one piece alone. */
const source = `
import { Database } from 'bun:sqlite'
onmessage = ({ data: { path, statement, values, busyTimeoutMillis } }) => {
  try {
    const database = new Database(path, { readwrite: true, create: false })
    try {
      database.run('PRAGMA busy_timeout = ' + busyTimeoutMillis)
      const rows = database.query(statement).values(...values)
      // Checkpoint: what others have added to the log meanwhile, which could not be written back, their next commit would
      // write back at once, and they would answer nobody for as long. Where it cannot be done, what was asked for is all the same.
      try {
        database.run('PRAGMA wal_checkpoint(PASSIVE)')
      } catch {}
      postMessage({ rows })
    } finally {
      database.close()
    }
  } catch ({ code, message }) {
    postMessage({ code, message })
  }
}`

const busyTimeoutMillis = 5_000

type Answer = { readonly rows: unknown[][] } | { readonly code: string; readonly message: string }

/**
 * Runs a statement that may take long on a thread and a connection of its own, and tells the rows that it gives. This
 * thread goes on meanwhile: it can tell how far that is, and end when it is asked to.
 *
 * @throws Error with SQLite's code
 */
export async function runAside(path: string, statement: string, ...values: string[]): Promise<unknown[][]> {
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }))
  const worker = new Worker(url)
  try {
    const answer = await new Promise<Answer>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
      worker.postMessage({ path, statement, values, busyTimeoutMillis })
    })
    if ('rows' in answer) return answer.rows
    throw Object.assign(new Error(answer.message), { code: answer.code })
  } finally {
    worker.terminate()
    URL.revokeObjectURL(url)
  }
}
