import { expect, test } from 'bun:test'
import { chmodSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as pinnedBun from '../../src/pinned-bun.json'
import { Folder } from '../support/folder'

const root = new URL('../..', import.meta.url).pathname

/** An npm that puts an executable of its own making in the place of Bun's. */
const otherNpm = `#!/bin/sh
for package; do :; done
/bin/mkdir -p "node_modules/\${package%@*}/bin"
echo other > "node_modules/\${package%@*}/bin/bun"
`

test('a Bun that is not the one that is pinned is neither kept nor started', () => {
  using folder = new Folder()
  for (const name of ['src', 'bin']) mkdirSync(folder.file(name))
  for (const name of ['package.json', 'src/with-bun.mjs', 'src/pinned-bun.json']) {
    copyFileSync(join(root, name), folder.file(name))
  }
  writeFileSync(folder.file('bin/npm'), otherNpm)
  chmodSync(folder.file('bin/npm'), 0o755)
  // Where Node runs it and no Bun is on the PATH, one is fetched.
  const words = [Bun.which('node') ?? 'node', 'src/with-bun.mjs', '--version']
  const env = { PATH: folder.file('bin') }
  const { exitCode, stdout, stderr } = Bun.spawnSync(words, { cwd: folder.path, env, stderr: 'pipe' })
  expect([exitCode, stdout.toString()]).toEqual([1, ''])
  const { version } = pinnedBun
  expect(stderr.toString()).toContain(`@${version} is not what src/pinned-bun.json pins: its SHA-512 is `)
  expect(readdirSync(folder.file('.bun'))).toEqual([])
})

test('what it starts asks no proxy for servers of this machine, nor for those that are excepted already', () => {
  const words = ['node', 'src/with-bun.mjs', '--print', 'process.env.NO_PROXY + " " + process.env.no_proxy']
  const env = { PATH: process.env.PATH ?? '', no_proxy: 'example.org', HTTP_PROXY: 'http://127.0.0.1:9' }
  const { stdout } = Bun.spawnSync(words, { cwd: root, env })
  const unproxied = 'example.org,127.0.0.1,localhost,::1'
  expect(stdout.toString()).toBe(`${unproxied} ${unproxied}\n`)
})
