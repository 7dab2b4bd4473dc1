import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { DatabaseFailure } from '../../../db/postgres/client/failure'
import { openDatabase } from '../../../db/postgres/open'
import { Health } from '../../../db/postgres/server/health'
import { hasLiveNodes, listServers, Node } from '../../../db/postgres/server/nodes'
import { eventually } from '../../support/eventually'
import { FakeClock } from '../../support/held-time'
import { useLongTimeouts, useRealTimeouts } from '../../support/patience'
import { runSql, startPostgres } from '../../support/postgres'
import { describeOnPostgres } from '../../support/postgres-databases'
import { millisOf } from '../../support/standstill'
import { connectTo, newTestDatabase, openingOf } from './connections'

beforeAll(useRealTimeouts)
afterAll(useLongTimeouts)

// Starting a server takes long on a busy machine.
setDefaultTimeout(300_000)

describeOnPostgres('postgres: health of a database', () => {
  test('1,000 health checks within a second cause one committed test write', async () => {
    using time = new FakeClock()
    await using made = await newTestDatabase()
    const logged: string[] = []
    const node = new Node(made.on)
    const watched = new Health(node).watch((line) => logged.push(line), false)
    const seen = async () =>
      (await runSql<{ xmin: string }>(made.url, 'SELECT xmin::text FROM nodes')).map(({ xmin }) => xmin)
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => watched.isReady()))
    const [first] = await seen()
    answers.push(await watched.isReady())
    expect(new Set(answers)).toEqual(new Set([true]))
    expect(await seen()).toEqual([first as string])
    time.pass(1_001)
    expect(await watched.isReady()).toBe(true)
    expect(await seen()).not.toEqual([first as string])
    expect(logged).toEqual([])
  })

  test('a server is not ready while writes take over a second', async () => {
    await using made = await newTestDatabase()
    const logged: string[] = []
    const watched = new Health(new Node(made.on)).watch((line) => logged.push(line), false)
    await made.on(async (connection) => {
      await connection.send('BEGIN; LOCK TABLE nodes IN ACCESS EXCLUSIVE MODE')
      const both = async () =>
        expect(await Promise.all([watched.isReady(), watched.isReady()])).toEqual([false, false])
      expect(await millisOf(both)).toBeLessThan(1_300)
      expect(await watched.isReady()).toBe(false)
      await connection.send('COMMIT')
    }, 5_000)
    expect(logged).toEqual([
      'not ready: the database could not process this now, so nothing was stored (55P03)',
    ])
    await Bun.sleep(1_050)
    expect(await watched.isReady()).toBe(true)
    expect(logged.slice(1)).toEqual(['ready again'])
  })

  test('a node is not ready while the database server is stopped, and recovers when it starts', async () => {
    await using server = await startPostgres()
    await using made = connectTo(server.url)
    await openDatabase(made.on, openingOf(server.url))
    const logged: string[] = []
    const watched = new Health(new Node(made.on)).watch((line) => logged.push(line), false)
    expect(await watched.isReady()).toBe(true)
    await server.stop()
    await Bun.sleep(1_050)
    expect(await watched.isReady()).toBe(false)
    await Bun.sleep(1_050)
    expect(await watched.isReady()).toBe(false)
    expect(logged).toHaveLength(1)
    expect(logged[0]).toStartWith('not ready: the')
    await server.start()
    await Bun.sleep(1_050)
    expect(await watched.isReady()).toBe(true)
    expect(logged.slice(1)).toEqual(['ready again'])
  })
})

describeOnPostgres('postgres: the list of live nodes', () => {
  test('a node is listed as live from its first heartbeat until its end', async () => {
    await using made = await newTestDatabase()
    const health = new Health(new Node(made.on))
    health.watch(() => {}, true)
    await eventually('the first heartbeat', () => made.on(hasLiveNodes))
    await health.end()
    expect(await made.on(hasLiveNodes)).toBe(false)
  })
})

test('postgres: a full disk makes a node not ready, and a full queue or a retryable failure does not', () => {
  const health = new Health({} as Node)
  for (const meaning of ['busy', 'constraint', 'retry'] as const) {
    health.noteFailed(new DatabaseFailure(meaning))
    expect(health.isFaultless).toBe(true)
  }
  health.noteFailed(new DatabaseFailure('full'))
  expect(health.isFaultless).toBe(false)
})

test('postgres: a stopping server waits for its test write and then leaves the node list', async () => {
  const done: string[] = []
  const node = {
    async beat() {
      await Bun.sleep(200)
      done.push('beat')
    },
    note: async () => void done.push('leave'),
    noteReadiness: async () => {},
    readClock: () => Promise.reject(new Error('is not asked')),
  } as Partial<Node>
  const health = new Health(node as Node)
  const watched = health.watch(() => {}, true)
  await eventually('the first heartbeat', () => done.length === 1)
  await Bun.sleep(1_050)
  const answers = [watched.isReady()]
  await health.end()
  await Bun.sleep(1_050)
  answers.push(watched.isReady())
  await Promise.all(answers)
  expect(done).toEqual(['beat', 'beat', 'leave'])
})

test('postgres: a server with a wrong clock is listed as not ready', async () => {
  const noted: boolean[] = []
  const node: Partial<Node> = {
    beat: async () => {},
    note: async () => {},
    readClock: async () => ({ difference: 90_000, doubt: 0 }),
    readSize: async () => 0,
    noteReadiness: async (isReady) => void noted.push(isReady),
  }
  const health = new Health(node as Node)
  health.watch(() => {}, true)
  await eventually('the first clock reading', () => noted.length === 1)
  await health.end()
  expect(noted).toEqual([false])
})

const note = { host: '127.0.0.1', port: 8080, machine: 'one', version: '1.0.0', startedAt: 5 }

