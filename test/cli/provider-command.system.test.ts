import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { booking } from '../support/builders'
import { runOnTerminal } from '../support/terminal'
import { type Practice, startPractice } from './practice'

const inToronto = new Intl.DateTimeFormat('sv-SE', { timeZone: 'America/Toronto' })

describe('cli: the provider commands while the service runs', () => {
  let practice: Practice
  beforeAll(async () => {
    practice = await startPractice()
  })
  afterAll(() => practice.stop())

  const run = (...args: string[]) => practice.operator.run(['provider', ...args])
  const say = (...args: string[]) => practice.operator.do('provider', ...args)
  const ask = <T>(...args: string[]) => practice.operator.ask<T>('provider', ...args)
  const why = (ref: string, startsAt: string) => ask<Record<string, unknown>>('why', ref, startsAt)

  test('provider list and provider show find providers by ref or id', async () => {
    expect(await say('list')).toMatch(/^REF +ID +NAME +STATE +LICENSES .*\non-1 +1 +\S+ \S+ +active +CA-ON /)
    expect((await ask<{ ref: string }[]>('list', '--region', 'ca-qc')).map(({ ref }) => ref)).toEqual([
      'qc-1',
    ])
    expect(await say('list', '--inactive')).toBe('There are no matching providers.\n')
    const [all, first] = [
      await ask<{ ref: string; lastName: string }[]>('list'),
      await run('list', '--limit', '1'),
    ]
    expect(first).toMatchObject({
      code: 0,
      stderr: `anteroom: ${all.length - 1} more providers are not shown\n`,
    })
    const [{ lastName = '' } = {}] = all
    const named = await ask<typeof all>('list', '--name', lastName.toUpperCase())
    expect(named).toEqual(all.filter((one) => one.lastName === lastName))
    expect((await ask<typeof all>('list', '--name', 'N-2')).map(({ ref }) => ref)).toEqual(['on-2'])
    expect(await ask('show', '1')).toEqual(await ask('show', 'on-1'))
    expect(await say('show', 'on-1')).toMatch(/\nLicenses\nREGION +FROM +UNTIL\nCA-ON /)
  })

  test('provider slots shows the same slots as a search', async () => {
    const slots = await ask<{ utcStartTime: string }[]>('slots', 'on-1')
    const found = await practice.slotsOf('on-1')
    expect(slots.length).toBeGreaterThan(0)
    expect(slots.map(({ utcStartTime }) => utcStartTime)).toEqual(found)
    expect(await ask('slots', 'on-1', '--region', 'CA-ON')).toEqual(slots)
    expect(await ask('slots', 'on-1', '--region', 'CA-QC')).toEqual([])
  })

  test('provider why prints the id of the request that occupies a slot', async () => {
    const [slot = ''] = (await practice.slotsOf('on-1')).slice(-1)
    expect(await why('on-1', slot)).toMatchObject({ offered: true, reason: null })
    const booked = await practice.service.post(
      booking('member-1', { providerId: 1, utcStartTime: slot }),
      practice.token,
    )
    expect(booked.status).toBe(201)
    expect(await why('on-1', slot)).toMatchObject({ offered: false, reason: 'taken', requestId: 1 })
    expect(await say('why', 'on-1', slot)).toMatch(
      /\noffered +no\nwhy +the slot is taken by request 1, which starts at /,
    )
  })

  test('provider away takes effect at once and lists the affected bookings, and time-off remove undoes the absence', async () => {
    const [slot = ''] = (await practice.slotsOf('on-1')).slice(-2)
    const dayFrom = (days: number) =>
      new Date(Date.parse(slot) + days * 86_400_000).toISOString().slice(0, 10)
    // The provider's local date may differ from the UTC date.
    const [day, until] = [dayFrom(-1), dayFrom(2)]
    const { added, concerned } = await ask<{ added: boolean; concerned: { request: number }[] }>(
      'away',
      'on-1',
      day,
      until,
    )
    expect([added, concerned.map(({ request }) => request)]).toEqual([true, [1]])
    expect(await practice.slotsOf('on-1')).not.toContain(slot)
    expect(await why('on-1', slot)).toMatchObject({ offered: false, reason: 'time_off' })
    expect(await ask('away', 'on-1', day, until)).toMatchObject({ added: false })
    expect(await ask('time-off', 'list', 'on-1')).toEqual([{ from: day, until, source: 'staff' }])
    expect(await ask('time-off', 'remove', 'on-1', day, until)).toEqual({
      provider: 'on-1',
      from: day,
      until,
      isOfDirectory: false,
    })
    expect(await practice.slotsOf('on-1')).toContain(slot)
    expect(await run('time-off', 'remove', 'on-1', day, until)).toMatchObject({
      code: 3,
      stderr: 'error: there is no such time off\n',
    })
  })

  test.each([
    ['someday', '2026-12-01', 'from: must be a date, a local date-time'],
    ['2026-12-01', '2026-02-30', 'until: must be a date, a local date-time'],
    ['2026-12-01', '2026-12-02T10:00', 'until: must have the same form as from'],
    ['2026-12-01', '2026-11-30', 'until: must be after from'],
    ['2026-12-01T10:00', '2026-12-01T10:00', 'until: must be after from'],
  ])('an absence from %s to %s is refused', async (from, until, fault) => {
    const { code, stderr, stdout } = await run('away', 'on-1', from, until)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toStartWith(`error: ${fault}`)
  })

  test('provider deactivate asks for confirmation, takes effect at once, and can be undone', async () => {
    const [slot = ''] = (await practice.slotsOf('on-2')).slice(-1)
    const on = { answer: 'n\r', env: { ...practice.operator.settings } }
    const { code, shown } = await runOnTerminal(['provider', 'deactivate', 'on-2'], on)
    const question = 'Stop offering the slots of provider on-2 Marlow Fernhill? [y/N]'
    expect([code, shown]).toEqual([2, expect.stringContaining(question)])
    expect(await run('deactivate', 'on-2')).toMatchObject({ code: 2 })
    expect(await say('deactivate', 'on-2', '--yes')).toBe('Provider on-2 is deactivated.\n')
    expect(await why('on-2', slot)).toMatchObject({ offered: false, reason: 'provider_deactivated' })
    expect(await say('slots', 'on-2')).toBe('There are no free slots: the provider is suspended.\n')
    expect(await say('show', 'on-2')).toMatch(/\nstate +suspended\n/)
    expect((await ask<{ ref: string }[]>('list', '--inactive')).map(({ ref }) => ref)).toEqual(['on-2'])
    const refused = await practice.service.post(
      booking('member-2', { providerId: 2, utcStartTime: slot }),
      practice.token,
    )
    expect(refused.status).toBe(400)
    expect(await say('reactivate', 'on-2')).toBe('Provider on-2 is active.\n')
    expect(await practice.slotsOf('on-2')).toContain(slot)
  })

  test('provider away lists each member to call, with alternative slots and the command for the move', async () => {
    const [slot = ''] = (await practice.slotsOf('on-2')).slice(-4)
    const person = { firstName: 'Ada', lastName: 'Lovelace', phoneNumber: '+1 416 555 0100', state: 'ON' }
    const { body } = await practice.service.post(
      booking('P-3', { providerId: 2, utcStartTime: slot }, { ...person, leaveVoicemail: 'No' }),
      practice.token,
    )
    const local = (await ask<{ local: string }>('why', 'on-2', slot)).local
    const day = local.slice(4, 14)
    const listed = await say('away', 'on-2', day, day, '--dry-run')
    expect(listed).toStartWith(
      `Provider on-2 Marlow Fernhill would have time off from ${day} to ${day}. Nothing`,
    )
    // The line also contains the member's local time if the time zones of Ontario differ on this day.
    expect(listed).toContain(`\n1. ${local} Toronto`)
    expect(listed).toContain(
      `\n   Ada Lovelace  phone +1 416 555 0100  voicemail: NO\n   request ${body.id}, pending,`,
    )
    expect(listed).toContain(`anteroom request move ${body.id} --slot ${slot} --provider on-1\n`)
    expect(await practice.slotsOf('on-2')).not.toEqual([])
    const away = await ask<Record<string, unknown>>('away', 'on-2', day, day)
    expect(away).toMatchObject({
      provider: 'on-2',
      from: day,
      until: day,
      added: true,
      undo: `anteroom provider time-off remove on-2 ${day} ${day}`,
      concerned: [{ request: body.id, phoneNumber: '+1 416 555 0100', region: 'CA-ON', localTime: local }],
    })
    expect(await ask('away', 'on-2', day, day)).toEqual({ ...away, added: false })
    const ofThatDay = (start: string) => inToronto.format(new Date(start)) === day
    expect(ofThatDay(slot)).toBe(true)
    expect((await practice.slotsOf('on-2')).filter(ofThatDay)).toEqual([])
    expect(await say('away', 'qc-1', 'today', 'today')).toEndWith(
      '\nThere are no appointments in that time.\n',
    )
    expect(await run('away', 'qc-1', 'tomorrow', 'today')).toMatchObject({
      code: 2,
      stderr: 'error: until: must be after from\n',
    })
    const { stdout } = await practice.operator.run(['audit', 'list', '--limit', '1'])
    expect(stdout).toMatch(/provider\.time-off-add +provider 3 +field_invalid/)
  })

  test('an unknown provider and an invalid instant are refused with their exit codes', async () => {
    expect(await run('show', 'nobody')).toMatchObject({
      code: 3,
      stderr: 'error: there is no provider with that ref, id or name\nTry: anteroom provider list\n',
    })
    expect(await run('slots', 'on-1', '--region', 'ZZ')).toMatchObject({ code: 3 })
    expect(await run('why', 'on-1', '2026-12-01')).toMatchObject({ code: 2, stdout: '' })
  })
})
