import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { booking } from '../support/builders'
import { printFigure } from '../support/long'
import { messagesIn, Operator } from '../support/operator'
import { eventually, runProgram } from '../support/process'
import { faultsIn } from './database'

setDefaultTimeout(300_000)

// A database with a directory and requests. Each test gets a copy of this database.
const made = new Operator()
let token = ''
beforeAll(async () => {
  await made.do('init')
  token = await made.onboard('Lantern', 'North Care')
  await using service = await made.serve()
  const ends = Array.from({ length: 30 }, (_, index) => service.post(booking(`m-${index}`), token))
  expect(new Set((await Promise.all(ends)).map(({ status }) => status))).toEqual(new Set([201]))
  expect((await service.stop()).code).toBe(0)
})
afterAll(() => made[Symbol.dispose]())

function copied(): Operator {
  const operator = new Operator()
  copyFileSync(made.database, operator.database)
  copyFileSync(`${made.database}.key`, `${operator.database}.key`)
  return operator
}

/** Overwrites the root page of a table. */
function breakPage(path: string, name: string): void {
  overwrite(path, pageOf(name))
}

const pageBytes = 4096

function pageOf(name: string): number {
  using database = new Database(made.database, { readonly: true })
  const select = 'SELECT rootpage AS page FROM sqlite_schema WHERE name = ?'
  return database.query<{ page: number }, [string]>(select).get(name)?.page ?? 0
}

function overwrite(path: string, page: number): void {
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(pageBytes, 0xff), 0, pageBytes, (page - 1) * pageBytes)
  closeSync(file)
}

const unreadable = 'the file is not a readable database\nTry: check its path, or restore a backup'
const missing = 'there is no database at .*'
const damaged = /^error: (the database is damaged|the file is not a readable database)\nTry: [^\n]+\n$/

const refusedAtStart: [string, (path: string) => void, RegExp][] = [
  ['with a damaged header', (path) => writeAt(path, 0, 'XXXX'), new RegExp(unreadable)],
  ['truncated inside its header', (path) => truncateSync(path, 60), new RegExp(unreadable)],
  ['truncated to its first page', (path) => truncateSync(path, 4096), damaged],
  [
    'truncated to half its size',
    (path) => truncateSync(path, (readFileSync(path).length >> 13) << 12),
    damaged,
  ],
  ['of zero bytes', (path) => truncateSync(path, 0), new RegExp(missing)],
  ['that is missing', (path) => rmSync(path), new RegExp(missing)],
  ['of another application', (path) => writeAt(path, 68, 'GPKG'), /belongs to another application/],
  ['of a newer schema', (path) => writeAt(path, 63, '\xff'), /written by a newer version/],
  ['with a damaged settings table', (path) => breakPage(path, 'settings'), damaged],
  ['with a damaged providers table', (path) => breakPage(path, 'providers'), damaged],
  ['with a damaged table of keys', (path) => breakPage(path, 'partner_keys'), damaged],
]

function writeAt(path: string, at: number, text: string): void {
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.from(text, 'latin1'), 0, text.length, at)
  closeSync(file)
}

test.each(refusedAtStart)(
  'faults: serve refuses a database %s, with an error and a remedy in one line each',
  async (_, damage, line) => {
    using operator = copied()
    damage(operator.database)
    const { code, stdout, stderr } = await runProgram(
      ['serve', '--port', '0', '--base-url', 'https://a.example'],
      {
        env: { ANTEROOM_DATABASE: operator.database },
      },
    )
    expect([code, stdout, stderr]).toEqual([6, '', expect.stringMatching(line)])
    expect(stderr).toMatch(/^error: [^\n]+\n(Try: [^\n]+\n)?$/)
    expect(stderr).not.toMatch(/sqlite3?_|SQLITE|\.ts\b/)
  },
)

test.each([
  ['providers', ['integrity', 'records', 'directory']],
  ['changes', ['integrity', 'directory']],
])('faults: doctor reports a damaged table %s', async (name, checks) => {
  using operator = copied()
  breakPage(operator.database, name)
  const { code, stdout, stderr } = await operator.run(['doctor', '--json'])
  expect([code, stderr]).toEqual([8, ''])
  const findings: { check: string; state: string; detail: string; remedy?: string }[] = JSON.parse(stdout)
  const bad = findings.filter(({ state }) => state === 'bad')
  expect(bad.map(({ check }) => check)).toEqual(checks)
  expect(bad.map(({ remedy }) => remedy)).toEqual(
    checks.map(() => 'stop the service and restore a backup: anteroom restore'),
  )
  expect(stdout).not.toMatch(/SQLITE|\.ts\b/)
})

const servedThough: [string, (path: string) => void][] = [
  ['requests', (path) => breakPage(path, 'booking_requests')],
  ['members', (path) => breakPage(path, 'members')],
]

describe('faults: damage in pages that the start does not read', () => {
  test.each(servedThough)(
    'a database with damaged %s is served but not ready, and the damage is logged in one line',
    async (_, damage) => {
      using operator = copied()
      damage(operator.database)
      await using service = await operator.serve()
      await eventually('the page check to end', () => service.messages.length > 0)
      expect(service.messages).toEqual(['error: not ready: the database is damaged; run anteroom doctor'])
      expect((await service.get('/readyz', '')).status).toBe(503)
      expect((await service.get('/livez', '')).status).toBe(200)
      expect((await service.get('/partners/v1/provider-regions/?country_code=CA', token)).status).toBe(200)
      const { status, body } = await service.post(booking('m-1'), token)
      if (status !== 201) expect([status, body]).toEqual([503, { message: expect.any(String), status: 503 }])
      expect((await service.stop()).code).toBe(0)
      expect((await operator.run(['doctor'])).code).toBe(8)
    },
  )
})

