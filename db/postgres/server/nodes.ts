import { requireActive } from '../../../src/domain/ports/database-copy'
import type { FoundServer, ServerNote } from '../../../src/domain/ports/maintenance'
import { copyNoteName, parseCopyNote } from '../../settings'
import { type Connection, committing } from '../client/connection'
import type { OnConnection } from '../client/pool'
import { timeouts } from '../client/timeouts'
import { type ClockReading, readClock } from './clock'

export const beatMillis = 5_000
/** In ms. A node counts as running for this long after its last heartbeat. */
const aliveMillis = 15_000
/** In ms. A node that was killed stays in the list for this long. */
const rememberedMillis = 24 * 60 * 60 * 1_000

/** Time in ms. The database server's clock is used, because the clocks of nodes differ. */
const serverNow = '(extract(epoch FROM clock_timestamp()) * 1000)::int8'
const isAlive = `${serverNow} - seen_at <= ${aliveMillis}`

const copyNote = `SELECT convert_from(value, 'UTF8') FROM settings WHERE name = '${copyNoteName}'`

export class Node {
  readonly id = crypto.randomUUID()
  #noted: ServerNote | null = null

  constructor(private readonly on: OnConnection) {}

  /**
   * Stores a heartbeat. The commit fails if the disk or a synchronous standby fails.
   * @throws DatabaseFailure, or Refusal database_unusable if the database was copied
   */
  beat(): Promise<void> {
    const seen = `INSERT INTO nodes (id, note, seen_at) VALUES ('${this.id}', '', ${serverNow})
      ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at RETURNING note`
    // A short timeout is enough, because other nodes lock this row only briefly.
    const limit = `SET LOCAL lock_timeout = ${timeouts.lock / 2}`
    return this.on(async (connection) => {
      const [, , rows, , copied] = await connection.send(
        `${connection.begin}${limit};${seen};${forgetGone(this.id)};${copyNote};${committing}`,
      )
      requireActive(parseCopyNote((copied?.[0]?.[0] as string | undefined) ?? null))
      if (rows?.[0]?.[0] === '' && this.#noted) await this.#put(connection, this.#noted)
    })
  }

  /** Stores readiness only if it changed. @throws DatabaseFailure */
  async noteReadiness(isReady: boolean): Promise<void> {
    const noted = this.#noted
    if (noted === null || (noted.isReady ?? true) === isReady) return
    const next = { ...noted, isReady }
    await this.on((connection) =>
      connection.run('UPDATE nodes SET note = $2 WHERE id = $1', [this.id, JSON.stringify(next)]),
    )
    if (this.#noted === noted) this.#noted = next
  }

  /** @throws DatabaseFailure */
  readClock(): Promise<ClockReading> {
    return this.on((connection) => readClock(connection))
  }

  /** Returns the database size in bytes. Slow, because the server reads the size of each file. @throws DatabaseFailure */
  readSize(): Promise<number> {
    return this.on(async (connection) => {
      const [row] = await connection.run('SELECT pg_database_size(current_database())::float8')
      return Number(row?.[0])
    })
  }

  /** Stores where this node listens; null removes the node from the list. */
  note(server: ServerNote | null): Promise<void> {
    this.#noted = server
    return this.on(async (connection) => {
      if (server === null) await connection.run('DELETE FROM nodes WHERE id = $1', [this.id])
      else {
        await this.#put(connection, server)
        await connection.run(forgetGone(this.id))
      }
    })
  }

  async #put(connection: Connection, server: ServerNote): Promise<void> {
    const put = `INSERT INTO nodes (id, note, seen_at) VALUES ($1, $2, ${serverNow})
      ON CONFLICT (id) DO UPDATE SET note = excluded.note, seen_at = excluded.seen_at`
    await connection.run(put, [this.id, JSON.stringify(server)])
  }
}

/**
 * SQL that deletes the rows of replaced nodes and of long stopped nodes. Skips locked rows: nodes must not wait for
 * each other.
 */
function forgetGone(id: string): string {
  const age = `${serverNow} - gone.seen_at`
  const isSame = (field: string) =>
    `nullif(gone.note, '')::json ->> '${field}' = nullif(own.note, '')::json ->> '${field}'`
  const isReplaced = `${age} > ${aliveMillis} AND ${isSame('machine')} AND ${isSame('port')}`
  return `DELETE FROM nodes WHERE id IN (SELECT gone.id FROM nodes AS gone, nodes AS own
    WHERE own.id = '${id}' AND gone.id <> own.id AND (${age} > ${rememberedMillis} OR ${isReplaced})
    FOR UPDATE OF gone SKIP LOCKED)`
}

/** Returns nodes in order of the last heartbeat, newest first. Includes nodes that were killed. */
export async function listServers(connection: Connection): Promise<FoundServer[]> {
  const rows = await connection.run(
    `SELECT note, seen_at, ${isAlive} FROM nodes WHERE note <> '' ORDER BY seen_at DESC, id`,
  )
  return rows.map(([note, seenAt, isServing]) => ({
    isServing: isServing as boolean,
    note: JSON.parse(note as string),
    seenAt: Number(seenAt),
  }))
}

/** True if a node runs, or was killed a moment ago. */
export async function hasLiveNodes(connection: Connection): Promise<boolean> {
  const [row] = await connection.run(`SELECT EXISTS (SELECT 1 FROM nodes WHERE ${isAlive})`)
  return row?.[0] === true
}
