#!/usr/bin/env node
/**
 * Starts the Anteroom executable for this system. Passes on arguments, input, output, signals and the exit code.
 *
 * Plain JavaScript without dependencies, for Node 20 or later and Bun. Makes no network requests.
 */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { environment, findExecutable, startFault } from './executable.mjs'

const parent = process.ppid
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']

try {
  start(findExecutable())
} catch (error) {
  refuse(error)
}

function start(path) {
  let child
  // Handles signals before the executable starts. Otherwise an early signal would leave the executable running.
  for (const signal of endingSignals) {
    process.on(signal, () => {
      // On Windows, the console itself sends Ctrl-C to the executable. kill() would prevent its cleanup.
      if (process.platform !== 'win32') child.kill(signal)
    })
  }
  child = spawn(path, process.argv.slice(2), { stdio: 'inherit', env: environment() })
  child.on('error', (error) => refuse(startFault(error)))
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

function refuse({ message }) {
  process.stderr.write(`${message}\n`)
  process.exitCode = 1
}
