import { accessSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const memory = '/dev/shm'
const roomNeeded = 4 * 2 ** 30

/**
 * Where tests have their files: in memory where there is room for all of them, so that none waits for a disk that others use.
 * What becomes of files when a process is killed is the same there; tests of a disk bring their own.
 */
export const folders = hasRoom() ? memory : tmpdir()

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory)
    if (bavail * bsize < roomNeeded) return false
    const program = join(mkdtempSync(join(memory, 'anteroom-test-')), 'program')
    try {
      writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 })
      // Where nothing may be run (noexec), this is not allowed.
      accessSync(program, constants.X_OK)
      return true
    } finally {
      rmSync(dirname(program), { recursive: true })
    }
  } catch {
    return false
  }
}

/** A folder that goes when its scope is left. */
export class Folder implements Disposable {
  readonly path: string

  constructor(parent = folders) {
    this.path = mkdtempSync(join(parent, 'anteroom-test-'))
  }

  file(name: string): string {
    return join(this.path, name)
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
