import { expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isLong, printFigure, times } from '../support/long'
import {
  eventually,
  Folder,
  Program,
  runProgram,
  type Sandbox,
  startSandbox,
  theProgram,
  withFewProviders,
} from '../support/process'

setDefaultTimeout(600_000)

const options = ['sandbox', '--port', '0', '--json', ...withFewProviders]

function temporary(folder: Folder) {
  return { ...(process.env as Record<string, string>), TMPDIR: folder.path }
}

async function isUp(baseUrl: string): Promise<boolean> {
  return fetch(`${baseUrl}/livez`).then(
    () => true,
    () => false,
  )
}

test('cli: --until-stdin-closes ends the sandbox with the program that started it, even if that was killed', async () => {
  using folder = new Folder()
  const words = JSON.stringify([...theProgram, ...options, '--until-stdin-closes'])
  const script = `Bun.spawn(${words}, { stdin: 'pipe', stdout: 'inherit' }); setInterval(() => {}, 1000)`
  await using runner = new Program(['-e', script], {
    command: [process.execPath],
    env: temporary(folder),
  })
  await eventually('the card', () => runner.stdout.includes('\n'))
  const { baseUrl } = JSON.parse(runner.stdout)
  expect(await isUp(baseUrl)).toBe(true)
  runner.signal('SIGKILL')
  await eventually('the sandbox to end', async () => !(await isUp(baseUrl)))
  await eventually('its files to be gone', () => readdirSync(folder.path).length === 0)
})

test('cli: a sandbox that cannot print its card, because its reader has ended, leaves no file', async () => {
  using folder = new Folder()
  const script = '"$@" --until-stdin-closes < /dev/null | true'
  await runProgram(['-c', script, 'sh', ...theProgram, ...options], {
    command: ['sh'],
    env: temporary(folder),
  })
  await eventually('its files to be gone', () => readdirSync(folder.path).length === 0)
})

test('cli: a command after -- gets the address and the tokens, and its exit code is passed on', async () => {
  using folder = new Folder()
  const run = (...command: string[]) =>
    runProgram(['sandbox', '--seed', 'ci', ...withFewProviders, '--', ...command], { env: temporary(folder) })
  const script = `
    const { ANTEROOM_BASE_URL: url, ANTEROOM_TOKEN: token, ANTEROOM_CONTROL_TOKEN: control } = process.env
    const status = async (path, bearer) =>
      (await fetch(url + path, { headers: { Authorization: 'Bearer ' + bearer } })).status
    console.log(await status('/sandbox/v1/', control), await status('/sandbox/v1/', token))
    console.log(await status('/partners/v1/provider-regions/?country_code=CA', token))
    process.exit(7)`
  const stderr = 'anteroom: the tokens come from --seed, so they are not secret\n'
  expect(await run(process.execPath, '-e', script)).toEqual({
    ...{ code: 7, signal: null, stdout: '200 401\n200\n', stderr },
  })
  expect((await run('sh', '-c', 'kill -9 $$')).code).toBe(137)
  await using stopped = new Program(
    ['sandbox', ...withFewProviders, '--', 'sh', '-c', 'echo up; exec sleep 60'],
    {
      env: temporary(folder),
    },
  )
  await eventually('the command', () => stopped.stdout === 'up\n')
  expect((await stopped.stop('SIGTERM')).code).toBe(143)
  expect(readdirSync(folder.path)).toEqual([])
})

test('cli: Ctrl-C leaves the clean-up to the command after --, and other signals are passed on as they are', async () => {
  using folder = new Folder()
  const script = `for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {
    console.log(signal)
    if (signal === 'SIGHUP') process.exit(3)
  })
  console.log('up')
  setInterval(() => {}, 1000)`
  const words = [process.execPath, '-e', script]
  await using program = new Program(['sandbox', ...withFewProviders, '--', ...words], {
    env: temporary(folder),
  })
  await eventually('the command', () => program.stdout === 'up\n')
  program.signal('SIGINT')
  await Bun.sleep(200)
  program.signal('SIGTERM')
  await eventually('SIGTERM', () => program.stdout.includes('SIGTERM'))
  expect((await program.stop('SIGHUP')).code).toBe(3)
  expect(program.stdout).toBe('up\nSIGTERM\nSIGHUP\n')
  expect(readdirSync(folder.path)).toEqual([])
})

/** Memory in MiB, and open files, of a process. */
function usage({ pid }: Sandbox) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const resident = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
  return { resident, files: readdirSync(`/proc/${pid}/fd`).length }
}

test.skipIf(process.platform !== 'linux')(
  'cli: resets leave no memory and no file behind (Linux only)',
  async () => {
    using folder = new Folder()
    await using sandbox = await startSandbox([...withFewProviders], { env: temporary(folder) })
    const { controlUrl, controlToken, database } = sandbox.report
    const reset = async (count: number) => {
      const headers = { Authorization: `Bearer ${controlToken}` }
      for (let at = 0; at < count; at++) {
        expect((await fetch(`${controlUrl}reset`, { method: 'POST', headers })).status).toBe(200)
        expect((await sandbox.post({})).status).toBe(400)
      }
      return { ...usage(sandbox), inFolder: readdirSync(dirname(database)).sort() }
    }
    const [first, last] = [await reset(20), await reset(times(20, 100))]
    expect({ ...last, resident: 0 }).toEqual({ ...first, resident: 0 })
    if (isLong) {
      printFigure(
        `memory after 20 and 120 resets: ${first.resident.toFixed(0)} and ${last.resident.toFixed(0)} MiB`,
      )
      expect(last.resident - first.resident).toBeLessThan(30)
    }
    await sandbox.stop()
    expect(readdirSync(folder.path)).toEqual([])
  },
)

test('cli: starts leave no process and no file behind', async () => {
  using folder = new Folder()
  for (let at = 0; at < times(3, 100); at++) {
    const sandbox = await startSandbox([...withFewProviders], { env: temporary(folder) })
    expect((await sandbox.stop(at % 2 === 0 ? 'SIGTERM' : 'SIGINT')).code).toBe(0)
    expect(readdirSync(folder.path)).toEqual([])
  }
})
