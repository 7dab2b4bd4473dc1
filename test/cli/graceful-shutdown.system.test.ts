import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { shutdownRequest } from '../../src/cli/commands/serve'
import { testOfFile } from '../support/engine'
import { Operator, stopping } from '../support/operator'
import { eventually, Folder, startSandbox, theProgram, withFewProviders } from '../support/process'

// A terminal starts programs with SIGHUP enabled, and nohup starts them with SIGHUP ignored. The tests themselves may
// run under nohup, so each command sets SIGHUP explicitly.
const fromTerminal = ['env', '--default-signal=HUP', ...theProgram]
const underNohup = ['env', '--ignore-signal=HUP', ...theProgram]

const withTemporary = (path: string) => ({ PATH: process.env.PATH ?? '', TMPDIR: path })

test('cli: a closed terminal stops the sandbox with exit code 0 and leaves no file', async () => {
  using temporary = new Folder()
  await using sandbox = await startSandbox(withFewProviders, {
    command: fromTerminal,
    env: withTemporary(temporary.path),
  })
  expect(readdirSync(temporary.path)).not.toEqual([])
  expect(await sandbox.stop('SIGHUP')).toMatchObject({ code: 0, signal: null, stderr: '' })
  expect(readdirSync(temporary.path)).toEqual([])
})

test('cli: a closed terminal stops the service with exit code 0', async () => {
  using operator = new Operator()
  await operator.do('init')
  let shown = ''
  const terminal = new Bun.Terminal({
    data: (_, bytes) => {
      shown += Buffer.from(bytes).toString()
    },
  })
  // Starts the service in a new session with this controlling terminal. When the terminal closes, the service gets
  // SIGHUP.
  const controlled = ['setsid', '--ctty', '--wait', ...fromTerminal]
  const words = ['serve', '--port', '0', '--base-url', 'https://api.example']
  const env = { ...operator.settings }
  const service = Bun.spawn([...controlled, ...words], { terminal, env, cwd: operator.folder.path })
  await eventually('the service to listen', () => shown.includes('Listening') || service.exitCode !== null)
  terminal.close()
  expect([await service.exited, service.signalCode]).toEqual([0, null])
})

test('cli: a closed terminal does not stop a service under nohup, and the service reads its settings again', async () => {
  using operator = new Operator()
  await operator.do('init')
  const [log, pid] = [operator.folder.file('log'), operator.folder.file('pid')]
  await using terminal = new Bun.Terminal({ data: () => {} })
  const logged = ['sh', '-c', `echo $$ > '${pid}'; exec "$@" > '${log}' 2>&1`, 'sh', ...underNohup]
  const words = ['serve', '--port', '0', '--base-url', 'https://api.example']
  const env = { ...operator.settings }
  const service = Bun.spawn(['setsid', '--ctty', '--wait', ...logged, ...words], { terminal, env })
  const output = () => (existsSync(log) ? readFileSync(log, 'utf8') : '')
  await eventually('the service to listen', () => output().includes('Listening') || service.exitCode !== null)
  terminal.close()
  await eventually(
    'the settings to be read',
    () => output().includes('settings reloaded') || service.exitCode !== null,
  )
  expect(service.exitCode).toBeNull()
  process.kill(Number(readFileSync(pid, 'utf8')), 'SIGTERM')
  expect(await service.exited).toBe(0)
})

test('cli: SIGHUP while the terminal is open makes the service read its settings again', async () => {
  using operator = new Operator(fromTerminal)
  await operator.do('init')
  await using service = await operator.serve()
  service.signal('SIGHUP')
  await eventually('the settings to be read', () => service.messages.length > 0)
  expect(await service.stop('SIGTERM')).toMatchObject({ code: 0, signal: null })
  expect(service.messages).toEqual(['info: settings reloaded: nothing has changed', ...stopping])
})

test('cli: SIGTERM right after SIGHUP stops the service without reading the settings again', async () => {
  let reloads = 0
  const stopped = shutdownRequest(() => reloads++)
  for (const signal of ['SIGHUP', 'SIGTERM'] as const) process.emit(signal)
  await stopped
  await Bun.sleep(150)
  for (const signal of ['SIGHUP', 'SIGTERM', 'SIGINT'] as const) process.removeAllListeners(signal)
  expect(reloads).toBe(0)
})

test('cli: a stop while a hundred clients book interrupts no booking, and every acknowledged booking is stored', async () => {
  using folder = new Folder()
  const file = `${folder.path}/sandbox.sqlite`
  await using sandbox = await startSandbox(['--database', file, ...withFewProviders])
  let stopping: Promise<unknown> | undefined
  const acknowledged: number[] = []
  const one = async (client: number) => {
    for (let each = 0; ; each++) {
      const name = `${client}-${each}`
      const [status, id] = await sandbox.post(intake(name)).then(
        ({ status, body }) => [status, body.id],
        ({ code }) => [code],
      )
      // The connection was refused, so this request was never sent.
      if (status === 'ECONNREFUSED') return status
      expect([name, status]).toEqual([name, 201])
      acknowledged.push(id)
      if (acknowledged.length === 150) stopping = sandbox.stop('SIGTERM')
    }
  }
  await Promise.all(Array.from({ length: 100 }, (_, client) => one(client)))
  expect(await stopping).toMatchObject({ code: 0, signal: null, stderr: '' })
  using database = new Database(file)
  const stored = new Set(database.query('SELECT id FROM booking_requests').values().flat())
  // The stop came after 150 responses. At least 50 bookings were in flight then.
  expect(acknowledged.length).toBeGreaterThanOrEqual(200)
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
})

const intake = (name: string) => ({
  user: { external_user_id: `member-${name}` },
  memberData: { email: `${name}@example.com`, firstName: 'Robin', lastName: 'Sample', country: 'CA' },
  phq9Data: [],
})

testOfFile(
  'cli: a stop interrupts the removal of many expired replays, and leaves the rest for the next start',
  async () => {
    using operator = new Operator()
    await operator.do('init')
    const expired = 1_000
    {
      using database = new Database(operator.database)
      const hashes = 'randomblob(32), randomblob(32), randomblob(200)'
      database.run(
        `INSERT INTO replays (request_id, partner_id, key_hash, body_hash, sealed_receipt, submitted_at)
       SELECT key + 1, 1, ${hashes}, key FROM json_each(?)`,
        [JSON.stringify(Array.from({ length: expired }, () => 0))],
      )
    }
    await using service = await operator.serve()
    expect(await service.stop()).toMatchObject({ code: 0, signal: null })
    expect(service.messages).toEqual(stopping)
    using database = new Database(operator.database)
    const [[left]] = database.query('SELECT count(*) FROM replays').values() as [[number]]
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThan(expired)
  },
)

test('cli: a stop that waits for a slow client logs the reason and the waiting time', async () => {
  using operator = new Operator()
  for (const words of ['init', 'organization add N', 'partner add P --organization N']) {
    await operator.do(...words.split(' '))
  }
  const { token } = await operator.ask<{ token: string }>('token', 'issue', 'P')
  await using service = await operator.serve()
  const head = [
    'POST /partners/v1/booking-request/ HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    'Content-Length: 9',
  ]
  const socket = connect(service.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`${head.join('\r\n')}\r\n\r\n{`)
  await Bun.sleep(200)
  const ended = service.stop()
  const why = 'info: still stopping: waiting at most 15 s for 1 request to finish'
  await eventually('the reason in the log', () => service.messages.includes(why))
  socket.destroy()
  expect((await ended).code).toBe(0)
  expect(service.messages).toEqual(['info: stopping', why, 'info: stopped'])
})
