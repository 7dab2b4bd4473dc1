import { afterAll, afterEach, beforeAll, describe, expect, jest, spyOn, test } from 'bun:test'
import { connect } from 'node:net'
import { Refusal } from '../../src/domain/errors'
import { answerTo } from '../../src/http/errors'
import { logEntryOf } from '../../src/http/log'
import { expectRefusal, lookUp, paths } from '../contract/contract'
import { booking } from '../support/builders'
import { startService } from '../support/service'

let service: Awaited<ReturnType<typeof startService>>
const log = spyOn(console, 'error').mockImplementation(() => {})
beforeAll(async () => {
  service = await startService()
})
afterAll(async () => {
  log.mockRestore()
  await service.stop()
})
afterEach(() => log.mockClear())

/** Sends bytes over a new connection and then resets it. */
async function sendAndGo(lines: readonly string[], body: string): Promise<void> {
  const { hostname, port } = new URL(service.baseUrl)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.on('error', () => {})
  socket.write(
    [
      `POST ${paths.booking} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${service.partner.token}`,
      'Content-Type: application/json',
      ...lines,
      '',
      body,
    ].join('\r\n'),
  )
  await fetch(service.baseUrl)
  socket.destroy()
  await fetch(service.baseUrl)
}

describe('http: an upload that breaks off', () => {
  const half = JSON.stringify(booking('broken-off')).slice(0, 100)

  test.each<[string, string[], string]>([
    ['in the middle of a body', ['Content-Length: 5000'], half],
    ['before its body', ['Content-Length: 5000'], ''],
    ['in the middle of a chunk', ['Transfer-Encoding: chunked'], `1000\r\n${half}`],
    ['between two chunks', ['Transfer-Encoding: chunked'], `${half.length.toString(16)}\r\n${half}\r\n`],
    ['with an invalid chunk length', ['Transfer-Encoding: chunked'], `zz\r\n${half}\r\n`],
    ['with a chunk longer than its length', ['Transfer-Encoding: chunked'], `5\r\n${half}\r\n0\r\n\r\n`],
    ['with a negative chunk length', ['Transfer-Encoding: chunked'], `-5\r\n${half}\r\n`],
  ])('%s is not logged, stores nothing and does not affect later requests', async (_, lines, body) => {
    await sendAndGo(lines, body)
    expect(log.mock.calls).toEqual([])
    expect((await lookUp(service, 'broken-off')).status).toBe(404)
    expect((await service.post(paths.booking, booking('unharmed'))).status).toBe(201)
  })
})

test('http: a storage error is 503 with Retry-After, and the log shows the cause without stored data', async () => {
  const broken = await startService()
  const cause = Object.assign(new Error('canary could not be written'), { code: 'SQLITE_FULL' })
  const fail = () =>
    Promise.reject(new Refusal('storage_failed', 'the disk is full; free some space', { cause }))
  Object.assign(broken.context.store, { submit: fail })
  const answer = await broken.post(paths.booking, booking('unstored'))
  expectRefusal(answer, { status: 503, kind: 'storage_failed', absent: ['canary', 'FULL'] })
  expect(answer.body.message).toBe(
    'the service cannot store data at the moment; try again after Retry-After seconds',
  )
  expect(answer.headers.get('retry-after')).toBe('1')
  expect(log.mock.calls.map(([line]) => line)).toEqual([
    expect.stringMatching(/^storage failed: Error SQLITE_FULL at .+$/),
  ])
  expect(String(log.mock.calls)).not.toContain('canary')
  await broken.stop()
})

describe('http: the log of internal errors', () => {
  const entry = logEntryOf(new Request('http://localhost/'))
  const fail = (code: string) => answerTo(Object.assign(new RangeError('canary'), { code }), 'UNKNOWN', entry)

  test('has at most one line a second for each kind of error, and counts the other errors', () => {
    jest.useFakeTimers()
    for (let call = 0; call < 500; call++) fail('FIRST')
    fail('SECOND')
    const lines = () => log.mock.calls.map(([line]) => String(line))
    expect(lines()).toHaveLength(2)
    for (const [index, code] of ['FIRST', 'SECOND'].entries()) {
      expect(lines()[index]).toMatch(
        new RegExp(`^internal error: RangeError ${code} at .*defects\\.test\\.ts`),
      )
    }
    jest.advanceTimersByTime(1_100)
    expect(lines()).toHaveLength(3)
    expect(lines()[2]).toMatch(/^internal error: RangeError FIRST at .* \(499 more in the last second\)$/)
    expect(lines().join('')).not.toMatch(/canary|\n/)
    jest.advanceTimersByTime(1_100)
    expect(lines()).toHaveLength(3)
    jest.useRealTimers()
  })
})
