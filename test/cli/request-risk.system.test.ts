import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { booking } from '../support/builders'
import { runOnTerminal } from '../support/terminal'
import { type Practice, startPractice } from './practice'

// Slow: each command starts a process.
setDefaultTimeout(300_000)

let practice: Practice
beforeAll(async () => {
  practice = await startPractice()
})
afterAll(() => practice.stop())

const csi = String.fromCharCode(27)
const raised = [{ question: 'Thoughts that you would be better off dead', answer: 'Several days' }]

async function submit(name: string, utcStartTime?: string, phq9Data: unknown = []): Promise<number> {
  const slot = utcStartTime === undefined ? undefined : { providerId: 2, utcStartTime }
  const body = { ...booking(name, slot, { state: 'ON' }), phq9Data }
  const { status, body: answer } = await practice.service.post(body, practice.token)
  expect(status).toBe(201)
  return answer.id
}

const act = (...words: (string | number)[]) => practice.operator.run(['request', ...words.map(String)])
const stateOf = async (id: number) => (await practice.store.findRequest(id))?.state

test('cli: request accept asks only for the request whose ninth item is raised and unread, and status and show say it first', async () => {
  const [one = '', two = '', three = ''] = await practice.slotsOf('on-2')
  const calm = await submit('calm', one)
  const risky = await submit('risky', two, raised)
  const declined = await submit('declined', three)
  await practice.operator.do('request', 'decline', `${declined}`, '--yes')
  const { stdout, stderr, code } = await act('accept', calm, risky, declined, calm)
  expect(code).toBe(2)
  expect(stdout).toMatch(new RegExp(`^Request ${calm} is accepted, with on-2 at [^\\n]+\\n$`))
  expect(stderr).toBe(
    `anteroom: the member's ninth PHQ-9 item is not zero, or could not be read; first read anteroom request show ${risky} --screening
error: request ${risky}: there is no terminal to ask on
Try: use --yes
error: request ${declined}: a request that is declined cannot be accepted
`,
  )
  expect([await stateOf(calm), await stateOf(risky)]).toEqual(['accepted', 'pending'])
  const log = await practice.operator.do('audit', 'export')
  for (const [id, outcome] of [
    [calm, 'done'],
    [risky, 'not_confirmed'],
    [declined, 'move_unknown'],
  ] as const) {
    const lines = log
      .split('\n')
      .filter((line) => line.includes('"request.accept"') && line.includes(`"request ${id}"`))
    expect(lines.map((line) => JSON.parse(line).outcome)).toEqual([outcome])
  }
  const status = (await practice.operator.run(['status'])).stdout
  expect(status).toMatch(/^unread risk +1, the oldest from 20\S+ \(0 min ago\)\nservice +up/)
  const firstOf = async (id: number, ...flags: string[]) =>
    (await act('show', id, ...flags)).stdout.split('\n')[0]?.replace(/ +/, ' ')
  expect(await firstOf(calm)).toBe('risk no screening answers')
  expect(await firstOf(risky)).toBe('risk !! ninth item raised, incomplete, answers not read yet')
  const colored = await runOnTerminal(['request', 'show', String(risky)], {
    columns: 200,
    env: { ...practice.operator.settings, TERM: 'xterm-256color' },
  })
  expect(colored.shown).toMatch(new RegExp(String.raw`risk +(${csi}\[\d+m)+!! ninth item raised`))
  expect(await practice.operator.ask('request', 'accept', `${risky}`, '--yes')).toMatchObject({ id: risky })
  expect(await practice.operator.ask('status')).toMatchObject({ unreadRisk: { count: 1 } })
  expect((await act('list', '--risk')).stdout).toMatch(new RegExp(`^${risky} +!! item 9 .* accepted `, 'm'))
  expect(await firstOf(risky, '--screening')).toBe('risk !! ninth item raised, incomplete')
  expect(await practice.operator.ask('request', 'show', `${risky}`)).toMatchObject({
    risk: { ninthItem: 'non-zero', severity: null, unread: false },
  })
  expect(await practice.operator.ask('status')).toMatchObject({ unreadRisk: { count: 0, oldestAt: null } })
  const [four = '', five = ''] = await practice.slotsOf('on-2')
  const [first, second] = [await submit('first', four), await submit('second', five)]
  expect(await practice.operator.ask('request', 'accept', `${first}`, `${second}`)).toMatchObject([
    { id: first },
    { id: second },
  ])
})

