import { expect, setDefaultTimeout, test } from 'bun:test'
import { Folder, startSandbox, withFewProviders } from '../support/process'

setDefaultTimeout(300_000)

test('faults: two sandboxes started at once on a new database both start, with the same tokens', async () => {
  using place = new Folder()
  const database = place.file('new.sqlite')
  const started = await Promise.allSettled([
    startSandbox(['--database', database, ...withFewProviders]),
    startSandbox(['--database', database, ...withFewProviders]),
  ])
  const running = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  try {
    expect(started.map((result) => (result.status === 'rejected' ? String(result.reason) : ''))).toEqual([
      '',
      '',
    ])
    expect(running[1]?.report.partners).toEqual(running[0]?.report.partners as never)
    expect(running[0]?.report.partners).toHaveLength(6)
  } finally {
    for (const sandbox of running) await sandbox[Symbol.asyncDispose]()
  }
})
