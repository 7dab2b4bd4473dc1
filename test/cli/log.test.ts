import { expect, test } from 'bun:test'
import { jsonLogger } from '../../src/cli/terminal/json-log'
import { requestLine } from '../../src/cli/terminal/log'
import type { LogEntry } from '../../src/http/log'

const at = Date.UTC(2026, 10, 22, 5, 4, 26, 7)

function seen(different: Partial<LogEntry> = {}): LogEntry {
  return {
    id: '4aec70a2-cf4f-4d94-9b98-b31ade7f627f',
    method: 'GET',
    route: '/partners/v1/provider-regions/',
    partnerId: 3,
    status: 200,
    refusedFor: null,
    bytes: 1_234,
    millis: 0.251_234_5,
    isLate: false,
    headers: { RateLimit: 'canary' },
    counted: null,
    ...different,
  }
}

function written(log: (logger: ReturnType<typeof jsonLogger>) => void): string {
  const lines: string[] = []
  log(jsonLogger({ now: () => at }, { write: (line) => void lines.push(line) }))
  return lines.join('')
}

test('cli: the log record of a request is one line of JSON with a fixed set of fields', () => {
  expect(written(({ observe }) => observe(seen()))).toBe(
    '{"level":"info","time":"2026-11-22T05:04:26.007Z","requestId":"4aec70a2-cf4f-4d94-9b98-b31ade7f627f",' +
      '"partnerId":3,"method":"GET","route":"/partners/v1/provider-regions/","status":200,"errorCode":null,' +
      '"durationMs":0.251,"bytes":1234}\n',
  )
  const unknown = { route: null, partnerId: null, status: 404, refusedFor: 'path_unknown', bytes: 56 }
  expect(JSON.parse(written(({ observe }) => observe(seen(unknown))))).toEqual({
    level: 'info',
    time: '2026-11-22T05:04:26.007Z',
    requestId: seen().id,
    partnerId: null,
    method: 'GET',
    route: null,
    status: 404,
    errorCode: 'path_unknown',
    durationMs: 0.251,
    bytes: 56,
  })
})

test('cli: the log level is error for server errors, and info for client errors', () => {
  const levels = [200, 304, 400, 401, 404, 429, 500, 503].map((status) => {
    const { level } = JSON.parse(written(({ observe }) => observe(seen({ status }))))
    return `${status} ${level}`
  })
  expect(levels.join(', ')).toBe(
    '200 info, 304 info, 400 info, 401 info, 404 info, 429 info, 500 error, 503 error',
  )
})

test('cli: a log report is a warning by default, and a defect is an error', () => {
  const expected = (level: string, msg: string) => ({ level, time: '2026-11-22T05:04:26.007Z', msg })
  const text = written(({ report, defect }) => {
    report('one')
    report('two', 'info')
    report('three', 'error')
    defect('four')
  })
  const lines = text.trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expected('warn', 'one'),
    expected('info', 'two'),
    expected('error', 'three'),
    expected('error', 'four'),
  ])
})

test('cli: each log line has its own time', () => {
  const lines: string[] = []
  let now = at
  const { report } = jsonLogger({ now: () => now }, { write: (line) => void lines.push(line) })
  for (now of [at, at, at + 1, at]) report('told')
  const ends = lines.map((line) => JSON.parse(line).time.slice(-5))
  expect(ends).toEqual(['.007Z', '.007Z', '.008Z', '.007Z'])
})

/** A text with line ends, terminal control sequences and invisible characters. */
const hostile = 'a\nb\r\n{"level":"info"}\u2028c\u2029\u0085\u001b[31m\u009b2J\u0000\u007f\u202e"\\%s%o\ud800'

test('cli: each text is logged as one line', () => {
  const lines = [written(({ report }) => report(hostile)), written(({ defect }) => defect(hostile))]
  for (const line of lines) {
    expect(line).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+\n$/u)
    expect(JSON.parse(line).msg).toBe('a b {"level":"info"} c [31m 2J \\u202e"\\%s%o\ud800')
  }
})

test('cli: the terminal log shows a request as one short line in columns', () => {
  const lines = [
    seen(),
    seen({ method: 'POST', route: '/partners/v1/booking-request/', status: 201, millis: 12.34, bytes: 812 }),
    seen({ partnerId: null, status: 401, refusedFor: 'token_invalid', bytes: 81 }),
    seen({ route: null, partnerId: null, status: 404, refusedFor: 'path_unknown', bytes: 56 }),
    seen({ status: 503, refusedFor: 'storage_failed', millis: 1_000, bytes: 123_456 }),
  ].map((one) => requestLine(one, at))
  const id = seen().id
  expect(lines.map(Bun.stripANSI).join('')).toBe(
    [
      '05:04:26  200  GET   /partners/v1/provider-regions/     0.3 ms    1.2 kB  partner 3',
      '05:04:26  201  POST  /partners/v1/booking-request/     12.3 ms     812 B  partner 3',
      `05:04:26  401  GET   /partners/v1/provider-regions/     0.3 ms      81 B  token_invalid ${id}`,
      `05:04:26  404  GET   -                                  0.3 ms      56 B  path_unknown ${id}`,
      `05:04:26  503  GET   /partners/v1/provider-regions/  1000.0 ms  123.5 kB  partner 3  storage_failed ${id}`,
      '',
    ].join('\n'),
  )
})

test('cli: the terminal log shows a request as one line even if the request id of a proxy contains line ends', () => {
  const line = Bun.stripANSI(requestLine(seen({ id: hostile, status: 400, refusedFor: 'field_invalid' }), at))
  expect(line).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]+\n$/u)
})
