import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder that goes when its scope is left. */
export class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'anteroom-test-'))

  file(name: string): string {
    return join(this.path, name)
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
