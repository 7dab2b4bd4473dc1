import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { booking } from '../support/builders'
import { isLong, printFigure, times } from '../support/long'
import { Operator } from '../support/operator'
import {
  eventually,
  Folder,
  runProgram,
  type Sandbox,
  startSandbox,
  theProgram,
  withFewProviders,
  withFileSizeLimit,
} from '../support/process'
import { faultsIn } from './database'

setDefaultTimeout(isLong ? 600_000 : 300_000)

/** `begin` makes the writes of a running server fail, and `end` repairs the fault. */
interface Fault {
  begin(sandbox: Sandbox): void
  end(sandbox: Sandbox): void
}

const [notReady, readyAgain] = [/^anteroom: not ready: (.+)$/gm, /^anteroom: ready again$/gm]

const run = (...words: string[]) => Bun.spawnSync(words).exitCode === 0

/**
 * Runs a server through a fault and its repair. Checks that acknowledged bookings are stored, refused bookings are not
 * stored, all reads succeed, and the server becomes ready again by itself. Returns the logged reason.
 */
async function goThrough(
  path: string,
  fault: Fault,
  command: readonly string[] = theProgram,
): Promise<string> {
  await using sandbox = await startSandbox(['--database', path], { command })
  const readiness = async () => (await sandbox.send('/readyz')).status
  const slots = await sandbox.offered()
  const acknowledged = new Set<number>()
  let next = 0
  const book = async () => {
    const index = next++
    const answer = await sandbox.post(booking(`member-${index}`, slots[index]))
    if (answer.status === 201) acknowledged.add(index)
    else {
      expect([answer.status, answer.body]).toEqual([503, { message: expect.any(String), status: 503 }])
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(JSON.stringify(answer.body)).not.toMatch(/sqlite|disk|member-|example\.com/i)
    }
    return answer.status
  }
  expect([await readiness(), await book(), await book()]).toEqual([200, 201, 201])

  fault.begin(sandbox)
  await eventually('a booking to be refused', async () => (await Promise.all([book(), book()])).includes(503))
  await eventually('the server to be not ready', async () => (await readiness()) === 503)
  for (let asked = 0; asked < 5; asked++) {
    expect((await sandbox.get('/partners/v1/provider-regions/?country_code=CA')).status).toBe(200)
    expect((await sandbox.get('/partners/v1/user/?external_user_id=member-0')).status).toBe(200)
    expect((await sandbox.send('/livez')).status).toBe(200)
  }
  fault.end(sandbox)
  // The server recovers by itself, without any other request.
  await eventually('the server to be ready again', async () => (await readiness()) === 200)
  expect(await book()).toBe(201)

  const isThere = async (index: number) =>
    (await sandbox.get(`/partners/v1/user/?external_user_id=member-${index}`)).status === 200
  for (let index = 0; index < next; index++) {
    expect([index, await isThere(index)]).toEqual([index, acknowledged.has(index)])
  }
  expect((await sandbox.stop()).code).toBe(0)
  expect(faultsIn(path)).toEqual([])
  expect(sandbox.stderr.match(readyAgain)).toHaveLength(sandbox.stderr.match(notReady)?.length ?? 0)
  expect(sandbox.stderr).not.toMatch(/member-|example\.com/)
  expect(sandbox.stderr.match(/could not be stored; retrying/g)?.length ?? 0).toBeLessThanOrEqual(1)
  return notReady.exec(sandbox.stderr)?.[1] ?? ''
}

test('faults: on a full disk bookings are refused, and stored again once there is space', async () => {
  using folder = new Folder()
  const isMounted = run('mount', '-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', folder.path)
  printFigure(
    `a full disk: ${isMounted ? 'a small tmpfs' : 'a file size limit, because no tmpfs can be mounted'}`,
  )
  try {
    for (let round = 0; round < times(1, 20); round++) {
      const path = folder.file(`full-${round}.sqlite`)
      const ballast = folder.file('ballast')
      const onTmpfs = { begin: () => fill(ballast), end: () => rmSync(ballast) }
      const fault = isMounted ? onTmpfs : { begin() {}, end: lift }
      const furnished = await startSandbox(['--database', path, ...withFewProviders])
      expect((await furnished.stop()).code).toBe(0)
      const reason = await goThrough(path, fault, isMounted ? theProgram : withFileSizeLimit(300))
      expect(reason).toMatch(/the disk is full; free some space|reading or writing the database failed/)
      rmSync(path)
    }
  } finally {
    if (isMounted) run('umount', folder.path)
  }
})

test('faults: serve and doctor end with "the disk is full" on a full disk', async () => {
  using operator = new Operator()
  await operator.do('init')
  using crowded = new Operator(withFileSizeLimit(40))
  for (const words of [['serve', '--port', '0', '--base-url', 'https://api.example'], ['doctor']]) {
    const { code, stderr } = await crowded.run([...words, '--database', operator.database])
    expect([code, stderr]).toEqual([6, 'error: the disk is full\nTry: free some space\n'])
  }
})

function fill(path: string): void {
  try {
    for (;;) writeFileSync(path, Buffer.alloc(4096), { flag: 'a' })
  } catch (error) {
    expect((error as { code?: string }).code).toBe('ENOSPC')
  }
}

