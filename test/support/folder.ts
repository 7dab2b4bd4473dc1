import { accessSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const memory = '/dev/shm'
const roomNeeded = 4 * 2 ** 30

/** The parent of all test folders. The parent is in memory if there is room. */
export const folders = hasRoom() ? memory : tmpdir()

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory)
    if (bavail * bsize < roomNeeded) return false
    const program = join(mkdtempSync(join(memory, 'anteroom-test-')), 'program')
    try {
      writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 })
      // This check throws if the file system is mounted noexec.
      accessSync(program, constants.X_OK)
      return true
    } finally {
      rmSync(dirname(program), { recursive: true })
    }
  } catch {
    return false
  }
}

/** A temporary folder. Disposing removes it. */
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
