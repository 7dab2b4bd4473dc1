import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deliveredPlatforms } from '../../deploy/release/delivered'
import * as packageJson from '../../package.json'
import { packSandbox } from '../../packages/sandbox/pack'
import { eventually, Folder, Program, runProgram, startSandbox, theProgram } from '../support/process'
import { here, unpack } from './project'

// Tests the packages with a stub in place of the executables. packages/sandbox/try.mjs installs the real packages from
// a registry, with npm and bunx.
const { version } = packageJson
const systems = deliveredPlatforms
const folder = new Folder()
const packed = folder.file('packed')
const modules = folder.file('project/node_modules')
let names: string[] = []

beforeAll(() => {
  writeFileSync(folder.file('notices'), 'what is built in')
  writeFileSync(folder.file('stub'), stub, { mode: 0o600 })
  names = pack(packed)
  install('anteroom-sandbox', `anteroom-sandbox-${version}.tgz`)
  install(`@anteroom/sandbox-${here}`, `anteroom-sandbox-${here}-${version}.tgz`)
})

afterAll(() => folder[Symbol.dispose]())

/** A stub of the executable. Its first argument is `print` (its arguments and variables), `die` or `wait`. */
const stub = `#!/bin/sh
case $1 in
  print) shift; printf '%s\\n' "$#" "$@"; env | grep -E 'BUN_|ANTEROOM_' | sort; cat; echo warned >&2; exit 7;;
  die) kill -KILL $$;;
  wait) for s in INT TERM HUP; do trap "echo $s; exit 5" $s; done; echo ready; while :; do sleep 0.01; done;;
esac
`

function pack(into: string): string[] {
  const executables = Object.fromEntries(systems.map((system) => [system, folder.file('stub')]))
  return packSandbox({ executables, notices: folder.file('notices'), folder: into, gzipLevel: 1 })
}

function install(name: string, tarball: string): void {
  unpack(join(packed, tarball), join(modules, name))
}

async function contents(tarball: string) {
  const files = await new Bun.Archive(await Bun.file(join(packed, tarball)).bytes()).files()
  const manifest = JSON.parse((await files.get('package/package.json')?.text()) ?? '')
  return { names: [...files.keys()].sort(), manifest }
}

describe('packages: the sandbox packages', () => {
  test('there is one package per platform and a launcher, and the launcher depends on exactly the platform packages', async () => {
    expect(names).toEqual([
      ...systems.map((system) => `anteroom-sandbox-${system}-${version}.tgz`),
      `anteroom-sandbox-${version}.tgz`,
    ])
    const { manifest, names: files } = await contents(`anteroom-sandbox-${version}.tgz`)
    const modules = ['executable.mjs', 'index.d.ts', 'index.mjs', 'launch.mjs']
    expect(files).toEqual(
      ['LICENSE', 'README.md', ...modules, 'package.json'].map((name) => `package/${name}`),
    )
    expect(manifest).toEqual({
      name: 'anteroom-sandbox',
      version,
      description: expect.any(String),
      keywords: expect.any(Array),
      license: 'MIT',
      type: 'module',
      bin: { 'anteroom-sandbox': 'launch.mjs' },
      exports: {
        '.': { types: './index.d.ts', default: './index.mjs' },
        './launch.mjs': './launch.mjs',
        './package.json': './package.json',
      },
      types: './index.d.ts',
      files: modules,
      engines: { node: '>=20' },
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
  ])(
    'the package for %s contains one executable, can be installed only there, and runs no script',
    async (system, only, file) => {
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
    },
  )

  test('the packages are byte-identical when they are packed again with another umask', () => {
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

describe('packages: the sandbox launcher', () => {
  // If Node is not installed, Bun runs the launcher instead.
  const node = Bun.which('node') ?? process.execPath
  const at = (path: string) => [node, join(path, 'anteroom-sandbox/launch.mjs')]
  const env = { PATH: process.env.PATH ?? '' }
  const command = at(modules)

  test('the launcher passes on arguments, settings, output and the exit code, but no variable that changes Bun', async () => {
    const words = ['print', 'sandbox', '--now', '', 'a b', '$HOME', '"', '--', '--help']
    const settings = { ANTEROOM_PORT: '1', BUN_INSTALL: '/nowhere' }
    const obeyed = {
      BUN_BE_BUN: '1',
      BUN_INSPECT: '127.0.0.1:0',
      BUN_INSPECT_NOTIFY: 'x',
      BUN_OPTIONS: '--smol',
      BUN_JSC_useJIT: '0',
      BUN_BYTECODE_ORDER_OUT: 'x',
    }
    // If Bun runs the launcher, these variables would change Bun itself, so they are set only for Node.
    const more = node === process.execPath ? {} : obeyed
    expect(await runProgram(words, { command, env: { ...env, ...settings, ...more } })).toEqual({
      code: 7,
      signal: null,
      stdout: `8\n${words.slice(1).join('\n')}\nANTEROOM_PORT=1\nBUN_INSTALL=/nowhere\n`,
      stderr: 'warned\n',
    })
  })

  test('the launcher ends with the signal that killed the executable', async () => {
    expect(await runProgram(['die'], { command, env })).toMatchObject({ code: null, signal: 'SIGKILL' })
  })

  test("the launcher forwards a signal and exits with the executable's exit code", async () => {
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

  test('the launcher started by npx stops the executable when its parent shell is killed', async () => {
    // npx starts the launcher in a shell that stays alive and forwards no signal.
    const shell = ['sh', '-c', '"$@"; exit', 'sh', ...command]
    await using program = new Program(['wait'], {
      command: shell,
      env: { ...env, npm_lifecycle_event: 'npx' },
    })
    await eventually('it to wait', () => program.stdout !== '')
    expect(await program.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL', stdout: 'ready\nTERM\n' })
  })

  test('the launcher fails with one line that says why there is no executable for this platform', async () => {
    const without = folder.file('without/node_modules')
    const launcher = join(without, 'anteroom-sandbox')
    cpSync(join(modules, 'anteroom-sandbox'), launcher, { recursive: true })
    // Makes Node report another platform or another C library.
    const elsewhere = (name: string, script: string) => {
      writeFileSync(folder.file(name), script)
      return [node, '--require', folder.file(name), join(launcher, 'launch.mjs')]
    }
    const sunOs = elsewhere('sunos.cjs', "Object.defineProperty(process, 'platform', { value: 'sunos' })")
    const musl = elsewhere('musl.cjs', 'process.report.getReport = () => ({ header: {} })')
    const stderrOf = async (start: readonly string[]) => {
      const { code, signal, stdout, stderr } = await runProgram(['sandbox'], { command: start, env })
      expect({ code, signal, stdout }).toEqual({ code: 1, signal: null, stdout: '' })
      return stderr
    }
    const isNotThere = `@anteroom/sandbox-${here} is not installed`
    expect(await stderrOf(at(without))).toBe(
      `anteroom-sandbox: ${isNotThere}; install anteroom-sandbox again on this system, without --omit=optional\n`,
    )
    expect(await stderrOf(sunOs)).toBe(
      `anteroom-sandbox: there is no executable for sunos-${process.arch}, only for ${systems.join(', ')}\n`,
    )
    expect(await stderrOf(musl)).toBe(
      'anteroom-sandbox: the executable needs glibc, but this Linux has musl (for example Alpine); use an image with glibc, such as node:24-slim\n',
    )
  })

  test('the launcher starts a sandbox that answers requests and stops', async () => {
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
