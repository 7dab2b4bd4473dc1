import { expect, spyOn, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { Directory } from '../../src/directory/directory'
import { provider, region } from '../support/builders'
import { CommandLine } from '../support/command-line'

test('cli: status, request list and appointments do not load the directory, even to filter by provider', async () => {
  using operator = new CommandLine()
  await operator.do('init')
  const path = operator.folder.file('directory.json')
  writeFileSync(path, JSON.stringify({ regions: [region()], providers: [provider('on-1')] }))
  await operator.do('directory', 'load', path)
  const load = spyOn(Directory, 'load')
  try {
    await operator.run(['status'])
    await operator.do('request', 'list', '--provider', 'on-1')
    await operator.do('appointments', '--provider', '1')
    await operator.do('appointments')
    expect(load).not.toHaveBeenCalled()
    for (const words of [['request', 'list'], ['appointments']]) {
      const { code, stderr } = await operator.run([...words, '--provider', 'nobody'])
      expect([code, stderr]).toEqual([
        3,
        'error: there is no provider with that ref, id or name\nTry: anteroom provider list\n',
      ])
    }
    await operator.do('provider', 'list')
    expect(load).toHaveBeenCalled()
  } finally {
    load.mockRestore()
  }
})
