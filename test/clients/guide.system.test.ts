import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { Folder } from '../support/folder'
import { blocksOf } from '../support/page-commands'
import { startSandbox } from '../support/process'

// Runs the programs of docs/integrating.md like a partner. test/docs-commands.system.test.ts runs the one with curl.
const python = Bun.which('python3')
if (!python) console.warn('python3 is not on the PATH; the Python program of the guide is not run.')

test.each([
  ['ts', process.execPath, 'member-2002'],
  ['python', python, 'member-3003'],
] as const)('clients: the %s program of the guide succeeds', async (language, runtime, member) => {
  if (!runtime) return
  using folder = new Folder()
  await using sandbox = await startSandbox()
  const { baseUrl, partners } = sandbox.report
  const [program = ''] = blocksOf('docs/integrating.md', language)
  writeFileSync(folder.file('flow.ts'), program)
  const run = Bun.spawn([runtime, folder.file('flow.ts')], {
    env: { ...process.env, ANTEROOM_BASE_URL: baseUrl, ANTEROOM_TOKEN: partners[0]?.token ?? '' },
    stderr: 'pipe',
  })
  const [printed, errors] = await Promise.all([run.stdout.text(), run.stderr.text(), run.exited])
  expect([run.exitCode, errors]).toEqual([0, ''])
  for (const shown of ['pending', 'cancelled', 'booking-request-changes/?after=', member]) {
    expect(printed).toContain(shown)
  }
})
