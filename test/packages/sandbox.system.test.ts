import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DeliveredPlatform, deliveredPlatforms } from '../../deploy/release/delivered'
import * as packageJson from '../../package.json'
import { packSandbox } from '../../packages/sandbox/pack'
import { eventually, Folder, Program, runProgram, startSandbox, theProgram } from '../support/process'

// The packages, around executables that tell how they were started; packages/sandbox/try.mjs has npm and bunx install
// the real ones from a registry.
const { version } = packageJson
const here = `${process.platform}-${process.arch}` as DeliveredPlatform
const systems = deliveredPlatforms
const folder = new Folder()
const packed = folder.file('packed')
const modules = folder.file('project/node_modules')
let names: string[] = []

beforeAll(() => {
  writeFileSync(folder.file('notices'), 'what is built in')
  writeFileSync(folder.file('teller'), teller, { mode: 0o600 })
  names = pack(packed)
  install('anteroom-sandbox', `anteroom-sandbox-${version}.tgz`)
  install(`@anteroom/sandbox-${here}`, `anteroom-sandbox-${here}-${version}.tgz`)
})

afterAll(() => folder[Symbol.dispose]())

/** A stand-in for the executable: tells its words and variables, then does what the first word asks. */
const teller = `#!/bin/sh
case $1 in
  tell) shift; printf '%s\\n' "$#" "$@"; env | grep -E 'BUN_|ANTEROOM_' | sort; cat; echo warned >&2; exit 7;;
  die) kill -KILL $$;;
  wait) for s in INT TERM HUP; do trap "echo $s; exit 5" $s; done; echo ready; while :; do sleep 0.01; done;;
esac
`

function pack(into: string): string[] {
  const executables = Object.fromEntries(systems.map((system) => [system, folder.file('teller')]))
  return packSandbox({ executables, notices: folder.file('notices'), folder: into, gzipLevel: 1 })
}

/** What a package manager does where it runs no script. */
function install(name: string, tarball: string): void {
  mkdirSync(join(modules, name), { recursive: true })
  const words = ['-xzf', join(packed, tarball), '--strip-components=1', '-C', join(modules, name)]
  expect(Bun.spawnSync(['tar', ...words]).exitCode).toBe(0)
}

async function contents(tarball: string) {
  const files = await new Bun.Archive(await Bun.file(join(packed, tarball)).bytes()).files()
  const manifest = JSON.parse((await files.get('package/package.json')?.text()) ?? '')
  return { names: [...files.keys()].sort(), manifest }
}

describe('the packages of the sandbox', () => {
  test('are one for each system, and one that needs exactly these', async () => {
    expect(names).toEqual([
      ...systems.map((system) => `anteroom-sandbox-${system}-${version}.tgz`),
      `anteroom-sandbox-${version}.tgz`,
    ])
    const { manifest, names: files } = await contents(`anteroom-sandbox-${version}.tgz`)
    expect(files).toEqual(
      ['LICENSE', 'README.md', 'launch.mjs', 'package.json'].map((name) => `package/${name}`),
    )
    expect(manifest).toEqual({
      name: 'anteroom-sandbox',
      version,
      description: expect.any(String),
      keywords: expect.any(Array),
      license: 'MIT',
      type: 'module',
      bin: { 'anteroom-sandbox': 'launch.mjs' },
      files: ['launch.mjs'],
      engines: { node: '>=18' },
      optionalDependencies: Object.fromEntries(
        systems.map((system) => [`@anteroom/sandbox-${system}`, version]),
      ),
    })
  })

  test.each([
    ['linux-x64', { os: ['linux'], cpu: ['x64'], libc: ['glibc'] }, 'anteroom'],
    ['linux-arm64', { os: ['linux'], cpu: ['arm64'], libc: ['glibc'] }, 'anteroom'],
    ['darwin-arm64', { os: ['darwin'], cpu: ['arm64'] }, 'anteroom'],
    ['darwin-x64', { os: ['darwin'], cpu: ['x64'] }, 'anteroom'],
    ['win32-x64', { os: ['win32'], cpu: ['x64'] }, 'anteroom.exe'],
  ])('%s holds an executable for that system alone, and no script', async (system, only, file) => {
    const { manifest, names: files } = await contents(`anteroom-sandbox-${system}-${version}.tgz`)
    const documents = ['LICENSE', 'THIRD-PARTY-NOTICES.txt']
    expect(files).toEqual([...documents, `bin/${file}`, 'package.json'].map((name) => `package/${name}`))
    expect(manifest).toEqual({
      name: `@anteroom/sandbox-${system}`,
      version,
      description: `The executable of anteroom-sandbox for ${system}`,
      license: 'MIT',
      files: ['bin', 'THIRD-PARTY-NOTICES.txt'],
      ...only,
      preferUnplugged: true,
      publishConfig: { access: 'public' },
    })
  })

  test('are the same bytes each time, whoever packs', () => {
    const again = folder.file('again')
    const umask = process.umask(0o077)
    try {
      expect(pack(again)).toEqual(names)
    } finally {
      process.umask(umask)
    }
    for (const name of names) {
      expect(readFileSync(join(again, name)).equals(readFileSync(join(packed, name))), name).toBe(true)
    }
    const { mode } = statSync(join(modules, `@anteroom/sandbox-${here}/bin/anteroom`))
    expect(mode & 0o777).toBe(0o755)
  })
})

