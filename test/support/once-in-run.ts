import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The process id of the test runner. With --parallel, each test file runs in a child process of the runner. */
export const runner = process.env.BUN_TEST_WORKER_ID ? process.ppid : process.pid

// The prefix contains the user id, because a user must not remove the folders of another user.
const prefix = `anteroom-run-${process.getuid?.() ?? ''}-`

const timeoutMillis = 120_000

/**
 * Creates a folder once in a test run. Other processes of the run wait until the folder is complete.
 *
 * @param name must differ for each content and version, because a later run may have the same process id
 * @throws Error if the folder could not be created
 */
export function onceInRun(name: string, make: (folder: string) => void): string {
  const folder = join(tmpdir(), `${prefix}${runner}-${name}`)
  const made = join(folder, 'made')
  const deadline = performance.now() + timeoutMillis
  while (!existsSync(made)) {
    if (isFirst(folder)) makeIn(folder, made, make)
    else if (performance.now() > deadline) throw new Error(`another process has not made ${name}`)
    else Bun.sleepSync(20)
  }
  return made
}

function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder)
    return true
  } catch (error) {
    if ((error as { code?: string }).code === 'EEXIST') return false
    throw error
  }
}

function makeIn(folder: string, made: string, make: (folder: string) => void): void {
  removeOldRuns()
  const half = join(folder, 'half')
  try {
    mkdirSync(half)
    make(half)
    renameSync(half, made)
  } catch (error) {
    rmSync(folder, { recursive: true })
    throw error
  }
}

/** Removes folders of earlier runs. A test process cannot remove its own folder when it ends. */
function removeOldRuns(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(prefix)) continue
    const pid = Number.parseInt(name.slice(prefix.length), 10)
    if (pid && pid !== runner && !isAlive(pid)) rmSync(join(tmpdir(), name), { recursive: true, force: true })
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM'
  }
}
