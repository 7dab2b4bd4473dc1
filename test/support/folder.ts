import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'
const roomNeeded = 4 * 2 ** 30

/**
 * Where tests have their files: in memory where there is room for all of them, so that none waits for a disk that others use.
 * What becomes of files when a process is killed is the same there; tests of a disk bring their own.
 */
export const folders = hasRoom() ? memory : tmpdir()

function hasRoom(): boolean {
  try {
    accessSync(memory, constants.W_OK)
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize >= roomNeeded
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
