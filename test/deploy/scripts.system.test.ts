import { expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import { isLong } from '../support/long'
import { theProgram } from '../support/process'

/** The exit code of a script that cannot run, because a program that it needs is missing. */
const skipped = 77

const scripts = [
  [
    'machine.sh',
    'deploy: machine.sh sets up an empty machine that serves, books, backs up, reloads, stops and restores',
  ],
  ['image.sh', 'deploy: image.sh builds an image that serves read-only'],
] as const

for (const [script, what] of isLong ? scripts : []) {
  test(what, async () => {
    const words = [fileURLToPath(new URL(script, import.meta.url)), theProgram[0] as string]
    const child = Bun.spawn(words, { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
    const [output, faults] = await Promise.all([child.stdout.text(), child.stderr.text()])
    const code = await child.exited
    console.log(output)
    if (code !== skipped) expect({ code, faults }).toEqual({ code: 0, faults: '' })
  })
}
