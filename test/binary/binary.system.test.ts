import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import * as packageJson from '../../package.json'
import { buildArguments, Folder, runProgram } from '../support/process'

setDefaultTimeout(300_000)

const root = new URL('../..', import.meta.url).pathname

const built = new Folder()
const executable = built.file('anteroom')

beforeAll(() => {
  const words = buildArguments(executable)
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...words], { cwd: root })
  expect([exitCode, exitCode === 0 ? '' : stderr.toString()]).toEqual([0, ''])
})

afterAll(() => built[Symbol.dispose]())

const command = { command: [executable], env: {} }

describe('binary: the executable', () => {
  test('the build makes a single file that can be run', () => {
    expect(readdirSync(built.path)).toEqual(['anteroom'])
    expect(statSync(executable).mode & 0o111).toBeGreaterThan(0)
  })

  test('the executable does not contain the path of its build folder, so that builds are reproducible', () => {
    expect(readFileSync(executable).includes(root)).toBe(false)
  })

  test('the executable prints its version in an empty folder with an empty environment', async () => {
    using folder = new Folder()
    expect(await runProgram(['--version'], { ...command, cwd: folder.path })).toEqual({
      code: 0,
      signal: null,
      stdout: expect.stringMatching(new RegExp(`^${RegExp.escape(packageJson.version)} \\(commit `)),
      stderr: '',
    })
    expect(readdirSync(folder.path)).toEqual([])
  })
})
