import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { booking } from '../support/builders'
import { type Practice, startPractice } from './practice'

// Slow: each command starts a process.
setDefaultTimeout(300_000)

let practice: Practice
let members = 0

beforeAll(async () => {
  practice = await startPractice()
})
afterAll(() => practice.stop())

const asked = 'Thoughts that you would be better off dead, or of hurting yourself'
const screening = (ninth: string) => [
  ...Array.from({ length: 8 }, (_, place) => ({ question: `Question ${place + 1}`, answer: 'Several days' })),
  { question: asked, answer: ninth },
]

async function submit(
  slot?: { providerId: number; utcStartTime: string },
  phq9Data: unknown = [],
): Promise<number> {
  const body = booking(`member-${++members}`, slot, { state: 'ON', preferredModality: 'video' })
  const { status, body: answer } = await practice.service.post({ ...body, phq9Data }, practice.token)
  expect(status).toBe(201)
  return answer.id
}

const show = (id: number) => practice.operator.ask<Record<string, unknown>>('request', 'show', `${id}`)
const act = (...words: (string | number)[]) => practice.operator.run(['request', ...words.map(String)])

/** Checks that a command is refused with one line on stderr, and that the request is unchanged. */
async function expectRefused(id: number, words: (string | number)[], code: number, message: RegExp) {
  const before = await practice.store.findRequest(id)
  expect(before).not.toBeNull()
  const { stdout, stderr, ...exit } = await act(...words)
  expect({ code: exit.code, stdout }).toEqual({ code, stdout: '' })
  expect(stderr).toMatch(message)
  expect(stderr).toMatch(/^error: [^\n]+\n((Try|Usage): [^\n]+\n)?$/)
  expect(await practice.store.findRequest(id)).toEqual(before)
}

