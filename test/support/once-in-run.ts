import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Under --parallel each file is read by a process of its own making, and one process began them all. */
export const runner = process.env.BUN_TEST_WORKER_ID ? process.ppid : process.pid

// What another user's runs have left is theirs.
const prefix = `anteroom-run-${process.getuid?.() ?? ''}-`

const patienceMillis = 120_000

/**
 * What is made once in a run of the tests: by the process that first needs it, while all others wait.
 *
 * @param name what is made, and of what: another run had this number once, and other sources
 * @param make makes it in a folder that is still empty, and has another path then
 * @returns the path of the folder
 * @throws Error where it could not be made
 */
export function onceInRun(name: string, make: (folder: string) => void): string {
  const folder = join(tmpdir(), `${prefix}${runner}-${name}`)
  const made = join(folder, 'made')
  const deadline = performance.now() + patienceMillis
  while (!existsSync(made)) {
    if (isFirst(folder)) makeIn(folder, made, make)
    else if (performance.now() > deadline) throw new Error(`another process has not made ${name}`)
    else Bun.sleepSync(20)
  }
  return made
}

/** Whether a folder was made by us; the first to do so makes what is in it, and all others wait. */
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
  removeThoseOfOldRuns()
  const half = join(folder, 'half')
  try {
    mkdirSync(half)
    make(half)
    renameSync(half, made)
  } catch (error) {
    // Whoever waits tries for themselves.
    rmSync(folder, { recursive: true })
    throw error
  }
}

/** Removes what earlier runs have made: under `bun test` a process is not told that it ends. */
function removeThoseOfOldRuns(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(prefix)) continue
    const pid = Number.parseInt(name.slice(prefix.length), 10)
    if (pid && pid !== runner && !isAlive(pid)) rmSync(join(tmpdir(), name), { recursive: true, force: true })
  }
}

/** Whether there is a process of this number. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM'
  }
}