test('cli: request reopen undoes a decline while the slot is free, and a close; other requests are refused with the reason', async () => {
  const [slot = ''] = await practice.slotsOf('on-2')
  const id = await submit('undone', slot)
  const reopen = async (id: number, ...flags: string[]) => {
    const { code, stdout, stderr } = await act('reopen', id, ...flags)
    return [code, stdout || stderr]
  }
  expect(await reopen(id)).toEqual([4, 'error: a request that is pending cannot be reopened\n'])
  await practice.operator.do('request', 'decline', `${id}`, '--yes')
  expect(await reopen(id)).toEqual([2, 'error: there is no terminal to ask on\nTry: use --yes\n'])
  expect(await reopen(id, '--yes')).toEqual([0, `Request ${id} is pending again.\n`])
  expect(await practice.slotsOf('on-2')).not.toContain(slot)
  await practice.operator.do('request', 'decline', `${id}`, '--yes')
  const other = await submit('other', slot)
  const taken = `error: the slot is not available\nTry: anteroom provider why on-2 ${slot}\n`
  expect(await reopen(id, '--yes')).toEqual([4, taken])
  await practice.operator.do('request', 'decline', `${other}`, '--yes')
  const intake = await submit('intake')
  await practice.operator.do('request', 'close', `${intake}`, '--yes')
  expect(await reopen(intake, '--yes')).toEqual([0, `Request ${intake} is unassigned again.\n`])
  const log = (await practice.operator.do('audit', 'export')).split('\n')
  const lines = log.filter((line) => line.includes('"request.reopen"') && line.includes(`"request ${id}"`))
  expect(lines.map((line) => JSON.parse(line).outcome)).toEqual([
    'move_unknown',
    'not_confirmed',
    'done: provider 2',
    'slot_unavailable',
  ])
})

test('cli: Ctrl-C at the question for one request ends request accept, and the other requests stay pending', async () => {
  const [, , , four = '', five = ''] = await practice.slotsOf('on-2')
  const risky = await submit('risky-cancelled', four, raised)
  const calm = await submit('calm-cancelled', five)
  const env = { ...practice.operator.settings }
  const words = ['request', 'accept', `${risky}`, `${calm}`]
  const { code, shown } = await runOnTerminal(words, { answer: '\u0003', env })
  expect([code, shown]).toEqual([2, expect.stringContaining('not confirmed, so nothing was changed')])
  expect([await stateOf(risky), await stateOf(calm)]).toEqual(['pending', 'pending'])
})

test('cli: many intakes of one member are one row of the queue, and are closed together', async () => {
  const { operator } = practice
  await operator.do('partner', 'add', 'Flood', '--organization', 'North Care')
  const token = (await operator.do('token', 'issue', 'Flood')).trim()
  const ids: number[] = []
  for (const name of ['flood', 'flood', 'flood', 'kim']) {
    const { body } = await practice.service.post(booking(name), token)
    ids.push(body.id)
  }
  const [first, , , kim] = ids
  const list = (...flags: string[]) => act('list', '--intakes', '--partner', 'Flood', ...flags)
  expect((await list()).stdout).toMatch(
    new RegExp(
      `^ID +REQUESTS +RISK .*\n${first} +3 .*\n${kim} +1 .*\n\n2 members with 4 requests; the oldest has waited \\d+ min; to list those of one member, use --member ID\\.\n$`,
    ),
  )
  expect((await list('--limit', '1')).stdout).toContain('use --page 2')
  const theirs = `${(await practice.store.findRequest(first as number))?.member?.id}`
  const alone = (await list('--member', theirs)).stdout
  expect(alone.match(/^\d+ {2}/gm)).toHaveLength(3)
  const listed = JSON.parse((await list('--json')).stdout)
  expect(listed.map(({ id, requests }: { id: number; requests?: number }) => [id, requests])).toEqual(
    ids.map((id) => [id, undefined]),
  )
  const words = ['close', '--partner', 'Flood', '--since', '2026-01-01T00:00:00Z'] as const
  const which = '4 intakes of Flood submitted since 2026-01-01T00:00:00Z'
  const dry = await act(...words, '--dry-run')
  expect(dry.stdout).toEndWith(`\n\nThis would close ${which}.\n`)
  const risky = await practice.service.post({ ...booking('risky-flood'), phq9Data: raised }, token)
  ids.push(risky.body.id)
  expect((await act(...words, '--dry-run')).stdout).toEndWith(
    `\n\nThis would close ${which.replace('4', '5')} (1 with a raised or unclear ninth item that no one has read).\n`,
  )
  expect(await act(...words, '--yes', '--reason', '')).toMatchObject({
    code: 2,
    stderr: 'error: the text must not be empty\n',
  })
  expect((await act(...words)).code).toBe(2)
  expect(await operator.ask('request', ...words, '--yes')).toEqual({
    ...{ partner: 'Flood', since: '2026-01-01T00:00:00Z', unreadRisk: 1, closed: 5 },
  })
  expect(await Promise.all(ids.map(stateOf))).toEqual(ids.map(() => 'closed'))
  expect((await act(...words, '--dry-run')).stdout).toStartWith('There are no intakes to close.\n')
})

