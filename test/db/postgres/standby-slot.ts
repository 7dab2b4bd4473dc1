import { eventually } from '../../support/eventually'
import type { Postgres } from '../../support/postgres'

/** Creates the replication slot of a disconnected standby. The server keeps deleted rows for this standby. */
export async function leaveStandbySlot(server: Postgres, name: string): Promise<void> {
  await server.run(`SELECT pg_create_physical_replication_slot('${name}')`)
  const [found] = await server.run<{ xmin: string; lsn: string }>(
    'SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xmin, pg_current_wal_lsn()::text AS lsn',
  )
  const { xmin = '0', lsn } = found ?? {}
  const slot = async (is: string) =>
    (await server.run(`SELECT 1 FROM pg_replication_slots WHERE slot_name = '${name}' AND ${is}`)).length > 0
  const socket = await Bun.connect({ hostname: '127.0.0.1', port: server.port, socket: { data() {} } })
  socket.write(
    Buffer.concat([
      startup,
      message('Q', Buffer.from(`START_REPLICATION SLOT ${name} PHYSICAL ${lsn}\0`)),
      message('d', feedback(BigInt(xmin))),
    ]),
  )
  await eventually('the slot to have an xmin', () => slot('xmin IS NOT NULL'))
  socket.end()
  await eventually('the standby to disconnect', () => slot('NOT active'))
}

/** PostgreSQL §55.7: the StartupMessage of protocol 3.0, for a replication connection (§55.4). */
const startup = withLength(
  Buffer.concat([Buffer.from([0, 3, 0, 0]), Buffer.from('user\0postgres\0replication\0true\0\0')]),
)

/** A hot standby feedback message (§55.4). Its xmin is the oldest visible transaction, and its catalog xmin is 0. */
function feedback(xmin: bigint): Buffer {
  const body = Buffer.alloc(25)
  body.write('h')
  body.writeUInt32BE(Number(xmin & 0xffffffffn), 9)
  body.writeUInt32BE(Number(xmin >> 32n), 13)
  return body
}

function message(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), withLength(body)])
}

function withLength(body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length + 4)
  return Buffer.concat([length, body])
}
