import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { Operator, stopping } from '../support/operator'
import { Folder, startSandbox, theProgram } from '../support/process'

// Whoever runs the tests under nohup hands that down; as a terminal starts a program, SIGHUP is not ignored.
const fromTerminal = ['env', '--default-signal=HUP', ...theProgram]
const underNohup = ['env', '--ignore-signal=HUP', ...theProgram]

const withTemporary = (path: string) => ({ PATH: process.env.PATH ?? '', TMPDIR: path })

test('a terminal that goes stops the sandbox, with exit code 0 and no file left', async () => {
  using temporary = new Folder()
  await using sandbox = await startSandbox([], { command: fromTerminal, env: withTemporary(temporary.path) })
  expect(readdirSync(temporary.path)).not.toEqual([])
  expect(await sandbox.stop('SIGHUP')).toMatchObject({ code: 0, signal: null, stderr: '' })
  expect(readdirSync(temporary.path)).toEqual([])
})

test('a terminal that goes stops the service, with exit code 0', async () => {
  using operator = new Operator(fromTerminal)
  await operator.do('init')
  await using service = await operator.serve()
  expect(await service.stop('SIGHUP')).toMatchObject({ code: 0, signal: null })
  expect(service.told).toEqual(stopping)
})

test('what was started under nohup outlives its terminal', async () => {
  await using sandbox = await startSandbox([], { command: underNohup })
  sandbox.signal('SIGHUP')
  const regions = '/partners/v1/provider-regions/?country_code=CA'
  for (let call = 0; call < 20; call++) expect((await sandbox.get(regions)).status).toBe(200)
  expect(sandbox.isRunning).toBe(true)
  expect(await sandbox.stop('SIGTERM')).toMatchObject({ code: 0, signal: null, stderr: '' })
})

test('a service that has much to remove of what was kept for retries stops with the rest left for its next start', async () => {
  using operator = new Operator()
  await operator.do('init')
  const expired = 1_000
  {
    using database = new Database(operator.database)
    const hashes = 'randomblob(32), randomblob(32), randomblob(200)'
    // Without the requests that they answered: nobody asks for those here.
    database.run(
      `INSERT INTO replays (request_id, partner_id, key_hash, body_hash, sealed_receipt, submitted_at)
       SELECT key + 1, 1, ${hashes}, key FROM json_each(?)`,
      [JSON.stringify(Array.from({ length: expired }, () => 0))],
    )
  }
  await using service = await operator.serve()
  expect(await service.stop()).toMatchObject({ code: 0, signal: null })
  expect(service.told).toEqual(stopping)
  using database = new Database(operator.database)
  const [[left]] = database.query('SELECT count(*) FROM replays').values() as [[number]]
  expect(left).toBeGreaterThan(0)
  expect(left).toBeLessThan(expired)
})
