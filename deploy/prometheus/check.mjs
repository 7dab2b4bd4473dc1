// Checks with promtool: configuration, rules, rule tests, dashboard expressions, and the metrics of the built
// executable. Skipped without promtool (Debian: apt-get install prometheus).
//   node deploy/prometheus/check.mjs dist/anteroom

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

const here = import.meta.dirname
const program = resolve(process.argv[2] ?? 'dist/anteroom')
const timeoutMillis = 60_000

/** Fails if promtool reports errors or warnings. */
function promtool(args, input = '') {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: here, input, encoding: 'utf8' })
  assert.equal(status, 0, `promtool ${args.join(' ')}: ${stdout}${stderr}`)
  // promtool writes warnings to stderr.
  assert.equal(stderr.trim(), '', `promtool ${args.join(' ')}`)
}

/** Returns the expressions of the dashboard as rules, because promtool cannot check a single expression. */
function rulesOf(dashboard) {
  const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  assert.ok(expressions.length > 20, 'the dashboard has expressions')
  const rules = expressions.map((expr, at) => ({
    record: `dashboard:${at}`,
    expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.+'),
  }))
  // promtool reads YAML, which includes JSON.
  return JSON.stringify({ groups: [{ name: 'dashboard', rules }] })
}

/** Returns the metrics of a service with an empty database. */
async function metricsOf(folder) {
  const env = { ANTEROOM_DATABASE: join(folder, 'anteroom.sqlite') }
  assert.equal(spawnSync(program, ['init'], { env }).status, 0, 'init')
  const flags = ['--base-url', 'https://api.example', '--port', '0', '--metrics-port', '0']
  const server = spawn(program, ['serve', ...flags], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  process.on('exit', () => server.kill('SIGKILL'))
  const ended = once(server, 'close')
  for await (const line of createInterface({ input: server.stdout })) {
    const [, url] = /^Metrics on (\S+)$/.exec(line) ?? []
    if (!url) continue
    const text = await (await fetch(url)).text()
    server.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null], 'exit code and signal')
    return text
  }
  throw new Error('the service did not print a metrics address')
}

const hasTool = spawnSync('promtool', ['--version']).status === 0
if (!hasTool) console.log('skipped: no promtool')
else {
  const folder = mkdtempSync(join(tmpdir(), 'promtool-'))
  process.on('exit', () => rmSync(folder, { recursive: true }))
  setTimeout(() => assert.fail('the check did not finish within a minute'), timeoutMillis).unref()
  promtool(['check', 'config', 'prometheus.yml'])
  promtool(['check', 'rules', 'anteroom-rules.yml'])
  promtool(['test', 'rules', 'anteroom-rules.test.yml'])
  const ofDashboard = join(folder, 'dashboard.yml')
  writeFileSync(
    ofDashboard,
    rulesOf(JSON.parse(readFileSync(join(here, '../grafana/anteroom.json'), 'utf8'))),
  )
  promtool(['check', 'rules', ofDashboard])
  promtool(['check', 'metrics'], await metricsOf(folder))
  console.log('ok')
}
