import { expect, test } from 'bun:test'
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import * as pinnedBun from '../../src/pinned-bun.json'
import { Folder } from '../support/folder'

const root = new URL('../..', import.meta.url).pathname

/** A forged npm, which installs another executable in place of Bun. */
const otherNpm = `#!/bin/sh
for package; do :; done
/bin/mkdir -p "node_modules/\${package%@*}/bin"
echo other > "node_modules/\${package%@*}/bin/bun"
`

/** Copies the project to a temporary folder, and writes the script as a program into the folder `bin` there. */
function projectWith(program: string, script: string): Folder {
  const folder = new Folder()
  for (const name of ['src', 'bin']) mkdirSync(folder.file(name))
  for (const name of ['package.json', 'bun.lock', 'src/with-bun.mjs', 'src/pinned-bun.json']) {
    copyFileSync(join(root, name), folder.file(name))
  }
  writeFileSync(folder.file(`bin/${program}`), script)
  chmodSync(folder.file(`bin/${program}`), 0o755)
  return folder
}

test('release: with-bun removes a fetched Bun that differs from the pinned Bun, and does not start the fetched Bun', () => {
  using folder = projectWith('npm', otherNpm)
  // There is no Bun on the PATH, so with-bun.mjs fetches one with npm.
  const words = [Bun.which('node') ?? 'node', 'src/with-bun.mjs', '--version']
  const env = { PATH: folder.file('bin') }
  const { exitCode, stdout, stderr } = Bun.spawnSync(words, { cwd: folder.path, env, stderr: 'pipe' })
  expect([exitCode, stdout.toString()]).toEqual([1, ''])
  const { version } = pinnedBun
  expect(stderr.toString()).toContain(
    `@${version} does not match its hash in src/pinned-bun.json: its SHA-512 is `,
  )
  expect(readdirSync(folder.file('.bun'))).toEqual([])
})

test('release: with-bun adds this machine to the configured proxy exemptions', () => {
  const words = ['node', 'src/with-bun.mjs', '--print', 'process.env.NO_PROXY + " " + process.env.no_proxy']
  const env = { PATH: process.env.PATH ?? '', no_proxy: 'example.org', HTTP_PROXY: 'http://127.0.0.1:9' }
  const { stdout } = Bun.spawnSync(words, { cwd: root, env })
  const unproxied = 'example.org,127.0.0.1,localhost,::1'
  expect(stdout.toString()).toBe(`${unproxied} ${unproxied}\n`)
})

test("release: with-bun installs only the program's packages to run the program, and all packages to run anything else", () => {
  const fakeBun = `#!/bin/sh
case $1 in
  --version) echo ${pinnedBun.version} ;;
  install) mkdir node_modules && echo "$@" >> "$INSTALLS" ;;
esac
`
  using folder = projectWith('bun', fakeBun)
  const installs = folder.file('installs')
  const env = { PATH: `${folder.file('bin')}:/usr/bin:/bin`, INSTALLS: installs }
  const node = Bun.which('node') ?? 'node'
  const run = (...args: string[]) => {
    const words = [node, 'src/with-bun.mjs', ...args]
    expect(Bun.spawnSync(words, { cwd: folder.path, env }).exitCode).toBe(0)
    return readFileSync(installs, 'utf8').trim().split('\n')
  }
  const first = 'install --frozen-lockfile --production --omit=optional'
  expect(run('src/main.ts', 'sandbox')).toEqual([first])
  expect(run('src/main.ts', 'sandbox')).toEqual([first])
  expect(run('test')).toEqual([first, 'install --frozen-lockfile'])
  expect(run('src/main.ts', 'sandbox')).toHaveLength(2)
  expect(run('test')).toHaveLength(2)

  // After a change of package.json, the packages that only tests need are updated, not removed.
  appendFileSync(folder.file('package.json'), '\n')
  expect(run('src/main.ts', 'sandbox').at(-1)).toBe('install --frozen-lockfile')
})
