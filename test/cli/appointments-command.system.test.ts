import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readCsv } from '../../src/directory-files/csv'
import { booking } from '../support/builders'
import { readCalendar } from '../support/calendar'
import { runOnTerminal } from '../support/terminal'
import { type Practice, startPractice } from './practice'

/** Health data that a provider does not need in order to meet the member. */
const health = {
  reasonForSeekingSupport: 'canary-reason',
  gender: 'canary-gender',
  maritalStatus: 'canary-marital',
  clientType: 'canary-client',
  streetAddress: 'canary-street',
  dob: '1990-02-03',
}

describe('cli: appointments', () => {
  let practice: Practice
  let start = ''
  let day = ''
  beforeAll(async () => {
    practice = await startPractice()
    start = (await practice.slotsOf('on-1')).at(-2) ?? ''
    for (const [providerId, firstName] of [
      [1, '=cmd()'],
      [2, 'Ada'],
    ] as const) {
      const slot = { providerId, utcStartTime: start }
      const preferredModality = 'video\u001b[2J\u009b\u202e'
      const name = { firstName, lastName: 'Lovelace, née Byron' }
      const person = { ...name, preferredModality, state: 'AB', leaveVoicemail: 'No' }
      const memberData = { phoneNumber: '+1 (416) 555-01.00', preferredName: 'Addie', ...person, ...health }
      const { status } = await practice.service.post(
        booking(`P-${providerId}`, slot, memberData),
        practice.token,
      )
      expect(status).toBe(201)
    }
    await practice.operator.do('request', 'accept', '2')
    const { local } = await practice.operator.ask<{ local: string }>('provider', 'why', 'on-1', start)
    day = local.slice(4, 14)
  })
  afterAll(() => practice.stop())

  const list = (...words: string[]) => practice.operator.do('appointments', '--on', day, ...words)

  test('appointments are listed as a table, JSON, CSV or a calendar, always without health data', async () => {
    const table = await list()
    expect(table).toStartWith(`Appointments on ${day} (each provider's time zone)\n`)
    expect(table).toMatch(
      /\n\d+ +\d\d:\d\d Toronto +\d\d:\d\d Edmonton +Ada Lovelace, née Byron \(Addie\) +\+1 \(416\) 555-01\.00 +NO /,
    )
    const rows = JSON.parse(await list('--format', 'json'))
    expect(rows).toMatchObject([
      { request: 1, state: 'pending', utcStartTime: start, provider: 'on-1', firstName: '=cmd()' },
      { request: 2, state: 'accepted', provider: 'on-2', preferredName: 'Addie', externalUserId: 'P-2' },
    ])
    expect(JSON.parse(await list('--json'))).toEqual(rows)
    const csv = await list('--format', 'csv')
    expect(csv).toContain(',+1 416 555 01 00,')
    expect(csv.replaceAll('+1 416 555 01 00', '')).not.toMatch(/(^|[,"\n])[=+@-]/)
    // Even if stdout is a pipe, the CSV must not contain control characters: the pipe may lead to a terminal.
    expect(csv.replaceAll('\r\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    const [titles = [], first = []] = readCsv(Buffer.from(csv)).map(({ cells }) => cells)
    expect(first[titles.indexOf('firstName')]).toBe('=cmd()')
    const ics = await list('--format', 'ics')
    const events = readCalendar(ics)
    expect(
      events.map(({ status, startsAt, endsAt, summary }) => [status, startsAt, endsAt, summary]),
    ).toEqual([
      ['TENTATIVE', Date.parse(start), Date.parse(start) + 45 * 60_000, 'Appointment with Marlow Fernhill'],
      ['CONFIRMED', Date.parse(start), Date.parse(start) + 45 * 60_000, 'Appointment with Marlow Fernhill'],
    ])
    expect(events[1]?.description).toBe(
      'Person: Ada Lovelace, née Byron (Addie)\nPhone: +1 (416) 555-01.00\nVoicemail: NO\nRequest: 2, accepted\nPartner: Lantern, P-2',
    )
    const again = readCalendar(await list('--format', 'ics', '--provider', 'on-2'))
    expect(again.map(({ uid }) => uid)).toEqual([events[1]?.uid ?? ''])
    for (const text of [table, JSON.stringify(rows), csv, ics]) {
      expect(text).toContain('Byron')
      expect(text).not.toMatch(/canary|1990-02-03|Several days|interest/)
    }
  })

  test("in 80 columns, the table keeps the provider and the member's time, and hides the phone number first", async () => {
    const env = { ...practice.operator.settings }
    const { shown } = await runOnTerminal(['appointments', '--on', day, '--provider', '2'], { env })
    const all = await runOnTerminal(['appointments', '--on', day], { env })
    expect(Bun.stripANSI(shown)).toMatch(/\nREQUEST +TIME +MEMBER'S TIME +PERSON +VOICEMAIL +STATE/)
    expect(Bun.stripANSI(all.shown)).toMatch(/\nREQUEST +TIME +MEMBER'S TIME +PERSON +PROVIDER +STATE/)
    expect(Bun.stripANSI(all.shown)).toMatch(/\n2 +\d\d:\d\d Toronto +\d\d:\d\d Edmonton /)
  })

  test('appointments can be limited to one provider and shown in another time zone', async () => {
    expect(await list('--provider', 'qc-1')).toEndWith('\nThere are no appointments.\n')
    expect(await list('--provider', 'on-1', '--zone', 'America/Toronto')).toMatch(
      new RegExp(
        `^Appointments on ${day} with on-1 Marlow Fernhill \\(America/Toronto\\)\nREQUEST +AMERICA/TORONTO +TIME `,
      ),
    )
    const { stdout } = await practice.operator.run(['audit', 'list', '--limit', '1', '--record', 'request 1'])
    expect(stdout).toMatch(/request\.read-appointment +request 1 +done/)
  })

  test.each([
    [['--on', 'yesterweek'], 2],
    [['--on', '2026-02-30'], 2],
    [['--zone', 'Atlantis'], 2],
    [['--format', 'xml'], 2],
    [['--provider', 'nobody'], 3],
  ])('the command appointments with the options %p is refused with exit code %p', async (words, code) => {
    const { stdout, ...exit } = await practice.operator.run(['appointments', ...words])
    expect([exit.code, stdout]).toEqual([code, ''])
    expect(exit.stderr).toMatch(/^error: [^\n]+\n(Try: [^\n]+\n)?$/)
  })
})
