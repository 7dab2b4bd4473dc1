/**
 * `node src/with-bun.mjs ARGS...` runs `bun ARGS...` in the project's folder, with the Bun that package.json pins and
 * the dependencies that bun.lock pins, after installing whichever of the two is missing. The program itself gets only the
 * packages that it imports; anything else gets those of tests and lint too. A Bun that is fetched is held
 * to its hash in pinned-bun.json. `--fetch=PLATFORM,...` before ARGS fetches those of other platforms first.
 *
 * Plain JavaScript without dependencies, because it runs before there are any: on Node 18 or later, or on any Bun.
 * It writes nothing on stdout, which belongs to the program that it starts.
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

// Either of the two would change what a Bun that is started from here does.
const { BUN_OPTIONS: _, BUN_BE_BUN: __, ...env } = process.env

// Tests call servers on this machine, which a proxy for the world outside does not reach, and Bun would ask it.
const unproxied = [env.NO_PROXY ?? env.no_proxy, '127.0.0.1', 'localhost', '::1'].filter(Boolean).join()
Object.assign(env, { NO_PROXY: unproxied, no_proxy: unproxied })

const temporaryFolders = []
process.on('exit', removeTemporaryFolders)

// Signals go to what runs at the moment; this process ends when that has ended.
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

/** Whether this is a Linux without glibc, as Alpine: an executable of the one does not start on the other. */
function isMusl() {
  return process.platform === 'linux' && fs.existsSync('/etc/alpine-release')
}

/** The path of a Bun of exactly this version, if there is one; the places that cost nothing come first. */
function findBun(version) {
  // Where there is no Node, `bun run` puts a link to itself on the PATH as `node`; execPath is Bun's own path then.
  if (process.versions.bun === version) return process.execPath
  if (fs.existsSync(ownBun(version, platform))) return ownBun(version, platform)
  return onPath('bun').find((path) => versionOf(path) === version)
}

/** Where the project keeps its own Bun of a platform. The version is in the path, so that nobody has to ask it. */
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

/** Takes a platform's executable out of its npm package, holds it to its hash, and returns its path. */
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
      // A rename is whole or not at all; where two install at once, the later takes the earlier one's place.
      fs.mkdirSync(dirname(ownBun(version, platform)), { recursive: true })
      fs.renameSync(executable, ownBun(version, platform))
      return ownBun(version, platform)
    }
    failures.push(`${installer === npm[0] ? 'npm' : 'bun'}: ${gist(output)}`)
  }
  throw new Error(
    `cannot install Bun ${version}: ${failures.join('; ') || 'there is neither npm nor any Bun'}`,
  )
}

/** No other installer is tried then: somebody has changed what all of them fetch. */
function requireHash(file, sha512, name) {
  const found = createHash('sha512').update(fs.readFileSync(file)).digest('hex')
  if (found !== sha512)
    throw new Error(`${name} is not what src/pinned-bun.json pins: its SHA-512 is ${found}`)
}

/** Bun takes a package of another platform only where it is told that this is that platform. */
function bunArguments(platform) {
  const [os, cpu] = platform.split('-')
  return ['add', '--ignore-scripts', `--os=${os}`, `--cpu=${cpu}`]
}

/** What `npm start` hands down from npm's settings, such as this project's loglevel, must not decide here. */
function npmArguments(folder) {
  const what = ['install', '--prefix', folder, '--ignore-scripts', '--include=optional', '--global=false']
  const how = [
    '--no-save',
    '--force', // for a package of another platform
    '--no-package-lock',
    '--no-audit',
    '--no-fund',
    '--no-progress',
    '--loglevel=error',
  ]
  // Without these, npm takes more than a minute to say that there is no network.
  return [...what, ...how, '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000']
}

/**
 * node_modules is made in a folder aside and then moved here: it is never half full, whatever interrupts this.
 *
 * @param startsProgram whether the packages that the program imports are enough, unless those of tests are installed
 */
async function installDependencies(bun, version, startsProgram) {
  const modules = join(root, 'node_modules')
  const stamp = join(modules, '.with-bun')
  const installed = fs.existsSync(stamp) ? fs.readFileSync(stamp, 'utf8') : 'production'
  // Packages of tests that are installed already are updated, not removed.
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
  // That a package for this platform alone (the linter's, the compiler's) could not be fetched is a mere warning to Bun.
  // Without a stamp, the next start tries again.
  const isWhole = !/^warn: .* downloading /m.test(output)
  if (isWhole) fs.writeFileSync(join(temp, 'node_modules', '.with-bun'), isProgram ? production : whole)
  try {
    if (fs.existsSync(modules) && !isCurrent()) fs.renameSync(modules, join(temp, 'old'))
    fs.renameSync(join(temp, 'node_modules'), modules)
  } catch (error) {
    // Another start may have been quicker.
    if (!isCurrent()) throw error
  }
}

function dependenciesHash(version) {
  const hash = createHash('sha256').update(`${version} ${platform}\n`)
  for (const file of ['package.json', 'bun.lock']) hash.update(fs.readFileSync(join(root, file)))
  return hash.digest('hex')
}

/** A folder on the project's own file system, so that a rename can move things out of it. */
function temporaryFolder() {
  fs.mkdirSync(ownFolder, { recursive: true })
  // What a start that was killed left behind.
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

/** Runs a program to its end. Unless it inherits this process's stdio, what it prints is returned. */
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
      // A signal ends the installing as a whole, not one step of it.
      if (stoppedBy && options.stdio !== 'inherit') failed(new Error('stopped'))
      else done({ code: code ?? 128 + constants.signals[signal], output })
    })
  })
}

/** The one line that tells most of what a failed npm or Bun printed. */
function gist(output) {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const telling = /^(?:npm )?(?:error|ERR!):? (?!code |syscall |errno |path |dest )(.+)/
  return (
    telling.exec(lines.find((line) => telling.test(line)) ?? '')?.[1] ??
    lines[0] ??
    'it failed without a word'
  )
}

function say(line) {
  process.stderr.write(`with-bun: ${line}\n`)
}
