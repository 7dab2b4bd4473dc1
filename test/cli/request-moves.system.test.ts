import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { booking } from '../support/builders'
import { isOnPostgres } from '../support/engine'
import { countRows } from '../support/storage'
import { runOnTerminal } from '../support/terminal'
import { type Practice, startPractice } from './practice'

// Slow: each command starts a process.
setDefaultTimeout(300_000)

let practice: Practice
let members = 0

beforeAll(async () => {
  practice = await startPractice()
})
afterAll(() => practice.stop())

async function submit(utcStartTime?: string): Promise<number> {
  const slot = utcStartTime === undefined ? undefined : { providerId: 2, utcStartTime }
  const body = booking(`member-${++members}`, slot, { state: 'ON' })
  const { status, body: answer } = await practice.service.post(body, practice.token)
  expect(status).toBe(201)
  return answer.id
}

const act = (...words: (string | number)[]) => practice.operator.run(['request', ...words.map(String)])
const ask = (...words: (string | number)[]) =>
  practice.operator.ask<Record<string, unknown>>('request', ...words.map(String))

async function linesOf(id: number): Promise<string[]> {
  const lines = (await practice.operator.do('audit', 'export')).trim().split('\n')
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ record }) => record === `request ${id}`)
    .map(({ action, outcome }) => `${action} ${outcome}`)
}

test('cli: request move frees the old slot for the next search, and each attempt is audited', async () => {
  const [first = '', second = ''] = await practice.slotsOf('on-2')
  const id = await submit(first)
  const { authorizationNumber } = await ask('accept', id)
  const words = ['move', id, '--slot', second]
  expect(await act(...words)).toMatchObject({ code: 2, stdout: '' })
  expect(await practice.slotsOf('on-2')).not.toContain(first)
  const { local } = await practice.operator.ask<{ local: string }>('provider', 'why', 'on-2', second)
  const localWords = ['move', id, '--slot', local.slice(4).replace(' ', 'T')]
  const moved = await ask(...localWords, '--yes')
  expect(moved).toMatchObject({
    id,
    providerId: 2,
    utcStartTime: second,
    acceptedAt: null,
    authorizationNumber,
  })
  const free = await practice.slotsOf('on-2')
  expect([free.includes(first), free.includes(second)]).toEqual([true, false])
  expect(await act(...words, '--yes')).toEqual({
    code: 4,
    signal: null,
    stdout: '',
    stderr: 'error: the request already has this slot\n',
  })
  expect(await act('move', id, '--slot', first, '--provider', 'qc-1', '--yes')).toMatchObject({
    code: 0,
    stdout: `Request ${id} is moved to qc-1 Marlow Fernhill at ${first} and is pending.\n`,
    stderr: 'anteroom: note that qc-1 has no license in CA-ON, where the member is\n',
  })
  expect(await linesOf(id)).toEqual([
    'request.accept done',
    'request.move not_confirmed',
    'request.move done: provider 2',
    'request.move move_unknown',
    'request.move done: provider 3',
  ])
})

describe('cli: a note on a request', () => {
  test('is sealed, is shown only by request notes, and reading is audited once in 15 minutes', async () => {
    const slot = (await practice.slotsOf('on-2')).at(-1)
    const id = await submit(slot)
    const { operator } = practice
    expect((await ask('note', id, 'notecanary, rings after six')) as unknown).toEqual({
      request: id,
      note: expect.any(Number),
    })
    const typed = 'notecanary, a first line\n\ud83d\udc4d and a second\n'
    const written = await operator.run(['request', 'note', `${id}`, '-'], typed)
    expect(written).toMatchObject({ code: 0, stdout: `Added the note to request ${id}.\n`, stderr: '' })
    const reason = ['request', 'decline', `${id}`, '--reason', '-', '--yes']
    expect(await operator.run(reason, 'notecanary, moved away')).toMatchObject({ code: 0, stderr: '' })

    const { stdout } = await act('notes', id)
    expect(stdout.replaceAll(/^\S+Z {2}.+?(?=,|$)/gm, 'WHEN WHO')).toBe(
      [
        'WHEN WHO',
        '  notecanary, rings after six',
        '',
        'WHEN WHO',
        '  notecanary, a first line',
        '  \ud83d\udc4d and a second',
        '',
        'WHEN WHO, why it was declined',
        '  notecanary, moved away',
        '',
      ].join('\n'),
    )
    const notes = (await ask('notes', id)) as unknown as { kind: string; text: string }[]
    expect(notes.map(({ kind, text }) => [kind, text])).toEqual([
      ['note', 'notecanary, rings after six'],
      ['note', typed.trimEnd()],
      ['decline', 'notecanary, moved away'],
    ])
    expect(await linesOf(id)).toEqual([
      'request.note done',
      'request.note done',
      'request.decline done',
      'request.read-notes done',
    ])

    const elsewhere = [
      (await act('show', id)).stdout,
      (await act('list')).stdout,
      await operator.do('audit', 'export'),
      JSON.stringify(
        (await practice.service.get(`/partners/v1/user/?external_user_id=member-${members}`, practice.token))
          .body,
      ),
    ]
    expect(await countRows(operator.storage, 'request_notes')).toBeGreaterThan(2)
    const ends = isOnPostgres ? [] : ['', '-wal']
    const files = ends.map((end) => readFileSync(operator.database + end, 'latin1'))
    for (const text of [...elsewhere, ...files]) expect(text).not.toContain('notecanary')
  })

  test.each([
    ['', 'the text must not be empty'],
    ['notecanary'.repeat(10_000), 'the text must have at most 4000 characters'],
  ])('is refused if empty or too long, and the error does not show the note', async (text, why) => {
    const id = await submit()
    const { code, stdout, stderr } = await practice.operator.run(['request', 'note', `${id}`, '-'], text)
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `error: ${why}\n` })
    expect((await act('notes', id)).stdout).toBe('There are no notes.\n')
  })
})

