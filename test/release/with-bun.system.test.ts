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

/** An npm that installs a forged executable instead of Bun's. */
const otherNpm = `#!/bin/sh
for package; do :; done
/bin/mkdir -p "node_modules/\${package%@*}/bin"
echo other > "node_modules/\${package%@*}/bin/bun"
`

/** A project in a temporary folder with one program in its folder `bin`. */
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

test('release: a Bun that differs from the pinned one is neither kept nor started', () => {
  using folder = projectWith('npm', otherNpm)
  // Node runs the script without a Bun on the PATH, so that it fetches one.
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

test('release: with-bun exempts this machine from the proxy and keeps the exemptions that are set', () => {
  const words = ['node', 'src/with-bun.mjs', '--print', 'process.env.NO_PROXY + " " + process.env.no_proxy']
  const env = { PATH: process.env.PATH ?? '', no_proxy: 'example.org', HTTP_PROXY: 'http://127.0.0.1:9' }
  const { stdout } = Bun.spawnSync(words, { cwd: root, env })
  const unproxied = 'example.org,127.0.0.1,localhost,::1'
  expect(stdout.toString()).toBe(`${unproxied} ${unproxied}\n`)
})

test("release: with-bun installs the program's packages for the program, and all packages for anything else", () => {
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

  // After a change of package.json the packages of tests are updated, not removed.
  appendFileSync(folder.file('package.json'), '\n')
  expect(run('src/main.ts', 'sandbox').at(-1)).toBe('install --frozen-lockfile')
})
