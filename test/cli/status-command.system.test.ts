import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { version } from '../../package.json'
import { testOfFile } from '../support/engine'
import { Operator } from '../support/operator'

const operator = new Operator()
beforeAll(() => operator.do('init'))
afterAll(() => operator[Symbol.dispose]())

const service = async (...flags: string[]) => {
  const { code, stdout } = await operator.run(['status', '--json', ...flags])
  return { code, ...JSON.parse(stdout) }
}

test('cli: status is up while the service answers, and down after it was stopped', async () => {
  expect(await service()).toMatchObject({ code: 8, service: { state: 'down' } })
  await using served = await operator.serve()
  const up = await service()
  expect(up).toEqual({
    code: 0,
    service: { state: 'up', host: '127.0.0.1', port: served.port, version, since: expect.any(String) },
    copied: null,
    waiting: { intakes: 0, oldestIntakeAt: null, pending: 0 },
    unreadRisk: { count: 0, oldestAt: null },
    backup: { madeAt: null, drilledAt: null },
    nextCutover: null,
    tokenConcerns: [],
    usedFrom: [],
    refusedToday: { kinds: [], ofAll: true },
    emailConflicts: [],
    movedBookings: 0,
    recordsTraced: true,
    firstAid: ['no backup was ever made: anteroom backup FILE'],
  })
  expect(Date.now() - Date.parse(up.service.since)).toBeLessThan(60_000)
  const shown = await operator.do('status')
  expect(shown).toMatch(
    /^unread risk {7}0\nservice {11}up\nsince {13}\S+ \(0 min ago\)\naddress {11}127\.0\.0\.1 port \d+\n/,
  )
  expect(shown).toEndWith('\n\nWhat to do:\n  no backup was ever made: anteroom backup FILE\n')
  await served.stop()
  expect(await service()).toMatchObject({ code: 8, service: { state: 'down' } })
  expect((await service()).service).toEqual({ state: 'down' })
})

testOfFile('cli: status exits with code 8 if a record was changed without the service', async () => {
  await operator.do('organization', 'add', 'Changed Care')
  await using served = await operator.serve()
  expect((await operator.run(['status'])).code).toBe(0)
  using database = new Database(operator.database)
  database.run("UPDATE organizations SET active = 0 WHERE name = 'Changed Care'")
  const { code, stdout } = await operator.run(['status'])
  expect([code, stdout]).toEqual([
    8,
    expect.stringContaining('records differ from the audit log: anteroom doctor'),
  ])
  database.run("UPDATE organizations SET active = 1 WHERE name = 'Changed Care'")
  await served.stop()
})

testOfFile('cli: status shows that a killed service is down and ended unexpectedly', async () => {
  await using served = await operator.serve()
  served.signal('SIGKILL')
  await served.exit()
  const { code, stdout } = await operator.run(['status'])
  expect([code, stdout.split('\n')[1]]).toEqual([8, 'service           down, ended unexpectedly'])
  const found = await service()
  expect(found.service).toMatchObject({ state: 'down', port: served.port })
  expect(found.firstAid[0]).toStartWith('the service is down: ')
})

testOfFile(
  'cli: status of a database restored from a backup does not show the server that ran during the backup',
  async () => {
    const backup = operator.folder.file('backup.age')
    {
      await using served = await operator.serve()
      await operator.do('backup', backup)
      await served.stop()
    }
    const restored = operator.folder.file('restored.sqlite')
    await operator.do(
      'restore',
      backup,
      '--to',
      restored,
      '--yes',
      '--master-key-file',
      `${operator.database}.key`,
    )
    const at = ['--database', restored, '--master-key-file', `${operator.database}.key`]
    expect((await service(...at)).service).toEqual({ state: 'down' })
    expect((await service('--backup-max-age', '1h')).firstAid).not.toContainEqual(
      expect.stringContaining('too old'),
    )
    expect((await operator.run(['status', '--backup-max-age', '36'])).stderr).toBe(
      'error: --backup-max-age: must be hours or days, for example 36h or 2d\n',
    )
  },
)

testOfFile(
  'cli: status shows that a service cannot store data while another program locks the database',
  async () => {
    await using served = await operator.serve()
    // Locks the database against writes, as another program might.
    using other = new Database(operator.database)
    other.run('BEGIN IMMEDIATE')
    // The service stays ready for one second after its last successful write.
    const readiness = `http://127.0.0.1:${served.port}/readyz`
    while ((await fetch(readiness)).ok) await Bun.sleep(50)
    const found = await service()
    expect([found.code, found.service.state]).toEqual([8, 'unready'])
    expect(found.firstAid[0]).toBe(
      "the service cannot store data: run anteroom doctor, read the service's log",
    )
    expect((await operator.run(['status'])).stdout).toContain(
      '\nservice           up, but cannot store data\n',
    )
    other.run('ROLLBACK')
    await served.stop()
  },
)
