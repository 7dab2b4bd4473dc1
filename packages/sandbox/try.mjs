/**
 * `node packages/sandbox/try.mjs [npm | npm-12 | bun ...]` installs and starts the packages in dist/packages as
 * partners do. The clients are the installed npm, npm 12 and bunx.
 * - The registry is local, and has only these packages.
 * - The working folder, the home folder and the cache are empty.
 * - No install scripts run. Only bunx has Bun in its PATH.
 *
 * Plain JavaScript, for machines with Node only. npm 12 and its Node come from npm's configured registry.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const packages = join(root, 'dist/packages')
const npm12 = { npm: '12.2.0', node: '24.21.0' }
const name = 'anteroom-sandbox'
const { version } = JSON.parse(fs.readFileSync(join(root, 'package.json'), 'utf8'))

const temporary = fs.mkdtempSync(join(tmpdir(), 'anteroom-try-'))
const running = new Set()
process.on('exit', () => {
  // Ends the process group of each child: the child and all processes that the child started.
  for (const { pid } of running) kill(-pid)
  fs.rmSync(temporary, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1))
setTimeout(() => assert.fail('the script did not finish within five minutes'), 300_000).unref()

const registry = await startRegistry()
const clients = { npm: systemNpm, 'npm-12': newNpm, bun: pinnedBun }
const asked = process.argv.slice(2)
for (const key of asked.length > 0 ? asked : Object.keys(clients)) {
  const client = await clients[key]()
  await tryFirstAndAgain(client)
  if (!client.tarball) continue
  await tryTarball(client)
  await tryProject(client)
  await tryWithoutOptional(client)
}
const forHere = `${name}-${process.platform}-${process.arch}-${version}.tgz`
assert.deepEqual(
  [...registry.fetched].sort(),
  [`${name}-${version}.tgz`, forHere],
  'no package for another system is downloaded',
)
registry.close()

/** Starts the sandbox twice: first with an empty cache, then with the filled cache. */
async function tryFirstAndAgain(client) {
  const home = emptyFolder()
  const first = await trySandbox(client, [...client.npx, name], home)
  const again = await trySandbox(client, [...client.npx, name], home)
  figure(
    client,
    `${client.title} ${name} sandbox --json`,
    `ready in ${first} s, the second time in ${again} s`,
  )
}

/** Starts the sandbox from a tarball. The executable's package comes from the registry. */
async function tryTarball(client) {
  const file = join(packages, `${name}-${version}.tgz`)
  const ready = await trySandbox(client, client.tarball(file), emptyFolder())
  figure(client, `npm exec --package=./${name}-${version}.tgz`, `ready in ${ready} s`)
}

/** Runs the tests of a partner's project, which start, call and stop the sandbox. */
async function tryProject(client) {
  const project = emptyFolder()
  const home = emptyFolder()
  const manifest = { private: true, scripts: { test: 'node --test' }, devDependencies: { [name]: version } }
  fs.writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
  fs.writeFileSync(join(project, 'api.test.mjs'), exampleTest())
  await run(client, [...client.npm, 'install'], project, home)
  const { code, output } = await run(client, [...client.npm, 'test'], project, home)
  assert.equal(code, 0, output)
  assert.match(output, /pass 1\b/)
  assert.match(output, /fail 0\b/)
  fs.rmSync(join(project, 'node_modules'), { recursive: true })
  const started = performance.now()
  const ci = await run(client, [...client.npm, 'ci'], project, home)
  assert.equal(ci.code, 0, ci.output)
  const installed = seconds(started)
  assert.equal((await run(client, [...client.npm, 'test'], project, home)).code, 0)
  figure(client, 'npm install, npm test; npm ci, npm test', `npm ci with a warm cache in ${installed} s`)
}

/** Returns the test in the package's README.md. */
function exampleTest() {
  const readme = fs.readFileSync(join(root, 'packages/sandbox/README.md'), 'utf8')
  const [, code] = /^```js\n(.+?)^```$/ms.exec(readme) ?? assert.fail('README.md shows no test')
  return code
}

async function tryWithoutOptional(client) {
  const words = [...client.npx, '--omit=optional', name, '--version']
  const { code, output } = await run(client, words, emptyFolder(), emptyFolder())
  const platform = `${process.platform}-${process.arch}`
  const why = `@anteroom/sandbox-${platform} is not installed; install ${name} again on this system, without --omit=optional`
  assert.equal(code, 1)
  assert.ok(output.endsWith(`${name}: ${why}\n`), output)
  figure(client, '--omit=optional', 'is rejected with a one-line error')
}

