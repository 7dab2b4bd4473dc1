import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../support/eventually'
import { Postgres, startPostgres } from '../support/postgres'
import { giveToServer } from '../support/postgres-programs'

/** A server and its synchronous standby. */
export interface Pair {
  readonly primary: Postgres
  readonly standby: Postgres
  /** The URL with both hosts, the primary first. */
  readonly url: string
}

export async function startPair(): Promise<Pair> {
  const primary = await startPostgres({ fsync: true, settings: { wal_keep_size: '256MB' } })
  const standby = new Postgres({ fsync: true })
  await primary.stop()
  rmSync(standby.data, { recursive: true })
  const { exitCode } = Bun.spawnSync(['cp', '-a', primary.data, standby.data])
  if (exitCode !== 0) throw new Error('the data could not be copied')
  await primary.start()
  follow(standby, primary)
  await standby.start()
  await primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
  await primary.run('SELECT pg_reload_conf()')
  await eventually('the standby to be synchronous', async () => {
    const [row] = await primary.run<{ sync_state: string }>('SELECT sync_state FROM pg_stat_replication')
    return row?.sync_state === 'sync'
  })
  const [first, second] = [primary, standby].map(({ port }) => `127.0.0.1:${port}`)
  return { primary, standby, url: `postgres://postgres@${first},${second}/postgres` }
}

/** Turns a stopped server into a standby. */
export function follow(standby: Postgres, primary: Postgres): void {
  const from = `host=127.0.0.1 port=${primary.port} user=postgres`
  const lines = [`primary_conninfo = '${from}'`, `unix_socket_directories = '${standby.folder.path}'`]
  appendFileSync(join(standby.data, 'postgresql.conf'), `${lines.join('\n')}\n`)
  writeFileSync(join(standby.data, 'standby.signal'), '')
  giveToServer(join(standby.data, 'standby.signal'))
}
