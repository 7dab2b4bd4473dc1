import { requireActive } from '../../src/domain/copy-note'
import type { FoundServer, ServerNote } from '../../src/domain/upkeep'
import { type ClockReading, readClock } from './clock'
import type { Connection } from './connection'
import type { OnConnection } from './on-connection'
import { patience } from './patience'
import { copyNoteIn, selectCopyNote } from './setting'

/** How often a server tells that it is at work (heartbeat), whether or not it is asked. */
export const beatMillis = 5_000
/** For how long a server that was seen counts as at work. */
const aliveMillis = 15_000
/** For how long a server that ended without a word is told of. */
const rememberedMillis = 24 * 60 * 60 * 1_000

/** The server's clock, by which all nodes are seen: each has its own. */
const serverNow = '(extract(epoch FROM clock_timestamp()) * 1000)::int8'

/** One of the servers of a database, as the others see it. */
export class Node {
  readonly id = crypto.randomUUID()

  constructor(private readonly on: OnConnection) {}

  /**
   * Tells that it is at work, by a transaction that reaches the disk, and the standbys where the server is set so: a full
   * disk or a standby shows here as it does to a booking, and that the database was copied meanwhile.
   *
   * @throws DatabaseFailure; Refusal storage_failed for a database that was left for its copy
   */
  beat(deadlineMillis: number): Promise<void> {
    const seen = `INSERT INTO nodes (id, note, seen_at) VALUES ('${this.id}', '', ${serverNow})
      ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`
    // Nobody but the same node locks its row.
    const limit = `SET LOCAL lock_timeout = ${patience.trialLock}`
    return this.on(async (connection) => {
      const answers = await connection.send(`${connection.begin}${limit};${seen};${selectCopyNote};COMMIT`)
      requireActive(copyNoteIn(answers.at(-2)))
    }, deadlineMillis)
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
    return this.on(async (connection) => {
      if (server === null) await connection.run('DELETE FROM nodes WHERE id = $1', [this.id])
      else {
        await forget(connection, server)
        const put = `INSERT INTO nodes (id, note, seen_at) VALUES ($1, $2, ${serverNow})
          ON CONFLICT (id) DO UPDATE SET note = excluded.note, seen_at = excluded.seen_at`
        await connection.run(put, [this.id, JSON.stringify(server)])
      }
    })
  }
}

/** Those that have not been at work for long, and the one whose address this server has by now. */
async function forget(connection: Connection, { machine, port }: ServerNote): Promise<void> {
  const age = `${serverNow} - seen_at`
  const isFollowed = `note <> '' AND note::json ->> 'machine' = $1 AND note::json ->> 'port' = $2`
  const isGone = `${age} > ${rememberedMillis} OR (${age} > ${aliveMillis} AND ${isFollowed})`
  await connection.run(`DELETE FROM nodes WHERE ${isGone}`, [machine ?? null, `${port}`])
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
