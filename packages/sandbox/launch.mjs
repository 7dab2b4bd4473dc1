#!/usr/bin/env node
/**
 * Starts the Anteroom executable for this system. An optional dependency of this package contains the executable.
 * Passes on arguments, input, output, signals and the exit code.
 *
 * Plain JavaScript without dependencies, for Node 18 or later and Bun. Makes no network requests.
 */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { constants } from 'node:os'

const require = createRequire(import.meta.url)
const { name, optionalDependencies } = require('./package.json')
const isWindows = process.platform === 'win32'
const platform = `${process.platform}-${process.arch}`
const platformPackage = `@anteroom/sandbox-${platform}`
const parent = process.ppid
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']

// These variables may be set for another program. The runtime in the executable would use them too.
const runtimeVariable = /^BUN_(BE_BUN|OPTIONS|INSPECT\w*|JSC_\w+|BYTECODE_\w+)$/i
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !runtimeVariable.test(name)))

const needsGlibc =
  'the executable needs glibc, but this Linux has musl (for example Alpine); use an image with glibc, such as node:24-slim'

const executable = findExecutable()
if (executable) start(executable)
else refuse(whyMissing())

/** Returns undefined if the package for this system is not installed. */
function findExecutable() {
  try {
    return require.resolve(`${platformPackage}/bin/anteroom${isWindows ? '.exe' : ''}`)
  } catch {
    return undefined
  }
}

function start(path) {
  let child
  // Handles signals before the executable starts. Otherwise an early signal would leave the executable running.
  for (const signal of endingSignals) {
    process.on(signal, () => {
      // On Windows, the console itself sends Ctrl-C to the executable. kill() would prevent its cleanup.
      if (!isWindows) child.kill(signal)
    })
  }
  child = spawn(path, process.argv.slice(2), { stdio: 'inherit', env })
  child.on('error', ({ code }) => refuse(code === 'ENOENT' && hasMusl() ? needsGlibc : cannotStart(code)))
  child.on('exit', endAs)
  if (process.env.npm_lifecycle_event === 'npx') stopWithParent(() => child.kill())
}

/** Stops if the parent has ended: the shell of npx may end at a signal without passing the signal on. */
function stopWithParent(stop) {
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, 100)
  watch.unref()
}

/** Ends this process with the exit code of the executable, or by the same signal. */
function endAs(code, signal) {
  process.exitCode = code ?? 128 + constants.signals[signal]
  if (signal === null) return
  for (const each of endingSignals) process.removeAllListeners(each)
  process.kill(process.pid, signal)
}

function whyMissing() {
  if (!(platformPackage in optionalDependencies)) {
    const platforms = Object.keys(optionalDependencies).map((each) => each.replace('@anteroom/sandbox-', ''))
    return `there is no executable for ${platform}, only for ${platforms.join(', ')}`
  }
  if (hasMusl()) return needsGlibc
  return `${platformPackage} is not installed; install ${name} again on this system, without --omit=optional`
}

function cannotStart(code) {
  return `the executable of ${platformPackage} cannot be started (${code})`
}

/** True on a Linux without glibc. */
function hasMusl() {
  if (process.platform !== 'linux') return false
  // By default, the report makes DNS queries for the addresses of open connections.
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime === undefined
}

function refuse(why) {
  process.stderr.write(`${name}: ${why}\n`)
  process.exitCode = 1
}
