import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { SQL } from 'bun'
import { eventually } from '../support/eventually'
import { isLong, times } from '../support/long'
import { type Postgres, startPostgres } from '../support/postgres'
import { describeOnPostgres, testOnPostgres } from '../support/postgres-databases'
import { Campaign, failedAtOthers, type Report, showsTimes } from './campaign'
import { cutLink, linkHost, whyNoCut } from './link'
import { Nodes } from './nodes'

setDefaultTimeout(isLong ? 3_600_000 : 300_000)

/** The longest allowed waits in ms: at a healthy node, and at a node without a working database server. */
const [othersMillis, allMillis] = [500, 2_000]
/** Extra time for a busy machine: at least a second, plus twice the longest request before the fault. */
const slackMillis = ({ usualMillis }: Report) => 1_000 + 2 * usualMillis
const everybody = [0, 1, 2, 3]

function expectNoHarmToOthers(report: Report): void {
  expect([report.faults, failedAtOthers(report)]).toEqual([[], {}])
  if (showsTimes(report)) expect(report.longestMillis).toBeLessThan(othersMillis + slackMillis(report))
}

function expectAnswersInTime(report: Report): void {
  if (showsTimes(report)) expect(report.longestAtVictimsMillis).toBeLessThan(allMillis + slackMillis(report))
}

