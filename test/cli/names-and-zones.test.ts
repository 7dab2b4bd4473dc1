import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { dateAtClinic } from '../../src/cli/clinic-zone'
import { builtInZones } from '../../src/zones/packed'
import { provider, region } from '../support/builders'
import { CommandLine } from '../support/command-line'

const operator = new CommandLine()
beforeAll(async () => {
  await operator.do('init')
  const path = operator.folder.file('directory.json')
  const quebec = region({ stateProvinceCode: 'QC', stateProvinceNameLocal: 'Québec' })
  const providers = [
    provider('on-1', { firstName: 'Zoé', lastName: 'Fernhill' }),
    provider('on-2', { firstName: 'Marlow', lastName: 'Fernhill' }),
  ]
  await Bun.write(path, JSON.stringify({ regions: [region(), quebec], providers }))
  await operator.do('directory', 'load', path)
})
afterAll(() => operator[Symbol.dispose]())

describe('cli: a provider or region is found by name', () => {
  test.each(['zoé', 'ZOE', 'Zoe Fernhill', ' zoé  '])(
    'the name %p finds the provider Zoé Fernhill',
    async (name) => {
      expect(await operator.ask<object>('provider', 'show', name)).toMatchObject({ ref: 'on-1' })
    },
  )

  test.each([
    ['provider', 'show', 'fernhill'],
    ['request', 'list', '--provider', 'fernhill'],
    ['appointments', '--provider', 'Fernhill'],
  ])('the command %s %s %s lists the providers who have the name', async (...words) => {
    expect(await operator.run(words as string[])).toMatchObject({
      code: 3,
      stderr:
        'error: several providers have that name: on-1 Zoé Fernhill, on-2 Marlow Fernhill\nTry: its ref\n',
    })
  })

  test('a part of a word is not a name', async () => {
    for (const words of [
      ['provider', 'show', 'Zo'],
      ['request', 'list', '--provider', 'Zo'],
    ]) {
      expect((await operator.run(words)).stderr).toStartWith(
        'error: there is no provider with that ref, id or name\n',
      )
    }
  })

  test('a similar name is suggested', async () => {
    const { stderr } = await operator.run(['provider', 'show', 'Marlow Fernhil'])
    expect(stderr).toEndWith("\nTry: 'Marlow Fernhill'\n")
  })

  test('commands that load no directory find a provider by name', async () => {
    expect(await operator.do('request', 'list', '--provider', 'zoe')).toStartWith('There are no requests.')
  })

  test('a region is found by code or name', async () => {
    for (const name of ['ca-on', 'ontario', ' Ontario ']) {
      expect(await operator.ask<object[]>('provider', 'list', '--region', name)).toHaveLength(2)
    }
    expect(await operator.ask<object[]>('provider', 'list', '--region', 'quebec')).toEqual([])
    expect((await operator.run(['provider', 'list', '--region', 'Atlantis'])).stderr).toBe(
      'error: there is no region with that code or name\nTry: write it like CA-ON\n',
    )
  })
})

test("cli: provider why accepts the provider's local time", async () => {
  const why = (time: string) => operator.ask<object>('provider', 'why', 'zoe', time)
  expect(await why('2097-01-14T09:00')).toEqual(await why('2097-01-14T14:00:00Z'))
  for (const time of ['2097-01-14', '09:00', '2097-01-14T09:00Z', '2097-01-14T09:00-05:00']) {
    expect(await operator.run(['provider', 'why', 'zoe', time])).toMatchObject({
      code: 2,
      stderr: "error: argument 'time' must be a time, for example 2026-12-01T09:00 or 2026-12-01T14:00:00Z\n",
    })
  }
})

describe('cli: the clinic zone', () => {
  const zones = builtInZones()
  // 23:30 on Monday in Toronto.
  const now = Date.parse('2026-12-01T04:30:00Z')
  const date = (word: string, clinicZone?: string) => dateAtClinic(zones, { clinicZone }, word, now)

  test('is the zone of today and tomorrow; other dates, or no clinic zone, change nothing', () => {
    const zone = 'America/Toronto'
    expect([date('today', zone), date('tomorrow', zone)]).toEqual(['2026-11-30', '2026-12-01'])
    expect(date('today', 'Europe/Dublin')).toBe('2026-12-01')
    expect([date('2026-12-24', zone), date('2026-12-24T09:00', zone)]).toEqual([
      '2026-12-24',
      '2026-12-24T09:00',
    ])
    expect(date('today')).toBe('today')
  })

  test('is taken from the environment too', async () => {
    const settings = { ...operator.settings, ANTEROOM_CLINIC_ZONE: 'Pacific/Kiritimati' }
    const utc = new Date().toISOString().slice(0, 10)
    const { stdout } = await operator.run(['appointments', '--on', 'today'], '', settings)
    const [, shown = ''] = /^Appointments on (\S+) /.exec(stdout) ?? []
    expect(shown >= utc).toBe(true)
  })

  test.each([
    ['Toronto', 'America/Toronto'],
    ['new york', 'America/New_York'],
    ['America/Torronto', 'America/Toronto'],
    ['Atlantis', 'an IANA name, for example America/Toronto'],
  ])('if it is the unknown zone %p, commands are refused and suggest %s', async (name, meant) => {
    const refused = {
      code: 2,
      stdout: '',
      stderr: `error: --clinic-zone: the time zone is unknown\nTry: ${meant}\n`,
    }
    for (const words of [
      ['appointments', '--on', '2026-12-01'],
      ['provider', 'away', 'zoe', 'today', 'today'],
    ]) {
      expect(await operator.run([...words, '--clinic-zone', name])).toMatchObject(refused)
    }
  })

  test('does not matter if appointments are listed for a day in another time zone', async () => {
    const words = ['appointments', '--zone', 'Toronto', '--clinic-zone', 'Atlantis']
    expect((await operator.run(words)).stderr).toBe(
      'error: --zone: the time zone is unknown\nTry: America/Toronto\n',
    )
  })
})