describeOnPostgres('postgres: the list of servers', () => {
  test('a server is listed for as long as its address is registered', async () => {
    await using made = await newTestDatabase()
    const [one, other] = [new Node(made.on), new Node(made.on)]
    await one.beat()
    expect(await made.on(listServers)).toEqual([])
    await one.note(note)
    await other.note({ ...note, machine: 'other' })
    const listed = await made.on(listServers)
    const byMachine = listed.toSorted((a, b) => ((a.note?.machine ?? '') < (b.note?.machine ?? '') ? 1 : -1))
    expect(byMachine.map(({ isServing, note }) => [isServing, note])).toEqual([
      [true, { ...note, machine: 'other' }],
      [true, note],
    ])
    const [clock] = await runSql<{ now: string }>(made.url, 'SELECT extract(epoch FROM now())::text AS now')
    for (const { seenAt } of listed) expect(Number(clock?.now) * 1_000 - (seenAt ?? 0)).toBeWithin(-1, 10_000)
    await one.note(null)
    expect((await made.on(listServers)).map(({ note }) => note?.machine)).toEqual(['other'])
  })

  test('the list shows whether a server is ready', async () => {
    await using made = await newTestDatabase()
    const node = new Node(made.on)
    const readiness = async () => (await made.on(listServers)).map(({ note }) => note?.isReady)
    await node.noteReadiness(false)
    expect(await readiness()).toEqual([])
    await node.note(note)
    expect(await readiness()).toEqual([undefined])
    for (const isReady of [false, true]) {
      await node.noteReadiness(isReady)
      expect(await readiness()).toEqual([isReady])
    }
    await node.noteReadiness(false)
    await runSql(made.url, 'DELETE FROM nodes')
    await node.beat()
    expect(await readiness()).toEqual([false])
    await node.note(null)
    await node.noteReadiness(true)
    expect(await readiness()).toEqual([])
  })

  test('a killed server is listed as dead until a day has passed or its address is reused', async () => {
    await using made = await newTestDatabase()
    await new Node(made.on).note(note)
    await runSql(made.url, 'UPDATE nodes SET seen_at = seen_at - 20000')
    expect(await made.on(listServers)).toMatchObject([{ isServing: false, note }])
    await new Node(made.on).note({ ...note, machine: 'other' })
    await new Node(made.on).note({ ...note, port: 8082 })
    expect(await made.on(listServers)).toHaveLength(3)
    await new Node(made.on).note({ ...note, startedAt: 9 })
    expect((await made.on(listServers)).map(({ isServing }) => isServing)).toEqual([true, true, true])
    await runSql(made.url, 'UPDATE nodes SET seen_at = seen_at - 25 * 60 * 60 * 1000')
    await new Node(made.on).note({ ...note, port: 8081 })
    expect((await made.on(listServers)).map(({ note }) => note?.port)).toEqual([8081])
  })

  test('a restarted server replaces the earlier server at the same address', async () => {
    await using made = await newTestDatabase()
    const ages = (seconds: number, node: Node) =>
      runSql(made.url, `UPDATE nodes SET seen_at = seen_at - ${seconds * 1_000} WHERE id = '${node.id}'`)
    const listed = async () =>
      (await made.on(listServers))
        .map(({ isServing, note }) => [isServing, note?.machine, note?.startedAt])
        .toSorted((a, b) => Number(a[2]) - Number(b[2]))
    const [former, elsewhere, container, next] = [1, 2, 3, 4].map(() => new Node(made.on)) as [
      Node,
      Node,
      Node,
      Node,
    ]
    await former.note(note)
    await elsewhere.note({ ...note, machine: 'other', startedAt: 6 })
    await container.note({ ...note, startedAt: 7 })
    await next.note({ ...note, startedAt: 8 })
    for (const node of [former, elsewhere]) await ages(14, node)
    await next.beat()
    expect(await listed()).toEqual([
      [true, 'one', 5],
      [true, 'other', 6],
      [true, 'one', 7],
      [true, 'one', 8],
    ])
    for (const node of [former, elsewhere]) await ages(2, node)
    await next.beat()
    expect(await listed()).toEqual([
      [false, 'other', 6],
      [true, 'one', 7],
      [true, 'one', 8],
    ])
  })

  test('a frozen server is listed again after the freeze', async () => {
    await using made = await newTestDatabase()
    const [still, other] = [new Node(made.on), new Node(made.on)]
    await still.note(note)
    await other.note({ ...note, startedAt: 9 })
    await runSql(made.url, `UPDATE nodes SET seen_at = seen_at - 20000 WHERE id = '${still.id}'`)
    await other.beat()
    expect((await made.on(listServers)).map(({ note }) => note?.startedAt)).toEqual([9])
    await still.beat()
    const listed = await made.on(listServers)
    expect(listed.map(({ isServing, note }) => [isServing, note?.startedAt])).toEqual([
      [true, 5],
      [true, 9],
    ])
    await still.note(null)
    await still.beat()
    expect((await made.on(listServers)).map(({ note }) => note?.startedAt)).toEqual([9])
  })

  test('simultaneous heartbeats of all nodes do not block each other', async () => {
    await using made = await newTestDatabase()
    const nodes = Array.from({ length: 4 }, () => new Node(made.on))
    for (const [index, node] of nodes.entries()) await node.note({ ...note, startedAt: index })
    for (let round = 0; round < 20; round++) {
      await runSql(made.url, 'UPDATE nodes SET seen_at = seen_at - 20000')
      await Promise.all(nodes.map((node) => node.beat()))
    }
    await Promise.all(nodes.map((node) => node.beat()))
    const listed = await made.on(listServers)
    expect(listed.map(({ note }) => note?.startedAt).toSorted()).toEqual([0, 1, 2, 3])
  })
})
