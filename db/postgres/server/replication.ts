import type { Finding } from '../../../src/domain/upkeep'
import type { Connection } from '../client/connection'
import { unseen } from '../where-readable'

export interface Standby {
  readonly name: string
  readonly isSynchronous: boolean
  /** Of the log, not yet on its disk. */
  readonly bytesBehind: number
  /** Until what is written shows on it, in seconds; 0 while nothing is. */
  readonly secondsBehind: number
}

/** How far behind a standby may be before it is told. */
const [mostBytes, mostSeconds] = [64 * 1024 * 1024, 30]

/** Whether what was acknowledged outlives this server. @param synchronousNames synchronous_standby_names, as it is set */
export async function replicationFinding(connection: Connection, synchronousNames = ''): Promise<Finding> {
  const check = 'replication'
  const rows = await connection.run(
    `SELECT application_name, sync_state, pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn)::float8,
       coalesce(extract(epoch FROM replay_lag), 0)::float8, state
     FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup' ORDER BY 1`,
    [],
  )
  if (rows.some((row) => row[4] === null))
    return unseen(check, 'have an administrator grant pg_monitor to the role')
  return judgeReplication(rows.map(toStandby), synchronousNames)
}

function toStandby([name, state, bytes, seconds]: unknown[]): Standby {
  return {
    name: name as string,
    isSynchronous: state === 'sync' || state === 'quorum',
    bytesBehind: Number(bytes ?? 0),
    secondsBehind: Number(seconds),
  }
}

/** What standbys say of what was acknowledged. */
export function judgeReplication(standbys: readonly Standby[], synchronousNames: string): Finding {
  const check = 'replication'
  const hasSynchronous = standbys.some(({ isSynchronous }) => isSynchronous)
  if (synchronousNames !== '' && !hasSynchronous) {
    const detail = 'synchronous_standby_names is set, and no such standby is connected: writes wait for one'
    return { check, state: 'bad', detail, remedy: 'start the standby, or take it out of the setting' }
  }
  const remedy = 'name a standby in synchronous_standby_names'
  if (standbys.length === 0) {
    const detail =
      "no standby that the server tells of: what was acknowledged is as safe as the server's disk"
    return { check, state: 'note', detail }
  }
  const detail = standbys.map(shown).join('; ')
  if (!hasSynchronous) {
    const harm = 'none is synchronous: a failover may lose what was acknowledged last'
    return { check, state: 'note', detail: `${detail}; ${harm}`, remedy }
  }
  const isBehind = standbys.some(
    ({ bytesBehind, secondsBehind }) => bytesBehind > mostBytes || secondsBehind > mostSeconds,
  )
  return { check, state: isBehind ? 'note' : 'ok', detail }
}

function shown({ name, isSynchronous, bytesBehind, secondsBehind }: Standby): string {
  const kind = isSynchronous ? 'synchronous' : 'asynchronous'
  return `${name || 'a standby'} ${kind}, ${bytesBehind} bytes and ${secondsBehind.toFixed(1)} s behind`
}
