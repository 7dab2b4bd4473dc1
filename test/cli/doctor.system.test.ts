import { Database } from 'bun:sqlite'
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { booking, provider, region } from '../support/builders'
import { testOfFile } from '../support/engine'
import { Operator } from '../support/operator'
import { writeTzif } from '../zones/write-tzif'

const operator = new Operator()
afterAll(() => operator[Symbol.dispose]())

test('cli: doctor lists bookings whose local time changes with other zone data, and fails', async () => {
  await operator.do('init')
  const token = await operator.onboard('Lantern', 'North Care')
  const everyDay = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
  const workingHours = [{ weekdays: [...everyDay], start: '09:00', end: '17:00' }]
  const directory = { regions: [region()], providers: [provider('on-1', { workingHours })] }
  await operator.loadDirectory(directory)
  await using service = await operator.serve()
  const found = await service.get('/partners/v1/providers/?region_id=1', token)
  const { providerId, availability } = found.body.results[0]
  const times: string[] = availability.map(({ utcStartTime }: { utcStartTime: string }) => utcStartTime)
  // A morning slot is within the working hours in both time zones.
  const slot = { providerId, utcStartTime: times.findLast((time) => time.includes('T14:')) as string }
  expect((await service.post(booking('m-1', slot), token)).status).toBe(201)

  const findings = (...flags: string[]) => operator.run(['doctor', '--json', ...flags])
  const same = await findings()
  expect(same.code).toBe(0)
  expect(JSON.parse(same.stdout)).toContainEqual({
    check: 'booked times',
    state: 'ok',
    detail: 'unchanged since the booking',
  })

  const zones = operator.folder.file('zones')
  mkdirSync(`${zones}/America`, { recursive: true })
  writeFileSync(`${zones}/America/Toronto`, writeTzif({ types: [-3 * 3600], footer: '<-03>3' }))
  writeFileSync(`${zones}/version`, '2099z\n')
  const moved = await findings('--zones', zones)
  expect(moved.code).toBe(8)
  const finding = JSON.parse(moved.stdout).find(({ check }: { check: string }) => check === 'booked times')
  const local = String.raw`\w{3} \d{4}-\d\d-\d\d \d\d:\d\d`
  expect(finding.state).toBe('bad')
  expect(finding.remedy).toBe('inform the member and the provider, then run anteroom request acknowledge ID')
  expect(finding.detail).toMatch(
    new RegExp(
      `^request 1, member 1 with on-1 \\(Marlow Fernhill\\): ${local} is now ${local} in America/Toronto$`,
    ),
  )

  const shown = await operator.run(['doctor', '--zones', zones])
  expect(shown.stdout).toContain('\n\nWhat to do:\n  backup: anteroom backup FILE\n')
  expect(shown.stdout).toContain(
    '\n  booked times: inform the member and the provider, then run anteroom request acknowledge ID\n',
  )

  // The database records the server's zone data. A command with other zone data may read, but not change anything.
  const acknowledge = (...flags: string[]) => operator.run(['request', 'acknowledge', '1', ...flags])
  const refused = await acknowledge('--zones', zones)
  expect([refused.code, refused.stdout]).toEqual([2, ''])
  expect(refused.stderr).toBe(
    'error: the server uses zone data 2026f (built in), but this command uses 2099z ' +
      `(${zones}): leave --zones out, or start the server with the same data\n`,
  )
  expect((await operator.run(['provider', 'list', '--zones', zones])).code).toBe(0)
  expect((await acknowledge()).code).toBe(4)

  await service.stop()
  await using other = await operator.serve('--zones', zones)
  expect((await acknowledge()).stderr).toContain(`add --zones ${zones}`)
  expect((await acknowledge('--zones', zones)).code).toBe(0)
  expect((await findings('--zones', zones)).code).toBe(0)
  expect((await acknowledge('--zones', zones)).code).toBe(4)
  await other.stop()
})

testOfFile(
  'cli: doctor lists the bookings of a suspended provider, and still does so if some records cannot be read',
  async () => {
    const zones = ['--zones', operator.folder.file('zones')]
    await operator.do('provider', 'deactivate', 'on-1', '--yes', ...zones)
    const found = async (...flags: string[]) => {
      const { code, stdout } = await operator.run(['doctor', '--json', ...zones, ...flags])
      const findings: { check: string; state: string; detail: string }[] = JSON.parse(stdout)
      return { code, bad: findings.filter(({ state }) => state === 'bad'), count: findings.length }
    }
    const bookings = {
      check: 'bookings',
      state: 'bad',
      detail: expect.stringMatching(/^request 1, \S+Z: on-1 is suspended$/),
      remedy: 'anteroom request move ID --slot INSTANT, or anteroom request decline ID',
    }
    const before = await found()
    expect(before).toMatchObject({ code: 8, bad: [bookings] })
    expect(await found('--backup-max-age', '36h')).toMatchObject({
      code: 8,
      bad: [{ check: 'backup', detail: 'no backup was made yet', remedy: 'anteroom backup FILE' }, bookings],
    })
    {
      using database = new Database(operator.database)
      database.run("UPDATE members SET sealed_profile = x'00'")
      database.run("UPDATE booking_requests SET sealed_screening_answers = x'00'")
    }
    expect(await found()).toMatchObject({
      code: 8,
      bad: [{ check: 'sealed values', detail: 'cannot be opened: member 1, request 1' }, bookings],
      count: before.count,
    })
  },
)

test('cli: doctor and the start of serve report zone data that is older than the built-in data or of an unknown edition', async () => {
  for (const [edition, text] of [
    ['2020a', 'is edition 2020a, older than the built-in'],
    [null, 'does not state its edition, unlike the built-in'],
  ] as const) {
    const zones = operator.folder.file(`zones-${edition}`)
    mkdirSync(`${zones}/America`, { recursive: true })
    writeFileSync(`${zones}/America/Toronto`, writeTzif({ types: [-3 * 3600], footer: '<-03>3' }))
    if (edition) writeFileSync(`${zones}/version`, edition)
    await using service = await operator.serve('--zones', zones)
    expect((await service.stop()).stderr).toContain(text)
    const { code, stdout } = await operator.run(['doctor', '--json', '--zones', zones])
    expect(code).toBe(8)
    const finding = JSON.parse(stdout).find(({ check }: { check: string }) => check === 'zone data')
    expect(finding.state).toBe('bad')
    expect(finding.detail).toMatch(new RegExp(`${text}.*in the next 12 months: America/Toronto$`))
  }
})
