import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { logLines, Operator, type Served } from '../support/operator'
import { eventually, theProgram } from '../support/process'

setDefaultTimeout(300_000)

const operator = new Operator()
const pipe = operator.folder.file('pipe')
beforeAll(async () => {
  Bun.spawnSync(['mkfifo', pipe])
  await operator.do('init')
})
afterAll(() => operator[Symbol.dispose]())

/** Starts the program with stderr redirected by a shell. */
const withStderr = (redirection: string) => ['sh', '-c', `exec "$@" ${redirection}`, 'sh', ...theProgram]

/** A log line has about 200 bytes. The lines of this many requests exceed the 64 KiB buffer of a pipe. */
const requests = 500

async function isServed(service: Served): Promise<void> {
  const startedAt = performance.now()
  for (let asked = 0; asked < requests; asked++) expect((await service.get('/livez', '')).status).toBe(200)
  expect(performance.now() - startedAt).toBeLessThan(10_000)
}

test.each([
  ['on a full disk', '2>/dev/full'],
  ['closed', '2>&-'],
])('faults: a stderr that is %s prevents neither serving nor a clean stop', async (_, redirection) => {
  await using service = await operator.serveBy(withStderr(redirection))
  await isServed(service)
  expect(await service.stop()).toMatchObject({ code: 0, signal: null })
})

test('faults: a stderr that is not read prevents neither serving nor a stop, and no log line is lost', async () => {
  // Keeps the pipe open without reading from it, like a suspended log collector.
  const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  const buffer = Buffer.alloc(1 << 20)
  {
    await using service = await operator.serveBy(withStderr(`2>'${pipe}'`))
    await isServed(service)
    let taken = ''
    await eventually('all log lines', () => {
      try {
        taken += buffer.toString('utf8', 0, readSync(reader, buffer))
      } catch {
        // The read fails if the pipe is empty. `eventually` then reads again.
      }
      return taken.split('/livez').length > requests
    })
    const routes = logLines(taken).flatMap(({ route }) => route ?? [])
    expect(routes).toEqual(Array(requests).fill('/livez'))
    await isServed(service)
    const startedAt = performance.now()
    expect(await service.stop()).toMatchObject({ code: 0, signal: null })
    expect(performance.now() - startedAt).toBeLessThan(8_000)
  }
  closeSync(reader)
})

test('faults: --log-requests errors omits requests answered with a status below 400', async () => {
  await using service = await operator.serve('--log-requests', 'errors')
  const answers = await Promise.all(
    ['/livez', '/openapi.json', '/nothing'].map((path) => service.get(path, '')),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 404])
  const { stderr } = await service.stop()
  expect(logLines(stderr).flatMap(({ status }) => status ?? [])).toEqual([404])
})
