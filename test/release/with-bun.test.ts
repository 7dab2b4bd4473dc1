import { expect, test } from 'bun:test'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Folder } from '../support/folder'
import { runProgram } from '../support/process'

const root = new URL('../..', import.meta.url).pathname

/** An npm that puts an executable of its own making in the place of Bun's. */
const otherNpm = `#!/bin/sh
mkdir -p node_modules/@oven/bun-linux-aarch64/bin
echo other > node_modules/@oven/bun-linux-aarch64/bin/bun
`

test('a Bun that is not the one that is pinned is neither kept nor started', async () => {
  using folder = new Folder()
  mkdirSync(folder.file('src'))
  for (const name of ['package.json', 'src/with-bun.mjs', 'src/pinned-bun.json']) {
    copyFileSync(join(root, name), folder.file(name))
  }
  mkdirSync(folder.file('bin'))
  writeFileSync(folder.file('bin/npm'), otherNpm)
  chmodSync(folder.file('bin/npm'), 0o755)
  const command = [process.execPath, folder.file('src/with-bun.mjs')]
  // Bun itself, which is asked first, reaches no registry.
  const env = { PATH: `${folder.file('bin')}:/usr/bin:/bin`, BUN_CONFIG_REGISTRY: 'http://127.0.0.1:1' }
  const { code, stdout, stderr } = await runProgram(['--fetch=linux-arm64', '--version'], { command, env })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain(`@oven/bun-linux-aarch64@${Bun.version} is not what src/pinned-bun.json pins`)
  expect(existsSync(folder.file('.bun'))).toBe(true)
  expect(readdirSync(folder.file('.bun'))).toEqual([])
})
