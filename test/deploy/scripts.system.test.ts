import { expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import { isLong } from '../support/long'
import { theProgram } from '../support/process'

/** What a script says where what it needs is not there. */
const skipped = 77

const scripts = [
  ['machine.sh', 'an empty machine comes to serve, book, back up, reload, stop and restore'],
  ['image.sh', 'an image is built, and serves read-only'],
] as const

for (const [script, what] of isLong ? scripts : []) {
  test(what, async () => {
    const words = [fileURLToPath(new URL(script, import.meta.url)), theProgram[0] as string]
    const child = Bun.spawn(words, { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
    const [said, faults] = await Promise.all([child.stdout.text(), child.stderr.text()])
    const code = await child.exited
    console.log(said)
    if (code !== skipped) expect({ code, faults }).toEqual({ code: 0, faults: '' })
  })
}