test('cli: request decline changes nothing if another operator moves the request before the answer', async () => {
  const [first = '', second = ''] = await practice.slotsOf('on-2')
  const id = await submit(first)
  const { code, shown } = await runOnTerminal(['request', 'decline', String(id)], {
    columns: 200,
    env: { ...practice.operator.settings },
    meanwhile: () => ask('move', id, '--slot', second, '--yes'),
    answer: 'y\r',
  })
  expect(shown).toContain(`request ${id} changed while the question was open, so nothing was done`)
  expect([code, (await ask('show', id)).utcStartTime]).toEqual([2, second])
  expect((await linesOf(id)).at(-1)).toBe('request.decline not_confirmed')
})

test('cli: request accept warns and asks for confirmation if the provider is away or suspended', async () => {
  const [slot = ''] = (await practice.slotsOf('on-2')).slice(-1)
  const id = await submit(slot)
  await practice.operator.do('provider', 'deactivate', 'on-2', '--yes')
  const refused =
    'anteroom: note that on-2 is suspended\nerror: there is no terminal to ask on\nTry: use --yes\n'
  expect(await act('accept', id)).toMatchObject({ code: 2, stdout: '', stderr: refused })
  await practice.operator.do('provider', 'reactivate', 'on-2')
  const day = slot.slice(0, 10)
  await practice.operator.do('provider', 'away', 'on-2', day, day)
  expect((await act('accept', id)).stderr).toContain('note that on-2 is away then')
  expect(await ask('accept', id, '--yes')).toMatchObject({ id, acceptedAt: expect.any(String) })
  await practice.operator.do('provider', 'time-off', 'remove', 'on-2', day, day)
})

test('cli: request accept, directory load and doctor report a slot outside the new working hours', async () => {
  const { operator } = practice
  const slots = await practice.slotsOf('on-2')
  const [first, second] = [await submit(slots.at(-1)), await submit(slots.at(-2))]
  const exported = await operator.do('directory', 'export')
  const usual = operator.folder.file('usual.json')
  const shorter = operator.folder.file('shorter.json')
  await Bun.write(usual, exported)
  await Bun.write(shorter, exported.replaceAll('"09:00"', '"08:00"').replaceAll('"12:00"', '"08:45"'))
  expect(await operator.do('directory', 'load', shorter, '--yes')).toContain('does not work then')
  const { stdout } = await operator.run(['doctor', '--json'])
  expect(stdout).toContain(`: on-2 does not work then`)

  const note = 'anteroom: note that on-2 does not work then\n'
  const accepted = expect.stringMatching(
    / is accepted, with on-2 at \w{3} [-\d]+ [:\d]+ America\/Toronto\.\n$/,
  )
  expect(await act('accept', first)).toMatchObject({ code: 0, stdout: accepted, stderr: note })
  expect(await ask('accept', second)).toMatchObject({ id: second, warning: 'outside_hours' })
  await operator.do('directory', 'load', usual, '--yes')
  const third = await submit((await practice.slotsOf('on-2')).at(-3))
  expect(await ask('accept', third)).not.toHaveProperty('warning')
})

test('cli: request close warns before its question if the member is at risk', async () => {
  const phq9Data = [{ question: 'Thoughts that you would be better off dead', answer: 'Several days' }]
  const submitted = { ...booking(`member-${++members}`, undefined, { state: 'ON' }), phq9Data }
  const { body } = await practice.service.post(submitted, practice.token)
  const note = `anteroom: the member's ninth PHQ-9 item is not zero, or could not be read; first read anteroom request show ${body.id} --screening\n`
  expect((await act('close', body.id)).stderr).toStartWith(note)
  expect(await linesOf(body.id)).toEqual(['request.read-risk done', 'request.close not_confirmed'])
  await act('note', body.id, 'called twice')
  expect((await act('show', body.id)).stdout).toMatch(
    new RegExp(`^notes +1: anteroom request notes ${body.id}$`, 'm'),
  )
})

test.each(['y\r', 'y', 'yes\ry'])(
  'cli: the input %j does not answer a question if it is typed before the question appears',
  async (ahead) => {
    const id = await submit()
    const { code, shown } = await runOnTerminal(['request', 'close', String(id)], {
      columns: 200,
      env: { ...practice.operator.settings },
      ahead,
      answer: '\r',
    })
    expect([code, shown]).toEqual([2, expect.stringContaining('nothing was changed')])
    expect(await ask('show', id)).toMatchObject({ state: 'unassigned' })
  },
)
