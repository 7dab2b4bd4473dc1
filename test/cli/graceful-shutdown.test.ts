import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { Operator } from '../support/operator'
import { Folder, startSandbox, theProgram } from '../support/process'

// Whoever runs the tests under nohup hands that down; as a terminal starts a program, SIGHUP is not ignored.
const fromTerminal = ['env', '--default-signal=HUP', ...theProgram]
const underNohup = ['env', '--ignore-signal=HUP', ...theProgram]

const withTemporary = (path: string) => ({ PATH: process.env.PATH ?? '', TMPDIR: path })

test('a terminal that goes stops the sandbox, with exit code 0 and no file left', async () => {
  using temporary = new Folder()
  await using sandbox = await startSandbox([], { command: fromTerminal, env: withTemporary(temporary.path) })
  expect(readdirSync(temporary.path)).not.toEqual([])
  expect(await sandbox.stop('SIGHUP')).toMatchObject({ code: 0, signal: null, stderr: '' })
  expect(readdirSync(temporary.path)).toEqual([])
})

test('a terminal that goes stops the service, with exit code 0', async () => {
  using operator = new Operator(fromTerminal)
  await operator.do('init')
  await using service = await operator.serve()
  expect(await service.stop('SIGHUP')).toMatchObject({ code: 0, signal: null, stderr: '' })
})

test('what was started under nohup outlives its terminal', async () => {
  await using sandbox = await startSandbox([], { command: underNohup })
  sandbox.signal('SIGHUP')
  const regions = '/partners/v1/provider-regions/?country_code=CA'
  for (let call = 0; call < 20; call++) expect((await sandbox.get(regions)).status).toBe(200)
  expect(sandbox.isRunning).toBe(true)
  expect(await sandbox.stop('SIGTERM')).toMatchObject({ code: 0, signal: null, stderr: '' })
})
