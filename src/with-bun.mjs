/**
 * `node src/with-bun.mjs ARGS...` runs `bun ARGS...` in the project's folder. First installs missing parts: Bun as
 * package.json pins it (hashes: pinned-bun.json), and dependencies as bun.lock pins them. For src/main.ts, installs
 * only production dependencies. `--fetch=PLATFORM,...` before ARGS also fetches Bun for other platforms.
 *
 * Plain JavaScript without dependencies, for Node 18 or later and any Bun. Writes nothing to stdout, because the
 * program uses stdout.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const ownFolder = join(root, '.bun')
const pinned = JSON.parse(fs.readFileSync(join(root, 'src', 'pinned-bun.json'), 'utf8'))
const platform = `${process.platform}-${process.arch}${isMusl() ? '-musl' : ''}`

// These two variables would change what Bun runs.
const { BUN_OPTIONS: _, BUN_BE_BUN: __, ...env } = process.env

// Requests of the tests to this machine must not go through a configured proxy.
const unproxied = [env.NO_PROXY ?? env.no_proxy, '127.0.0.1', 'localhost', '::1'].filter(Boolean).join()
Object.assign(env, { NO_PROXY: unproxied, no_proxy: unproxied })

const temporaryFolders = []
process.on('exit', removeTemporaryFolders)

// Passes signals to the child process. This process ends when the child has ended.
let running
let stoppedBy
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    stoppedBy = signal
    if (running) running.kill(signal)
    else process.exit(128 + constants.signals[signal])
  })
}

try {
  const version = pinnedVersion()
  const bun = findBun(version) ?? (await fetchBun(version, platform))
  const args = process.argv.slice(2)
  const others = args[0]?.startsWith('--fetch=') ? args.shift().slice('--fetch='.length).split(',') : []
  for (const other of others) if (!fs.existsSync(ownBun(version, other))) await fetchBun(version, other)
  await installDependencies(bun, version, args[0] === 'src/main.ts')
  removeTemporaryFolders()
  process.exit((await run(bun, args, { cwd: root, stdio: 'inherit' })).code)
} catch (error) {
  if (stoppedBy) process.exit(128 + constants.signals[stoppedBy])
  say(error.message)
  process.exit(1)
}

function pinnedVersion() {
  const { packageManager } = JSON.parse(fs.readFileSync(join(root, 'package.json'), 'utf8'))
  const version = /^bun@([^+]+)/.exec(packageManager)?.[1]
  if (!version) throw new Error('package.json pins no Bun: it needs "packageManager": "bun@VERSION"')
  if (version !== pinned.version) throw new Error(`src/pinned-bun.json has no hashes of Bun ${version}`)
  return version
}

function isMusl() {
  return process.platform === 'linux' && fs.existsSync('/etc/alpine-release')
}

/** Returns the path of a Bun of exactly this version. Tries PATH last, because starting executables is slow. */
function findBun(version) {
  // Bun may run this script too: without Node, `bun run` provides itself as `node`.
  if (process.versions.bun === version) return process.execPath
  if (fs.existsSync(ownBun(version, platform))) return ownBun(version, platform)
  return onPath('bun').find((path) => versionOf(path) === version)
}

/** Path of the project's Bun for a platform. The path contains the version, so Bun need not be started to check it. */
function ownBun(version, platform) {
  return join(ownFolder, `${version}-${platform}`, 'bun')
}

function onPath(name) {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => resolve(folder, name)).filter((path) => fs.existsSync(path))
}

function versionOf(bun) {
  return spawnSync(bun, ['--version'], { env, encoding: 'utf8', timeout: 10_000 }).stdout?.trim()
}

/** Installs Bun for a platform from an npm package. Checks the hash. Returns the path. */
async function fetchBun(version, platform) {
  const pin = pinned.executables[platform]
  if (!pin) throw new Error(`src/pinned-bun.json has no Bun for ${platform}: put Bun ${version} on the PATH`)
  say(`fetching Bun ${version} for ${platform}`)
  const npm = onPath('npm').slice(0, 1)
  const bun = process.versions.bun ? [process.execPath] : onPath('bun').filter(versionOf).slice(0, 1)
  const failures = []
  for (const installer of process.versions.bun ? [...bun, ...npm] : [...npm, ...bun]) {
    const temp = temporaryFolder()
    fs.writeFileSync(join(temp, 'package.json'), '{ "private": true }')
    const args = installer === npm[0] ? npmArguments(temp) : bunArguments(platform)
    const { code, output } = await run(installer, [...args, `${pin.package}@${version}`], { cwd: temp })
    const executable = join(
      temp,
      'node_modules',
      pin.package,
      'bin',
      /^win/.test(platform) ? 'bun.exe' : 'bun',
    )
    if (code === 0 && fs.existsSync(executable)) {
      requireHash(executable, pin.sha512, `${pin.package}@${version}`)
      fs.chmodSync(executable, 0o755)
      // A rename is atomic, so two processes can install at once.
      fs.mkdirSync(dirname(ownBun(version, platform)), { recursive: true })
      fs.renameSync(executable, ownBun(version, platform))
      return ownBun(version, platform)
    }
    failures.push(`${installer === npm[0] ? 'npm' : 'bun'}: ${gist(output)}`)
  }
  throw new Error(
    `cannot install Bun ${version}: ${failures.join('; ') || 'found no npm and no Bun in PATH. Install Node.js with npm, then try again.'}`,
  )
}