test('cli: request cancel asks first and frees the slot, and an unread risk stays listed until the answers are read', async () => {
  const { operator, service, token, slotsOf } = practice
  const free = await slotsOf('on-2')
  const slot = free.at(-1) ?? ''
  const [id, declined] = [await submit('withdrawn', slot, raised), await submit('declined-2', free.at(-2))]
  await operator.do('request', 'decline', `${declined}`, '--yes')
  await operator.do('request', 'accept', `${id}`, '--yes')
  const unread = async () =>
    (await operator.ask<{ unreadRisk: { count: number } }>('status')).unreadRisk.count
  const [before, listed] = [await unread(), await act('list', '--state', 'cancelled')]
  expect(listed.stdout).not.toMatch(new RegExp(`^${id} `, 'm'))
  const env = { ...operator.settings }
  const asked = await runOnTerminal(['request', 'cancel', `${id}`], { answer: 'no\r', env })
  expect([asked.code, asked.shown]).toEqual([
    2,
    expect.stringMatching(
      new RegExp(`ninth PHQ-9 item is not zero[\\s\\S]*Cancel request ${id} of [\\s\\S]+, with [\\s\\S]+\\?`),
    ),
  ])
  expect([await stateOf(id), (await act('cancel', id)).code]).toEqual(['accepted', 2])
  const appointed = async () => {
    const listed = await operator.ask<{ request: number }[]>('appointments', '--on', slot.slice(0, 10))
    return listed.map(({ request }) => request)
  }
  expect(await appointed()).toContain(id)

  const words = ['cancel', `${id}`, '--reason', 'Phoned: moved away', '--yes'] as const
  const cancelled = await operator.ask<{ cancelledAt: string }>('request', ...words)
  expect(cancelled).toMatchObject({
    id,
    state: 'cancelled',
    utcStartTime: slot,
    cancelledAt: expect.stringMatching(/Z$/),
  })
  expect(await slotsOf('on-2')).toContain(slot)
  expect(await operator.ask('request', 'notes', `${id}`)).toMatchObject([
    { kind: 'cancel', text: 'Phoned: moved away' },
  ])
  const { body } = await service.get(`/partners/v1/booking-request/${id}/`, token)
  expect(body).toMatchObject({ state: 'cancelled', cancelledAt: cancelled.cancelledAt })
  const again = await act('cancel', id, '--yes')
  expect([again.code, again.stderr]).toEqual([4, 'error: a request that is cancelled cannot be cancelled\n'])
  const refused = await act('cancel', declined, '--yes')
  expect([refused.code, refused.stderr]).toEqual([
    4,
    'error: a request that is declined cannot be cancelled\n',
  ])
  expect(await appointed()).not.toContain(id)

  const row = new RegExp(`^${id} +!! item 9 .* cancelled `, 'm')
  expect([(await act('list', '--risk')).stdout, (await act('list', '--state', 'cancelled')).stdout]).toEqual([
    expect.stringMatching(row),
    expect.stringMatching(new RegExp(`^${id} .*cancelled`, 'm')),
  ])
  expect(await unread()).toBe(before)
  expect((await act('show', id)).stdout).toMatch(
    /^risk +!! ninth item raised, incomplete, answers not read yet\n[\s\S]*^cancelled +20/m,
  )
  await act('show', id, '--screening')
  expect([await unread(), (await act('list', '--risk')).stdout]).toEqual([
    before - 1,
    expect.not.stringMatching(row),
  ])
  const memberId = `${(await practice.store.findRequest(id))?.member?.id}`
  const exported = JSON.parse(await operator.do('member', 'export', memberId))
  expect(exported.requests).toMatchObject([{ id, state: 'cancelled', cancelledAt: cancelled.cancelledAt }])
})
