#!/usr/bin/env node
/**
 * Starts the Anteroom executable that an optional dependency of this package brought for this system, and stands aside:
 * its words, its input and output, the signals that ask it to stop and the way it ends are passed on as they are.
 *
 * Plain JavaScript without dependencies, for Node 18 or later or any Bun; it asks no network for anything.
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

// The runtime that is built into the executable would obey these, whatever program they were set for.
const runtimeVariable = /^BUN_(BE_BUN|OPTIONS|INSPECT\w*|JSC_\w+|BYTECODE_\w+)$/i
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !runtimeVariable.test(name)))

const needsGlibc =
  'the executable needs glibc, and this Linux has musl (as Alpine has); use one with glibc, such as node:24-slim'

const executable = findExecutable()
if (executable) start(executable)
else refuse(whyMissing())

/** The path of the executable for this system, if its package is installed. */
function findExecutable() {
  try {
    return require.resolve(`${platformPackage}/bin/anteroom${isWindows ? '.exe' : ''}`)
  } catch {
    return undefined
  }
}

function start(path) {
  let child
  // Before it is started: a signal in between would leave it behind, alone.
  for (const signal of endingSignals) {
    process.on(signal, () => {
      // On Windows the console tells it of Ctrl-C itself, and to kill is to cut it off.
      if (!isWindows) child.kill(signal)
    })
  }
  child = spawn(path, process.argv.slice(2), { stdio: 'inherit', env })
  child.on('error', ({ code }) => refuse(code === 'ENOENT' && hasMusl() ? needsGlibc : cannotStart(code)))
  child.on('exit', endAs)
  if (process.env.npm_lifecycle_event === 'npx') stopWithParent(() => child.kill())
}

/** npx passes signals on to a shell that it starts in between, and some shells end by them and pass nothing on. */
function stopWithParent(stop) {
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, 100)
  watch.unref()
}

/** Ends as the executable has ended: by the same signal where it was one. */
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

/** Whether this is a Linux without glibc; as far as the runtime tells. */
function hasMusl() {
  if (process.platform !== 'linux') return false
  // Otherwise the report would look up the names of the addresses that this process is connected to.
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime === undefined
}

function refuse(why) {
  process.stderr.write(`${name}: ${why}\n`)
  process.exitCode = 1
}