/** Throws if the hash is wrong. Tries no other installer, because all installers fetch the same package. */
function requireHash(file, sha512, name) {
  const found = createHash('sha512').update(fs.readFileSync(file)).digest('hex')
  if (found !== sha512)
    throw new Error(`${name} does not match its hash in src/pinned-bun.json: its SHA-512 is ${found}`)
}

/** Returns arguments for Bun. Without the flags, Bun skips packages for other platforms. */
function bunArguments(platform) {
  const [os, cpu] = platform.split('-')
  return ['add', '--ignore-scripts', `--os=${os}`, `--cpu=${cpu}`]
}

/** Returns arguments for npm. Sets each option, because `npm start` passes on the user's npm settings. */
function npmArguments(folder) {
  const what = ['install', '--prefix', folder, '--ignore-scripts', '--include=optional', '--global=false']
  const how = [
    '--no-save',
    '--force', // to install a package of another platform
    '--no-package-lock',
    '--no-audit',
    '--no-fund',
    '--no-progress',
    '--loglevel=error',
  ]
  // Without a network, npm by default takes more than a minute to fail.
  return [...what, ...how, '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000']
}

/** Installs into a temporary folder, then renames it. An interruption thus leaves no incomplete node_modules. */
async function installDependencies(bun, version, startsProgram) {
  const modules = join(root, 'node_modules')
  const stamp = join(modules, '.with-bun')
  const installed = fs.existsSync(stamp) ? fs.readFileSync(stamp, 'utf8') : 'production'
  // Installed packages for tests are updated too, and not removed.
  const isProgram = startsProgram && installed.endsWith('production')
  const whole = dependenciesHash(version)
  const production = `${whole} production`
  const enough = isProgram ? [whole, production] : [whole]
  const isCurrent = () => fs.existsSync(stamp) && enough.includes(fs.readFileSync(stamp, 'utf8'))
  if (isCurrent()) return

  say('installing the dependencies')
  const temp = temporaryFolder()
  for (const file of ['package.json', 'bun.lock', 'bunfig.toml', '.npmrc']) {
    if (fs.existsSync(join(root, file))) fs.copyFileSync(join(root, file), join(temp, file))
  }
  const only = isProgram ? ['--production', '--omit=optional'] : []
  const { code, output } = await run(bun, ['install', '--frozen-lockfile', ...only], { cwd: temp })
  if (code !== 0) {
    process.stderr.write(output)
    throw new Error(`cannot install the dependencies: ${gist(output)}`)
  }
  // Bun only warns if it cannot fetch an optional package, for example the linter. Without a stamp, the next start
  // tries again.
  const isWhole = !/^warn: .* downloading /m.test(output)
  if (isWhole) fs.writeFileSync(join(temp, 'node_modules', '.with-bun'), isProgram ? production : whole)
  try {
    if (fs.existsSync(modules) && !isCurrent()) fs.renameSync(modules, join(temp, 'old'))
    fs.renameSync(join(temp, 'node_modules'), modules)
  } catch (error) {
    if (!isCurrent()) throw error
  }
}

function dependenciesHash(version) {
  const hash = createHash('sha256').update(`${version} ${platform}\n`)
  for (const file of ['package.json', 'bun.lock']) hash.update(fs.readFileSync(join(root, file)))
  return hash.digest('hex')
}

/** Creates a folder on the project's file system, because a rename needs the same file system. */
function temporaryFolder() {
  fs.mkdirSync(ownFolder, { recursive: true })
  for (const name of fs.readdirSync(ownFolder).filter((name) => name.startsWith('temp-'))) {
    const age = Date.now() - fs.statSync(join(ownFolder, name), { throwIfNoEntry: false })?.mtimeMs
    if (age > 3_600_000) fs.rmSync(join(ownFolder, name), { recursive: true, force: true })
  }
  const folder = fs.mkdtempSync(join(ownFolder, 'temp-'))
  temporaryFolders.push(folder)
  return folder
}

function removeTemporaryFolders() {
  for (const folder of temporaryFolders.splice(0)) fs.rmSync(folder, { recursive: true, force: true })
}

/** Runs a program to its end. Returns the program's output, unless stdio is inherited. */
function run(command, args, options) {
  return new Promise((done, failed) => {
    running = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], ...options })
    let output = ''
    for (const stream of [running.stdout, running.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        output += text
      })
    }
    running.on('error', failed)
    running.on('close', (code, signal) => {
      running = undefined
      // A signal ends the whole installation, not only this step.
      if (stoppedBy && options.stdio !== 'inherit') failed(new Error('stopped'))
      else done({ code: code ?? 128 + constants.signals[signal], output })
    })
  })
}

/** Returns the most useful line of the output of npm or Bun after a failure. */
function gist(output) {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const telling = /^(?:npm )?(?:error|ERR!):? (?!code |syscall |errno |path |dest )(.+)/
  return telling.exec(lines.find((line) => telling.test(line)) ?? '')?.[1] ?? lines[0] ?? 'no output'
}

function say(line) {
  process.stderr.write(`with-bun: ${line}\n`)
}
