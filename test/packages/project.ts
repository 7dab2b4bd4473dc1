import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DeliveredPlatform } from '../../deploy/release/delivered'
import { packSandbox } from '../../packages/sandbox/pack'
import { Folder, theProgram } from '../support/process'

export const here = `${process.platform}-${process.arch}` as DeliveredPlatform

/** Unpacks a package like a package manager that runs no install scripts. */
export function unpack(tarball: string, into: string): void {
  mkdirSync(into, { recursive: true })
  const { exitCode } = Bun.spawnSync(['tar', '-xzf', tarball, '--strip-components=1', '-C', into])
  if (exitCode !== 0) throw new Error(`cannot unpack ${tarball}`)
}

/** A partner's project with the packages installed, and `anteroom` in its PATH. Disposing deletes it. */
export class Project implements Disposable {
  readonly #folder = new Folder()
  /** For temporary files of the project's programs. */
  readonly temporary = this.file('temporary')
  /** The package of the executable, then that of the sandbox. */
  readonly tarballs: readonly string[]
  readonly env: Record<string, string>

  constructor() {
    for (const name of ['bin', 'temporary']) mkdirSync(this.file(name))
    const program = this.file('bin/anteroom')
    writeFileSync(program, `#!/bin/sh\nexec '${theProgram.join("' '")}' "$@"\n`, { mode: 0o755 })
    const packed = this.file('packed')
    this.tarballs = packSandbox({ executables: { [here]: program }, folder: packed, gzipLevel: 1 }).map(
      (name) => join(packed, name),
    )
    const [executable = '', sandbox = ''] = this.tarballs
    unpack(executable, this.file(`node_modules/@anteroom/sandbox-${here}`))
    unpack(sandbox, this.file('node_modules/anteroom-sandbox'))
    this.env = {
      ...(process.env as Record<string, string>),
      PATH: `${this.file('bin')}:${process.env.PATH}`,
      TMPDIR: this.temporary,
    }
  }

  file(name: string): string {
    return this.#folder.file(name)
  }

  async run(words: readonly string[], cwd = this.file('')) {
    const child = Bun.spawn([...words], { cwd, env: this.env, stdio: ['ignore', 'pipe', 'pipe'] })
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
    return { code: child.exitCode, stdout, stderr }
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]()
  }
}