function lift({ pid }: Sandbox): void {
  expect(run('prlimit', `--pid=${pid}`, '--fsize=unlimited')).toBe(true)
}

test.each([
  [['key', 'rotate', '--yes'], 'The new master key is in', 'data that the old master key opens'],
  [['member', 'erase', '1', '--yes'], 'Member 1 is erased', 'traces of the erased data'],
])(
  'faults: %p on a full disk succeeds and reports remaining traces, and the next run removes the traces',
  async (args, done, left) => {
    using operator = new Operator()
    await operator.do('init')
    const token = await operator.onboard('Lantern', 'North Care')
    {
      await using service = await operator.serve()
      expect((await service.post(booking('leaver'), token)).status).toBe(201)
      await service.stop()
    }
    // The size limit is below the size of the database. So the log can be written, but a checkpoint fails.
    const { code, stdout, stderr } = await runProgram(args, {
      command: withFileSizeLimit(200),
      env: { ANTEROOM_DATABASE: operator.database },
    })
    const line = new RegExp(
      `^error: the database file may still have ${left}, because .* or the storage failed(: |\nTry: ).*\n$`,
    )
    expect([code, stdout, stderr]).toEqual([7, expect.stringContaining(done), expect.stringMatching(line)])
    expect((await operator.run([...args])).code).toBe(0)
    expect(await operator.do('audit', 'verify')).toStartWith('The log is intact')
    expect(faultsIn(operator.database)).toEqual([])
  },
)

/** A kept-alive connection that sends one request at a time. */
class Connection {
  readonly #socket: Socket
  constructor(sandbox: Sandbox) {
    this.#socket = connect(Number(new URL(sandbox.report.baseUrl).port), '127.0.0.1')
    this.#socket.on('error', () => {})
  }

  /** Returns the status of the answer, or null if there is none within a second. */
  async send(head: readonly string[], body = ''): Promise<number | null> {
    const { promise, resolve } = Promise.withResolvers<Buffer | null>()
    const waiting = setTimeout(() => resolve(null), 1_000)
    this.#socket.once('data', resolve)
    this.#socket.write(
      `${head.join('\r\n')}\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    const answer = await promise
    clearTimeout(waiting)
    return answer && Number(answer.toString('latin1', 9, 12))
  }

  close(): void {
    this.#socket.destroy()
  }
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

test('faults: a server without free file descriptors serves open connections, and accepts new ones once descriptors are free', async () => {
  using folder = new Folder()
  for (let round = 0; round < times(1, 20); round++) {
    const path = folder.file(`few-${round}.sqlite`)
    const command = ['sh', '-c', 'ulimit -n 80; exec "$@"', 'sh', ...theProgram]
    await using sandbox = await startSandbox(['--database', path, ...withFewProviders], { command })
    const slots = await sandbox.offered()
    const held: Connection[] = []
    for (let isServed = true; isServed && held.length < 200; ) {
      const connection = new Connection(sandbox)
      held.push(connection)
      isServed = (await connection.send(['GET /livez HTTP/1.1'])) === 200
    }
    expect(held.length).toBeWithin(20, 80)
    const before = cpuSeconds(sandbox.pid)
    await Bun.sleep(1_000)
    printFigure(
      `without file descriptors: ${(cpuSeconds(sandbox.pid) - before).toFixed(2)} s of CPU in a second`,
    )
    const [first] = held as [Connection]
    const authorization = `Authorization: Bearer ${sandbox.token()}`
    const post = [
      'POST /partners/v1/booking-request/ HTTP/1.1',
      authorization,
      'Content-Type: application/json',
    ]
    expect(await first.send(post, JSON.stringify(booking('held', slots[0])))).toBe(201)
    expect(await first.send(['GET /readyz HTTP/1.1'])).toBe(200)
    for (const connection of held) connection.close()
    await eventually('a new connection to be answered', async () => {
      return (await sandbox.send('/readyz').catch(() => null))?.status === 200
    })
    expect((await sandbox.get('/partners/v1/user/?external_user_id=held')).status).toBe(200)
    expect((await sandbox.post(booking('later', slots[1]))).status).toBe(201)
    expect(await sandbox.stop()).toMatchObject({ code: 0, stderr: '' })
    expect(faultsIn(path)).toEqual([])
  }
})

test('faults: a command with too few file descriptors ends with a one-line error and no stack', async () => {
  using operator = new Operator()
  await operator.do('init')
  const ends: (number | null)[] = []
  for (let most = 6; most <= 12; most++) {
    using few = new Operator(['sh', '-c', `ulimit -n ${most}; exec "$@"`, 'sh', ...theProgram])
    const settings = { ANTEROOM_DATABASE: operator.database }
    const { code, stderr } = await few.run(['organization', 'list'], '', settings)
    if (code !== 0)
      expect([most, stderr]).toEqual([most, expect.stringMatching(/^error: [a-z ]+\n(Try: [a-z ]+\n)?$/)])
    ends.push(code)
  }
  expect([ends.includes(6), ends.at(-1)]).toEqual([true, 0])
})