test('cli: request show prints a slot in the time zones of the provider and the member', async () => {
  const utcStartTime = (await practice.slotsOf('on-1'))[0] as string
  const id = await submit({ providerId: 1, utcStartTime })
  const local = new Intl.DateTimeFormat('sv-SE', {
    timeZone: 'America/Toronto',
    dateStyle: 'short',
    timeStyle: 'short',
  }).format(new Date(utcStartTime))
  const shown = await practice.operator.do('request', 'show', `${id}`)
  expect(shown).toMatch(
    new RegExp(`^slot +${utcStartTime}\nlocal +[A-Z][a-z]{2} ${local} America/Toronto$`, 'm'),
  )
  // Some parts of Ontario have another local time in summer.
  const theirs = `(?:between )?[A-Z][a-z]{2} ${local.replace(' ', '.* ')} \\(America/Toronto`
  expect(shown).toMatch(new RegExp(`^member's time +${theirs}`, 'm'))
  expect(await practice.operator.do('request', 'show', `${await submit()}`)).not.toMatch(
    /^(?:local|member's time) /m,
  )
})

describe('cli: request decline with --partner and --since', () => {
  test('lists the requests, asks for confirmation and frees the slots, but does not change unassigned intakes', async () => {
    const { operator, service } = practice
    await operator.do('partner', 'add', 'Flood', '--organization', 'North Care')
    const token = (await operator.do('token', 'issue', 'Flood')).trim()
    const slots = (await practice.slotsOf('on-2')).slice(0, 3) as [string, string, string]
    const post = async (name: string, utcStartTime?: string) => {
      const slot = utcStartTime === undefined ? undefined : { providerId: 2, utcStartTime }
      const { status, body } = await service.post(booking(name, slot), token)
      expect(status).toBe(201)
      return body.id as number
    }
    const early = await post('early', slots[0])
    await Bun.sleep(1_100)
    const since = `${new Date().toISOString().slice(0, 19)}Z`
    const [first, second] = [await post('flood-1', slots[1]), await post('flood-2', slots[2])]
    const intake = await post('flood-3')
    await submit()
    await operator.do('request', 'accept', `${second}`)
    const words = ['decline', '--partner', 'Flood', '--since', since]
    const which = `2 requests of Flood submitted since ${since}`
    const stay =
      '1 intake of this partner left unchanged. Close intakes with: anteroom request close --partner\n'

    const dry = await act(...words, '--dry-run')
    expect(dry).toMatchObject({ code: 0, stderr: '' })
    expect(dry.stdout).toMatch(
      new RegExp(`^ID +STATE +SUBMITTED +SLOT +MEMBER\n${first} +pending .*\n${second} +accepted .*\n`),
    )
    expect(dry.stdout).toEndWith(`\n\nThis would decline ${which}.\n${stay}`)
    expect(await act(...words)).toMatchObject({ code: 2, stdout: '' })
    const shown = () => practice.slotsOf('on-2').then((free) => slots.map((slot) => free.includes(slot)))
    expect(await shown()).toEqual([false, false, false])

    expect(await act(...words, '--yes')).toMatchObject({ code: 0, stdout: `Declined ${which}.\n${stay}` })
    expect(await shown()).toEqual([false, true, true])
    expect((await show(first)).declinedAt).not.toBeNull()
    expect([(await show(early)).declinedAt, (await show(intake)).declinedAt]).toEqual([null, null])
    const log = (await operator.do('audit', 'export')).split('\n')
    for (const id of [first, second]) {
      expect(
        log.filter((line) => line.includes('request.decline') && line.includes(`"request ${id}"`)),
      ).toHaveLength(1)
    }
    expect((await act(...words, '--yes')).stdout).toBe(`Declined ${which.replace('2', '0')}.\n${stay}`)
    expect((await act(...words, '--dry-run')).stdout).toStartWith('There are no requests to decline.\n')
  })

  test.each([
    [[]],
    [['--partner', 'Lantern']],
    [['--since', '2026-01-01T00:00:00Z']],
    [['1', '--dry-run']],
    [['1', '--partner', 'Lantern', '--since', '2026-01-01T00:00:00Z']],
  ])(
    'request decline with the arguments %p is refused, and the error names the two valid forms',
    async (words) => {
      expect(await act('decline', ...words, '--yes')).toEqual({
        code: 2,
        signal: null,
        stdout: '',
        stderr: 'error: name one request by id, or many with both --partner and --since\n',
      })
    },
  )
})

describe('cli: request assign', () => {
  test('request assign of an assigned intake asks for confirmation, makes the intake pending and frees the previous slot', async () => {
    const id = await submit()
    const [slot = ''] = await practice.slotsOf('on-1')
    await practice.operator.do('request', 'assign', `${id}`, '--provider', 'on-1', '--slot', slot)
    await practice.operator.do('request', 'accept', `${id}`)
    const again = ['assign', id, '--provider', 'on-2']
    await expectRefused(id, again, 2, /--yes/)
    expect((await act(...again, '--yes')).code).toBe(0)
    expect(await show(id)).toMatchObject({ providerId: 2, acceptedAt: null, utcStartTime: null })
    expect(await practice.slotsOf('on-1')).toContain(slot)
  })

  test("request assign to a provider without a license in the member's region warns and asks for confirmation before any change", async () => {
    const id = await submit()
    const warning = 'anteroom: note that qc-1 has no license in CA-ON, where the member is\n'
    const asked = await act('assign', id, '--provider', 'qc-1')
    expect(asked).toMatchObject({ code: 2, stdout: '' })
    expect(asked.stderr).toStartWith(warning)
    expect(await show(id)).toMatchObject({ providerId: null })
    expect(await act('assign', id, '--provider', 'qc-1', '--yes')).toMatchObject({ code: 0, stderr: warning })
    expect(await show(id)).toMatchObject({ providerId: 3 })
  })

  test('request assign is refused for a booking request, an unknown record or a slot that is not free', async () => {
    const [taken = '', other = ''] = await practice.slotsOf('on-2')
    const booked = await submit({ providerId: 2, utcStartTime: taken })
    const intake = await submit()
    const to = (ref: string, slot?: string) => ['--provider', ref, ...(slot ? ['--slot', slot] : [])]
    await expectRefused(booked, ['assign', booked, ...to('on-2', other)], 4, /only an intake can be assigned/)
    await expectRefused(
      intake,
      ['assign', intake, ...to('on-2', taken)],
      4,
      /not available\nTry: anteroom provider why on-2 /,
    )
    await expectRefused(intake, ['assign', intake, ...to('nobody')], 3, /no provider/)
    await expectRefused(intake, ['assign', intake, ...to('on-2', 'soon')], 2, /must be a time/)
    await expectRefused(intake, ['assign', intake], 2, /--provider/)
    await expectRefused(intake, ['assign', 999, ...to('on-2')], 3, /no request/)
    await expectRefused(intake, ['assign', 'x', ...to('on-2')], 2, /whole number/)
  })
})

describe('cli: request accept and decline', () => {
  test('request accept and decline set the timestamps of a booking, and decline frees its slot for the next search', async () => {
    const [slot = ''] = await practice.slotsOf('on-2')
    const id = await submit({ providerId: 2, utcStartTime: slot })
    expect(await practice.slotsOf('on-2')).not.toContain(slot)
    await practice.operator.do('request', 'accept', `${id}`)
    expect(await show(id)).toMatchObject({ acceptedAt: expect.stringMatching(/\.\d{3}Z$/), declinedAt: null })
    await expectRefused(id, ['decline', id], 2, /--yes/)
    await practice.operator.do('request', 'decline', `${id}`, '--yes')
    expect(await show(id)).toMatchObject({ declinedAt: expect.stringMatching(/\.\d{3}Z$/) })
    expect(await practice.slotsOf('on-2')).toContain(slot)
    await expectRefused(id, ['accept', id], 4, /declined cannot be accepted/)
    await expectRefused(id, ['decline', id], 4, /declined cannot be declined/)
  })
})

describe('cli: the screening answers of a request', () => {
  const readings = async (id: number) => {
    const lines = (await practice.operator.do('audit', 'export')).trim().split('\n')
    return lines.filter((line) => line.includes('read-screening') && line.includes(`"request ${id}"`)).length
  }

  test('request show --screening is the only command that shows the answers, and each reading is audited', async () => {
    const id = await submit(undefined, screening('more than half the days'))
    for (const words of [
      ['show', id],
      ['show', id, '--json'],
      ['list'],
      ['list', '--intakes'],
      ['suggest', id],
    ]) {
      expect((await act(...words)).stdout, words.join(' ')).not.toMatch(/better off dead|several days/i)
    }
    expect(await readings(id)).toBe(0)
    const { stdout } = await act('show', id, '--screening')
    expect(stdout).toContain(asked)
    expect(stdout).toContain('Total: 10 of 27, moderate.')
    expect(stdout).toContain('Ninth item: !! NON-ZERO')
    expect(await readings(id)).toBe(1)
    const shown = await practice.operator.ask('request', 'show', `${id}`, '--screening')
    expect(shown).toEqual({
      request: await show(id),
      screening: {
        answers: screening('more than half the days'),
        total: 10,
        readCount: 9,
        isComplete: true,
        severity: 'moderate',
        unread: [],
        ninthItem: 'non-zero',
      },
    })
    expect(await readings(id)).toBe(2)
  })

  test('request show --screening names an unclear answer and shows no severity', async () => {
    const id = await submit(undefined, screening('rather not say'))
    const { stdout } = await act('show', id, '--screening')
    expect(stdout).toContain('Partial total: 8 from 8 answers')
    expect(stdout).toContain('Could not be read: answer 9.')
    expect(stdout).toContain('could not be read. Read the answer.')
    expect(stdout).not.toMatch(/minimal|mild|moderate|severe\b/)
  })

  test('request list --risk lists a booking at risk first and adds an audit line, and a list without --risk does neither', async () => {
    const [slot = ''] = await practice.slotsOf('on-2')
    const booked = await submit({ providerId: 2, utcStartTime: slot }, screening('Presque tous les jours'))
    const lines = async () =>
      (await practice.operator.do('audit', 'export'))
        .split('\n')
        .filter((line) => line.includes('request.read-risk') && line.includes(`"request ${booked}"`)).length
    const plain = await act('list', '--limit', '1')
    expect(plain.stderr).toBe(
      'anteroom: some waiting requests have a raised or unclear ninth PHQ-9 item; anteroom request list --risk lists them first\n',
    )
    expect(plain.stdout).toMatch(
      /^ID +KIND +STATE +AGE .*\n1 .*\n\nrequests 1 to 1; the oldest has waited \d+ (min|h); for the next page, use --page 2\.\n$/,
    )
    expect(await lines()).toBe(0)
    const { stdout, stderr } = await act('list', '--risk')
    expect(stderr).toBe('')
    expect(stdout).toMatch(new RegExp(`^${booked} +!! item 9 +moderate +booking +pending `, 'm'))
    expect(stdout).not.toMatch(/better off dead|several days|tous les jours/i)
    expect(await lines()).toBe(1)
    await practice.operator.do('request', 'decline', `${booked}`, '--yes')
    expect((await act('list', '--risk')).stdout).not.toMatch(new RegExp(`^${booked} `, 'm'))
    // The command request decline reads the risk too, but the same read is noted once in 15 minutes.
    expect(await lines()).toBe(1)
  })
})

describe('cli: request list', () => {
  test('request list shows the details of each request, but no name or email address of a member', async () => {
    const [slot = ''] = await practice.slotsOf('on-2')
    const id = await submit({ providerId: 2, utcStartTime: slot })
    const rows = await practice.operator.ask<{ id: number }[]>('request', 'list')
    expect(rows.map((row) => row.id)).toEqual(rows.map((row) => row.id).toSorted((a, b) => a - b))
    expect(rows.find((row) => row.id === id)).toEqual({
      id,
      kind: 'booking request',
      state: 'pending',
      submittedAt: expect.stringMatching(/Z$/),
      provider: 'on-2',
      utcStartTime: slot,
      member: expect.any(Number),
      partner: 'Lantern',
      externalUserId: `member-${members}`,
      ageMinutes: expect.any(Number),
    } as never)
    expect((await act('list')).stdout).not.toMatch(/Robin|Sample|example\.com/)
  })

  test('request list filters by state, and accepts all filters together', async () => {
    const unassigned = await submit()
    const rows = await practice.operator.ask<{ id: number; state: string }[]>(
      'request',
      'list',
      '--state',
      'unassigned',
    )
    expect(rows.map(({ id }) => id)).toContain(unassigned)
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['unassigned']))
    const others = ['--partner', 'Lantern', '--provider', 'qc-1', '--state', 'accepted', '--on', '2026-12-01']
    const more = ['--since', '2026-01-01T00:00:00Z', '--age', '2w', '--sort', 'slot', '--page', '2']
    expect(await practice.operator.run(['request', 'list', ...others, ...more])).toMatchObject({
      code: 0,
      stdout: 'There are no more requests.\n',
    })
  })

  test.each([
    [['--risk', '--sort', 'age'], 2, /--risk cannot be combined with another --sort/],
    [['--risk', '--state', 'closed'], 2, /only waiting and cancelled requests can be sorted by risk/],
    [['--state', 'open'], 2, /must be one of unassigned, pending/],
    [['--age', 'old'], 2, /90min, 12h, 3d or 2w/],
    [['--on', '2026-02-30'], 2, /must be a date, for example 2026-12-01/],
    [['--provider', 'nobody'], 3, /no provider/],
    [['--partner', 'nobody'], 3, /no partner/],
  ])('request list %p is refused with exit code %p', async (words, code, message) => {
    const exit = await act('list', ...words)
    expect([exit.code, exit.stdout]).toEqual([code, ''])
    expect(exit.stderr).toMatch(message)
  })
})

describe('cli: request suggest', () => {
  test("suggests the providers licensed in the member's region, with slots that can be assigned", async () => {
    const id = await submit()
    interface SuggestReport {
      readonly region: string
      readonly suggestions: readonly {
        readonly provider: string
        readonly slots: readonly Readonly<Record<string, string>>[]
      }[]
    }
    const report = await practice.operator.ask<SuggestReport>('request', 'suggest', `${id}`)
    expect(report.region).toBe('CA-ON')
    expect(report.suggestions.map(({ provider }) => provider).toSorted()).toEqual(['on-1', 'on-2'])
    const [best] = report.suggestions
    const [slot] = best?.slots ?? []
    for (const time of [slot?.localTime, slot?.memberEarliestTime, slot?.memberLatestTime]) {
      expect(time).toMatch(/^[A-Z][a-z]{2} \d{4}-\d{2}-\d{2} \d{2}:\d{2}$/)
    }
    const local = slot?.localTime?.slice(4).replace(' ', 'T') ?? ''
    const words = ['--provider', best?.provider ?? '', '--slot', local, '--json']
    expect(JSON.parse((await act('assign', id, ...words)).stdout)).toMatchObject({
      utcStartTime: slot?.utcStartTime,
    })
  })
})