describe('faults: a database file changed under a running server', () => {
  const notes = 'token uses, member look-ups and refused authentications'
  // Only the server's open file still contains the data. A stop of the server would lose the data.
  const lost =
    'the database file was removed or replaced; do not stop the server; first move the file and its -wal back, or rescue the data (docs/incident.md)'
  const underIt: [string, (path: string) => void, string][] = [
    ['unlinked', (path) => rmSync(path), lost],
    [
      'replaced',
      (path) => {
        rmSync(path)
        copyFileSync(made.database, path)
      },
      lost,
    ],
    ['left without its write-ahead log', (path) => rmSync(`${path}-wal`), lost],
  ]

  test.each(underIt)(
    'a server is not ready, stores nothing and logs one line after its database file was %s',
    async (_, lose, fault) => {
      using operator = copied()
      await using service = await operator.serve()
      expect((await service.post(booking('before'), token)).status).toBe(201)
      lose(operator.database)
      for (let index = 0; index < 5; index++) {
        expect((await service.post(booking(`lost-${index}`), token)).status).toBe(503)
      }
      expect((await service.get('/readyz', '')).status).toBe(503)
      const look = (id: string) => service.get(`/partners/v1/user/?external_user_id=${id}`, token)
      expect([(await look('before')).status, (await look('lost-0')).status]).toEqual([200, 404])
      await eventually('the notes to fail', () => service.stderr.includes('could not be stored; retrying'))
      // The service retries every second. Waits for the second attempt.
      await Bun.sleep(1_500)
      const { code, stderr } = await service.stop()
      expect(code).toBe(0)
      // The service checks all pages after its start. This warning appears if the file is already unreadable by then.
      const unchecked = 'warn: the database could not be checked; run anteroom doctor'
      expect(messagesIn(stderr).filter((line) => line !== unchecked)).toEqual([
        `error: not ready: ${fault}`,
        `warn: ${notes} could not be stored; retrying every second`,
        'info: stopping',
        `error: ${notes} could not be stored and are lost`,
        'info: stopped',
      ])
    },
  )

  test('a server is not ready after a backup was copied over its database file, and does not change the file', async () => {
    using operator = copied()
    const backup = operator.folder.file('backup.sqlite')
    await using service = await operator.serve()
    expect((await service.post(booking('in-both'), token)).status).toBe(201)
    await operator.do('backup', backup, '--plain')
    expect((await service.post(booking('since'), token)).status).toBe(201)
    // Overwrites the file in place, as cp does, so that its inode stays the same.
    writeFileSync(operator.database, readFileSync(backup))
    for (let index = 0; index < 5; index++) {
      expect((await service.post(booking(`lost-${index}`), token)).status).toBe(503)
    }
    expect((await service.get('/readyz', '')).status).toBe(503)
    const { code, stderr } = await service.stop()
    expect(code).toBe(0)
    expect(messagesIn(stderr)[0]).toStartWith(
      'error: not ready: the database file was overwritten and its data is lost; ',
    )
    expect(readFileSync(operator.database).equals(readFileSync(backup))).toBe(true)
    await using again = await operator.serve()
    const look = (id: string) =>
      again.get(`/partners/v1/user/?external_user_id=${encodeURIComponent(id)}`, token)
    expect([(await look('in-both')).status, (await look('since')).status]).toEqual([200, 404])
    await again.stop()
    expect(faultsIn(operator.database)).toEqual([])
  })

  test('a server is not ready after an older copy was written over its database file, and stores nothing', async () => {
    using operator = copied()
    const older = readFileSync(operator.database)
    await using service = await operator.serve()
    // This connection moves the booking from the write-ahead log into the database file, as an operator's command may.
    const writer = new Database(operator.database)
    expect((await service.post(booking('since'), token)).status).toBe(201)
    writer.run('PRAGMA wal_checkpoint(TRUNCATE)')
    writer.close()
    expect((await service.post(booking('still'), token)).status).toBe(201)
    writeFileSync(operator.database, older)
    expect((await service.post(booking('lost'), token)).status).toBe(503)
    expect((await service.get('/readyz', '')).status).toBe(503)
    expect((await service.stop()).code).toBe(0)
    expect(readFileSync(operator.database).equals(older)).toBe(true)
  })

  const meanwhile: [string, (path: string) => void][] = [
    ['truncated', (path) => truncateSync(path, 4096 * 3)],
    ['given a damaged header', (path) => writeAt(path, 0, 'XXXX')],
    ['damaged in its requests', (path) => breakPage(path, 'booking_requests')],
  ]

  test.each(meanwhile)(
    'a server whose database is %s answers bookings with 201 or 503 only',
    async (fault, damage) => {
      using operator = copied()
      await using service = await operator.serve()
      damage(operator.database)
      // After another process has written, the server rereads its cached pages.
      await operator.run(['organization', 'add', 'South Care'])
      const ends: number[] = []
      for (let index = 0; index < 10; index++)
        ends.push((await service.post(booking(`n-${index}`), token)).status)
      expect(ends.filter((status) => status !== 201 && status !== 503)).toEqual([])
      const ready = (await service.get('/readyz', '')).status
      printFigure(`database ${fault} under a server: bookings answered ${ends.join(' ')}, /readyz ${ready}`)
      expect(service.isRunning).toBe(true)
      await service.stop()
    },
  )
})