/** The sessions that hold the lock for appending to the audit log. */
const auditLock = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
  AND (classid, objid, mode) = (x'416e7465'::int4::oid, 1, 'ExclusiveLock')`

const testInLong = test.skipIf(!isLong)

const whyNot = whyNoCut()
if (whyNot !== null) console.log(`SKIPPED: the test with a cut network link: ${whyNot}`)
const testOfLink = whyNot === null ? testOnPostgres : test.skip

describeOnPostgres('nodes: four nodes while partners book', () => {
  let server: Postgres
  let nodes: Nodes
  let campaign: Campaign

  beforeAll(async () => {
    const settings = { listen_addresses: `127.0.0.1,${linkHost}` }
    server = await startPostgres({ fsync: true, settings })
    await server.run('CREATE ROLE anteroom LOGIN')
    await server.run('CREATE DATABASE anteroom OWNER anteroom')
    const url = server.urlOf('anteroom').replace('postgres@', 'anteroom@')
    const cut = url.replace('127.0.0.1', linkHost)
    nodes = await Nodes.start([url, url, url, cut], times(24, 400))
    campaign = new Campaign(nodes, () => server.urlOf('anteroom'))
  })

  afterAll(async () => {
    await nodes?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })

  async function again(count: number, millis: number, once: () => Promise<void>): Promise<void> {
    for (let done = 0; done < count; done++) {
      await once()
      if (done + 1 < count) await Bun.sleep(millis * (0.5 + Math.random()))
    }
  }

  async function freeze(signal: (signal: NodeJS.Signals) => void): Promise<void> {
    signal('SIGSTOP')
    await Bun.sleep(times(1_000, 3_000))
    signal('SIGCONT')
  }

  /** Resolves once a session holds the audit lock, or the command has ended. */
  async function locked(command: Bun.Subprocess): Promise<void> {
    await using sql = new SQL(server.urlOf('anteroom'), { max: 1 })
    const isLocked = async () => (await sql.unsafe(auditLock)).length > 0 || command.exitCode !== null
    while (!(await isLocked()));
    await Bun.sleep(Math.random() * 10)
  }

  test('killing a node loses and duplicates no booking, and delays no other node', async () => {
    const report = await campaign.run({
      title: `${times(2, 40)} x kill -9 of a node`,
      victims: [1],
      inject: (nodes) =>
        again(times(2, 40), 300, async () => {
          const node = nodes.node(1)
          node.signal('SIGKILL')
          await node.exit()
          await Bun.sleep(300)
          await nodes.begin(1)
        }),
    })
    expectNoHarmToOthers(report)
  })

  testOnPostgres('freezing a node loses and duplicates no booking, and delays no other node', async () => {
    const report = await campaign.run({
      title: `${times(4, 40)} x SIGSTOP of a node`,
      victims: [2],
      inject: (nodes) => again(times(4, 40), 200, () => freeze((signal) => nodes.node(2).signal(signal))),
    })
    expectNoHarmToOthers(report)
  })

  testOnPostgres(
    'a frozen command delays no node, and after it continues it either succeeds or reports a timeout',
    async () => {
      let issued = 0
      const report = await campaign.run({
        title: `${times(2, 30)} x SIGSTOP of token issue and directory load`,
        victims: [],
        inject: (nodes) =>
          again(times(2, 30), 100, async () => {
            const isLoad = issued % 2 === 0
            const name = `Frozen ${issued++}`
            nodes.rename(name)
            if (!isLoad) await nodes.operator.do('partner', 'add', name, '--organization', 'North Care')
            const words = isLoad ? ['directory', 'load', nodes.directory, '--yes'] : ['token', 'issue', name]
            const command = nodes.command(...words)
            // Freezes a quarter of the commands at a random time. The other commands freeze once a session holds the
            // audit lock.
            if (Math.random() < 0.25) await Bun.sleep(100 + Math.random() * 300)
            else await locked(command)
            await freeze((signal) => command.kill(signal))
            // A command that is frozen while it connects times out with exit code 7, and has changed nothing.
            expect([0, 7]).toContain(await command.exited)
          }),
      })
      expectNoHarmToOthers(report)
    },
  )

  testOfLink(
    'a node cut off from the database server answers in time, loses and duplicates no booking, and delays no other node',
    async () => {
      const report = await campaign.run({
        title: `${times(1, 20)} x cut link of a node`,
        victims: [3],
        inject: () =>
          again(times(1, 20), 1_000, async () => {
            using _ = cutLink()
            await Bun.sleep(3_000)
          }),
      })
      expectNoHarmToOthers(report)
      expectAnswersInTime(report)
    },
  )

  test('killing the database server loses no acknowledged booking, and the nodes recover once it is back', async () => {
    const report = await campaign.run({
      title: `${times(1, 20)} x kill -9 of the server`,
      victims: everybody,
      inject: (nodes) =>
        again(times(1, 20), 1_000, async () => {
          server.kill('SIGKILL')
          await eventually('no node to be ready', async () => !(await nodes.areReady()).includes(true))
          await server.start()
          await eventually('all nodes to be ready', async () => !(await nodes.areReady()).includes(false))
        }),
    })
    expect(report.faults).toEqual([])
    expect(Object.keys(report.failed.victims)).toEqual(['503 storage_busy'])
    expectAnswersInTime(report)
  })

  testOnPostgres(
    'pausing the database server makes no request wait long, and the nodes recover once it continues',
    async () => {
      const report = await campaign.run({
        title: `${times(1, 15)} x SIGSTOP of the server`,
        victims: everybody,
        inject: (nodes) =>
          again(times(1, 15), 1_000, async () => {
            server.pause()
            await Bun.sleep(3_000)
            expect(await nodes.areReady()).toEqual([false, false, false, false])
            server.resume()
            await eventually('all nodes to be ready', async () => !(await nodes.areReady()).includes(false))
          }),
      })
      expect(report.faults).toEqual([])
      expect(Object.keys(report.failed.victims)).toEqual(['503 storage_busy'])
      expectAnswersInTime(report)
    },
  )

  testInLong(
    'while the database server refuses connections, nodes refuse bookings in time, and they recover afterwards',
    async () => {
      const report = await campaign.run({
        title: `${times(1, 10)} x connections refused (53300)`,
        victims: everybody,
        inject: () =>
          again(times(1, 10), 1_000, async () => {
            await server.run('ALTER ROLE anteroom CONNECTION LIMIT 0')
            await server.run(
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'anteroom'",
            )
            await Bun.sleep(times(1_000, 4_000))
            await server.run('ALTER ROLE anteroom CONNECTION LIMIT -1')
          }),
      })
      expect(report.faults).toEqual([])
      expect(Object.keys(report.failed.victims)).toEqual(['503 storage_busy'])
      expectAnswersInTime(report)
    },
  )
})