describe('the launcher', () => {
  // Where there is no Node, Bun stands in for it.
  const node = Bun.which('node') ?? process.execPath
  const at = (path: string) => [node, join(path, 'anteroom-sandbox/launch.mjs')]
  const env = { PATH: process.env.PATH ?? '' }
  const command = at(modules)

  test('passes words, settings and what is printed on, and the exit code', async () => {
    const words = ['tell', 'sandbox', '--now', '', 'a b', '$HOME', '"', '--', '--help']
    const settings = { ANTEROOM_PORT: '1', BUN_INSTALL: '/nowhere' }
    const obeyed = {
      BUN_BE_BUN: '1',
      BUN_INSPECT: '127.0.0.1:0',
      BUN_INSPECT_NOTIFY: 'x',
      BUN_OPTIONS: '--smol',
      BUN_JSC_useJIT: '0',
      BUN_BYTECODE_ORDER_OUT: 'x',
    }
    // Bun itself would obey them; Node does not.
    const more = node === process.execPath ? {} : obeyed
    expect(await runProgram(words, { command, env: { ...env, ...settings, ...more } })).toEqual({
      code: 7,
      signal: null,
      stdout: `8\n${words.slice(1).join('\n')}\nANTEROOM_PORT=1\nBUN_INSTALL=/nowhere\n`,
      stderr: 'warned\n',
    })
  })

  test('ends by the signal that ended the executable', async () => {
    expect(await runProgram(['die'], { command, env })).toMatchObject({ code: null, signal: 'SIGKILL' })
  })

  test('passes a signal on, and ends as the executable does by it', async () => {
    const ends = ['SIGINT', 'SIGTERM', 'SIGHUP'].map(async (signal) => {
      await using program = new Program(['wait'], { command, env })
      await eventually('it to wait', () => program.stdout !== '')
      expect(await program.stop(signal as NodeJS.Signals)).toEqual({
        code: 5,
        signal: null,
        stdout: `ready\n${signal.slice(3)}\n`,
        stderr: '',
      })
    })
    await Promise.all(ends)
  })

  test('stops the executable when the shell between npx and itself has ended', async () => {
    // As npx starts it, in a shell that stays and that passes no signal on.
    const shell = ['sh', '-c', '"$@"; exit', 'sh', ...command]
    await using program = new Program(['wait'], {
      command: shell,
      env: { ...env, npm_lifecycle_event: 'npx' },
    })
    await eventually('it to wait', () => program.stdout !== '')
    expect(await program.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL', stdout: 'ready\nTERM\n' })
  })

  test('tells in a line where there is no executable, and what to do', async () => {
    const without = folder.file('without/node_modules')
    const launcher = join(without, 'anteroom-sandbox')
    cpSync(join(modules, 'anteroom-sandbox'), launcher, { recursive: true })
    // What Node tells of itself on another system.
    const elsewhere = (name: string, script: string) => {
      writeFileSync(folder.file(name), script)
      return [node, '--require', folder.file(name), join(launcher, 'launch.mjs')]
    }
    const sunOs = elsewhere('sunos.cjs', "Object.defineProperty(process, 'platform', { value: 'sunos' })")
    const musl = elsewhere('musl.cjs', 'process.report.getReport = () => ({ header: {} })')
    const told = async (start: readonly string[]) => {
      const { code, signal, stdout, stderr } = await runProgram(['sandbox'], { command: start, env })
      expect({ code, signal, stdout }).toEqual({ code: 1, signal: null, stdout: '' })
      return stderr
    }
    const isNotThere = `@anteroom/sandbox-${here} is not installed`
    expect(await told(at(without))).toBe(
      `anteroom-sandbox: ${isNotThere}; install anteroom-sandbox again on this system, without --omit=optional\n`,
    )
    expect(await told(sunOs)).toBe(
      `anteroom-sandbox: there is no executable for sunos-${process.arch}, only for ${systems.join(', ')}\n`,
    )
    expect(await told(musl)).toBe(
      'anteroom-sandbox: the executable needs glibc, and this Linux has musl (as Alpine has); use one with glibc, such as node:24-slim\n',
    )
  })

  test('starts the sandbox that answers and stops', async () => {
    const real = folder.file('real/node_modules')
    cpSync(modules, real, { recursive: true })
    const executable = join(real, `@anteroom/sandbox-${here}/bin/anteroom`)
    rmSync(executable)
    symlinkSync(theProgram[0] as string, executable)
    await using sandbox = await startSandbox([], { command: at(real), env })
    expect((await sandbox.get('/partners/v1/provider-regions/?country_code=CA')).body).toHaveLength(13)
    expect(await sandbox.stop()).toEqual({ code: 0, signal: null, stdout: expect.any(String), stderr: '' })
  })
})
