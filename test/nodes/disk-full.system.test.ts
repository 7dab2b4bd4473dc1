import { expect, setDefaultTimeout, test } from 'bun:test'
import { appendFileSync, renameSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { isLong, times } from '../support/long'
import { Postgres } from '../support/postgres'
import { testOnPostgres } from '../support/postgres-databases'
import { Campaign } from './campaign'
import { Nodes } from './nodes'

setDefaultTimeout(isLong ? 3_600_000 : 300_000)

/** Runs only in test:long, because it mounts a disk, fills it, and makes the database server crash. */
const testInLong = isLong ? testOnPostgres : test.skip

/** Moves a server's data to a small tmpfs. Returns null if no tmpfs can be mounted. Disposing unmounts it. */
function smallDisk({ data }: Postgres, megabytes: number): Disposable | null {
  const aside = `${data}-aside`
  renameSync(data, aside)
  const script = `mkdir "$1" && mount -t tmpfs -o size=${megabytes}m tmpfs "$1" && cp -a "$2/." "$1"`
  const { exitCode } = Bun.spawnSync(['sh', '-c', script, 'sh', data, aside])
  if (exitCode === 0) return { [Symbol.dispose]: () => void Bun.spawnSync(['umount', '-l', data]) }
  rmSync(data, { recursive: true, force: true })
  renameSync(aside, data)
  return null
}

/** Fills the free space of a disk, even if the server takes some of it meanwhile. */
function fill(file: string): void {
  const left = () => statfsSync(join(file, '..'))
  try {
    for (let { bavail, bsize } = left(); bavail > 0; { bavail, bsize } = left())
      appendFileSync(file, Buffer.alloc(bavail * bsize))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

testInLong(
  'nodes: a database server with a full disk refuses bookings, loses none, and recovers once there is space',
  async () => {
    await using server = new Postgres({ fsync: true })
    using disk = smallDisk(server, 160)
    if (!disk) return console.log('SKIPPED: the test with a full disk: no disk can be mounted')
    await server.start()
    await using nodes = await Nodes.start([server.url, server.url], times(20, 60))
    const campaign = new Campaign(nodes, () => server.url)
    const filler = join(server.data, 'filler')
    const report = await campaign.run({
      title: `${times(1, 5)} x full disk of the server`,
      victims: [0, 1],
      async inject() {
        for (let full = 0; full < times(1, 5); full++) {
          fill(filler)
          await Bun.sleep(times(2_000, 5_000))
          rmSync(filler)
          // PostgreSQL stops if it cannot write its write-ahead log.
          if (!server.isRunning) await server.start()
          await Bun.sleep(1_000)
        }
      },
    })
    expect(report.faults).toEqual([])
    expect(report.longestAtVictimsMillis).toBeLessThan(3_000 + 2 * report.usualMillis)
    expect(Object.keys(report.failed.victims).filter((what) => !what.startsWith('503'))).toEqual([])
  },
)
