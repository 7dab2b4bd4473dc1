import { requireActive } from '../../../src/domain/copy-note'
import type { FoundServer, ServerNote } from '../../../src/domain/upkeep'
import { copyNoteName, parseCopyNote } from '../../settings'
import { type Connection, committing } from '../client/connection'
import type { OnConnection } from '../client/pool'
import { timeouts } from '../client/timeouts'
import { type ClockReading, readClock } from './clock'

/** How often a server tells that it is at work (heartbeat), whether or not it is asked. */
export const beatMillis = 5_000
/** For how long a server that was seen counts as at work. */
const aliveMillis = 15_000
/** For how long a server that ended without a word is told of. */
const rememberedMillis = 24 * 60 * 60 * 1_000

/** The server's clock, by which all nodes are seen: each has its own. */
const serverNow = '(extract(epoch FROM clock_timestamp()) * 1000)::int8'

const selectCopyNote = `SELECT convert_from(value, 'UTF8') FROM settings WHERE name = '${copyNoteName}'`

/** One of the servers of a database, as the others see it. */
export class Node {
  readonly id = crypto.randomUUID()
  #noted: ServerNote | null = null

  constructor(private readonly on: OnConnection) {}

  /**
   * Notes that it is at work, in a transaction that reaches the disk and the standbys as a booking does, so that their failure
   * shows. If others took it for gone, it notes again what it listens on.
   *
   * @throws DatabaseFailure; Refusal database_unusable if the database was copied
   */
  beat(): Promise<void> {
    const seen = `INSERT INTO nodes (id, note, seen_at) VALUES ('${this.id}', '', ${serverNow})
      ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at RETURNING note`
    // Others lock its row for the moment in which they remove it.
    const limit = `SET LOCAL lock_timeout = ${timeouts.lock / 2}`
    return this.on(async (connection) => {
      const answers = await connection.send(
        `${connection.begin}${limit};${seen};${forgetGone(this.id)};${selectCopyNote};${committing}`,
      )
      // BEGIN, the limit, the row, those that are gone, the copy's note.
      const [, , rows, , copied] = answers
      requireActive(parseCopyNote((copied?.[0]?.[0] as string | undefined) ?? null))
      if (rows?.[0]?.[0] === '' && this.#noted) await this.#put(connection, this.#noted)
    })
  }

  /** Notes, where that has changed, whether what partners send can be stored by it. @throws DatabaseFailure */
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

  /** How large the database is, in bytes: the server asks its disk for each of the files. @throws DatabaseFailure */
  readSize(): Promise<number> {
    return this.on(async (connection) => {
      const [row] = await connection.run('SELECT pg_database_size(current_database())::float8', [])
      return Number(row?.[0])
    })
  }

  /** Notes what it listens on; null once it does no more. */
  note(server: ServerNote | null): Promise<void> {
    this.#noted = server
    return this.on(async (connection) => {
      if (server === null) await connection.run('DELETE FROM nodes WHERE id = $1', [this.id])
      else {
        await this.#put(connection, server)
        await connection.run(forgetGone(this.id), [])
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
 * Removes those that have not been at work for long, and those whose place a node has by now. A row that another node locks is
 * left for the next time: nobody waits for one another.
 */
function forgetGone(id: string): string {
  const age = `${serverNow} - gone.seen_at`
  const isSame = (field: string) =>
    `nullif(gone.note, '')::json ->> '${field}' = nullif(own.note, '')::json ->> '${field}'`
  const isFollowed = `${age} > ${aliveMillis} AND ${isSame('machine')} AND ${isSame('port')}`
  return `DELETE FROM nodes WHERE id IN (SELECT gone.id FROM nodes AS gone, nodes AS own
    WHERE own.id = '${id}' AND gone.id <> own.id AND (${age} > ${rememberedMillis} OR ${isFollowed})
    FOR UPDATE OF gone SKIP LOCKED)`
}

/** The servers that noted what they listen on, the newest first, those too that ended without taking it away. */
export async function listServers(connection: Connection): Promise<FoundServer[]> {
  const isAlive = `${serverNow} - seen_at <= ${aliveMillis}`
  const rows = await connection.run(
    `SELECT note, seen_at, ${isAlive} FROM nodes WHERE note <> '' ORDER BY seen_at DESC, id`,
    [],
  )
  return rows.map(([note, seenAt, isServing]) => ({
    isServing: isServing as boolean,
    note: JSON.parse(note as string),
    seenAt: Number(seenAt),
  }))
}

/** Whether a server is at work, or was a moment ago. */
export async function hasLiveNodes(connection: Connection): Promise<boolean> {
  const isAlive = `${serverNow} - seen_at <= ${aliveMillis}`
  const [row] = await connection.run(`SELECT EXISTS (SELECT 1 FROM nodes WHERE ${isAlive})`, [])
  return row?.[0] === true
}