/** Starts the sandbox, calls it and stops it by a signal. @returns seconds until it was ready */
async function trySandbox(client, words, home) {
  const folder = emptyFolder()
  const started = performance.now()
  const child = begin(client, [...words, 'sandbox', '--json', '--port', '0'], folder, home, [
    'ignore',
    'pipe',
    'pipe',
  ])
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  const lines = []
  const stdout = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  const closed = once(child, 'close')
  await Promise.race([once(stdout, 'line'), closed])
  assert.equal(lines.length, 1, `one line on stdout when it is ready; on stderr: ${errors}`)
  const ready = seconds(started)
  const { baseUrl, database, partners } = JSON.parse(lines[0])
  const { token } = partners.find(({ state }) => state === 'active')
  const regions = await fetch(`${baseUrl}/partners/v1/provider-regions/?country_code=CA`, {
    headers: { authorization: `Bearer ${token}` },
  })
  assert.equal(regions.status, 200)
  assert.equal((await regions.json()).length, 13, 'the provinces and territories of Canada')
  child.kill('SIGTERM')
  const [code, signal] = await closed
  await eventually(() => !fs.existsSync(database), 'the temporary database is gone')
  assert.equal(lines.length, 1, 'nothing else on stdout')
  assert.deepEqual(fs.readdirSync(folder), [], 'nothing left in the working folder')
  // npx may end by the signal. The checks above show that the sandbox itself ended normally.
  assert.ok(code === 0 || signal === 'SIGTERM', `ended with ${code ?? signal}; on stderr: ${errors}`)
  return ready
}

function systemNpm() {
  const version = execFileSync('npm', ['--version'], { encoding: 'utf8' }).trim()
  return npmClient(`npm ${version}, Node ${process.versions.node}`, dirname(process.execPath), 'npm', 'npx')
}

/** npm 12 requires a newer Node. */
async function newNpm() {
  const system = { win32: 'win' }[process.platform] ?? process.platform
  const node = `node-${system}-${process.arch}`
  const words = [
    'install',
    '--prefix',
    temporary,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]
  execFileSync('npm', [...words, `npm@${npm12.npm}`, `${node}@${npm12.node}`])
  const bin = join(temporary, 'node_modules', node, 'bin')
  const cli = (command) => join(temporary, 'node_modules/npm/bin', `${command}-cli.js`)
  return npmClient(`npm ${npm12.npm}, Node ${npm12.node}`, bin, cli('npm'), cli('npx'))
}

function npmClient(title, bin, npm, npx) {
  return {
    name: title,
    title: 'npx',
    path: [bin, '/usr/bin', '/bin'],
    npm: [npm],
    npx: [npx, '--yes'],
    tarball: (file) => [npm, 'exec', '--yes', `--package=${file}`, '--', name],
  }
}

function pinnedBun() {
  const { packageManager } = JSON.parse(fs.readFileSync(join(root, 'package.json'), 'utf8'))
  const bun = packageManager.replace('bun@', '')
  const folder = join(root, '.bun', `${bun}-${process.platform}-${process.arch}`)
  const path = [folder, dirname(process.execPath), '/usr/bin', '/bin']
  return { name: `Bun ${bun}`, title: 'bunx', path, npx: ['bun', 'x'] }
}

function begin({ path }, words, cwd, home, stdio) {
  const env = {
    HOME: home,
    PATH: path.join(delimiter),
    TMPDIR: temporary,
    npm_config_registry: registry.url,
    npm_config_ignore_scripts: 'true',
    npm_config_update_notifier: 'false',
  }
  const [command, ...rest] = words[0].endsWith('.js') ? ['node', ...words] : words
  const child = spawn(command, rest, { cwd, env, stdio, detached: true })
  running.add(child)
  return child.on('close', () => running.delete(child))
}

async function run(client, words, cwd, home) {
  const child = begin(client, words, cwd, home, ['ignore', 'pipe', 'pipe'])
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const [code] = await once(child, 'close')
  return { code, output }
}

/** Starts an npm registry with only the packages in dist/packages. */
async function startRegistry() {
  const fetched = new Set()
  const files = fs.readdirSync(packages).filter((file) => file.endsWith('.tgz'))
  const server = createServer(({ url }, response) => {
    const path = decodeURIComponent(url.slice(1))
    if (files.includes(path)) {
      fetched.add(path)
      return fs.createReadStream(join(packages, path)).pipe(response)
    }
    const document = documents.find((each) => each.name === path)
    response.writeHead(document ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document ?? {}))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${server.address().port}/`
  const documents = files.map((file) => {
    const bytes = fs.readFileSync(join(packages, file))
    const manifest = execFileSync('tar', ['-xOzf', join(packages, file), 'package/package.json'], {
      encoding: 'utf8',
    })
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    const release = { ...JSON.parse(manifest), dist: { tarball: `${url}${file}`, integrity } }
    return {
      name: release.name,
      'dist-tags': { latest: release.version },
      versions: { [release.version]: release },
    }
  })
  return { url, fetched, close: () => server.close() }
}

function emptyFolder() {
  return fs.mkdtempSync(join(temporary, 'empty-'))
}

async function eventually(isDone, what) {
  for (const deadline = performance.now() + 5_000; !isDone(); ) {
    assert.ok(performance.now() < deadline, what)
    await new Promise((done) => setTimeout(done, 10))
  }
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has already ended.
  }
}

function seconds(started) {
  return ((performance.now() - started) / 1000).toFixed(1)
}

function figure(client, what, result) {
  console.log(`${client.name}: ${what}: ${result}`)
}
