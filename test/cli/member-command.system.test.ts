import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, statSync } from 'node:fs'
import type { Finding } from '../../src/domain/ports/maintenance'
import type { Write } from '../../src/domain/ports/writes'
import { booking } from '../support/builders'
import { describeOfFile } from '../support/engine'
import { runOnTerminal } from '../support/terminal'
import { type Practice, startPractice } from './practice'

// Slow: each command starts a process.
setDefaultTimeout(300_000)

let practice: Practice

beforeAll(async () => {
  practice = await startPractice()
})
afterAll(() => practice.stop())

/** A member profile. Each text contains the mark, so that the tests find these texts in the bytes of a file. */
const profileOf = (mark: string) => ({
  email: `${mark}-email@example.com`,
  firstName: `${mark}-first`,
  lastName: `${mark}-last`,
  state: `${mark}-state`,
  reasonForSeekingSupport: `${mark}-reason `.repeat(250),
})

interface Submitted {
  readonly id: number
  readonly member: { readonly id: number }
}

async function submit(mark: string, slot?: { providerId: number; utcStartTime: string }): Promise<Submitted> {
  const body = {
    ...booking(`${mark}-external`, slot, profileOf(mark)),
    phq9Data: [{ question: `${mark}-question`, answer: `${mark}-answer` }],
  }
  const { status, body: answer } = await practice.service.post(body, practice.token)
  expect(status).toBe(201)
  return answer
}

const lookUp = async (mark: string) =>
  (await practice.service.get(`/partners/v1/user/?external_user_id=${mark}-external`, practice.token)).status

const act = (...words: (string | number)[]) => practice.operator.run(['member', ...words.map(String)])

const auditOf = async (record: string) =>
  (await practice.operator.do('audit', 'export'))
    .trim()
    .split('\n')
    .filter((line) => line.includes(`"${record}"`) && !/member\.(look-up|create)/.test(line))

function tracesOf(mark: Buffer): string[] {
  const { database } = practice.operator
  return ['', '-wal', '-shm']
    .map((suffix) => `${database}${suffix}`)
    .filter((file) => existsSync(file) && readFileSync(file).includes(mark))
}

function newestSealed(): [answers: Buffer, profile: Buffer, sentProfile: Buffer] {
  using database = new Database(practice.operator.database, { readonly: true })
  const row = database
    .query<Record<'answers' | 'profile' | 'sent', Uint8Array>, []>(
      `SELECT sealed_screening_answers AS answers, sealed_profile AS profile, sealed_sent_profile AS sent FROM booking_requests
       JOIN members ON members.id = member_id ORDER BY booking_requests.id DESC LIMIT 1`,
    )
    .get()
  // The end of each value, because a whole value may be split over several pages of the file.
  const ends = [row?.answers, row?.profile, row?.sent].map((value) => Buffer.from(value ?? []).subarray(-64))
  return ends as [Buffer, Buffer, Buffer]
}

describe('cli: the member commands', () => {
  test('member show finds a member by id and by external user id', async () => {
    const { id, member } = await submit('shown')
    const shown = await practice.operator.ask<object>('member', 'show', `${member.id}`)
    expect(shown).toEqual({
      id: member.id,
      firstName: 'shown-first',
      lastName: 'shown-last',
      email: 'shown-email@example.com',
      userType: 'member',
      country: 'CA',
      preferredSpokenLanguage: 'English',
      preferredSpokenLanguageCode: 'en',
      externalUserId: 'shown-external',
      partner: 'Lantern',
      state: 'active',
      contact: {
        name: 'shown-first shown-last',
        preferredName: null,
        preferredPronouns: null,
        dob: null,
        phoneNumber: null,
        leaveVoicemail: null,
        // The state is unknown, so any time zone of the country is possible.
        localTime: { earliest: expect.any(String), latest: expect.any(String), zones: expect.any(Array) },
        preferredSpokenLanguage: 'English',
        state: 'shown-state',
        preferredModality: null,
        reasonForSeekingSupport: 'shown-reason '.repeat(250),
      },
      changes: [],
      requests: [
        {
          id,
          kind: 'intake',
          state: 'unassigned',
          submittedAt: expect.any(String),
          provider: null,
          utcStartTime: null,
          localTime: null,
        },
      ],
    })
    const named = ['--partner', 'Lantern', '--external-id', 'shown-external']
    expect(await practice.operator.ask<object>('member', 'show', ...named)).toEqual(shown)
    const { stdout } = await act('show', member.id)
    expect(stdout).toContain('shown-email@example.com')
    expect(stdout).toMatch(/^voicemail +unknown; do not leave one$/m)
    expect(stdout).toMatch(/^time there +between .* and .*$/m)
  })

  test('member show lists the requests of the member, newest first, and request list --member lists them too', async () => {
    const [slot = ''] = await practice.slotsOf('on-1')
    const { id, member } = await submit('listed')
    const booked = await submit('listed', { providerId: 1, utcStartTime: slot })
    await submit('unlisted')
    const { requests } = await practice.operator.ask<{ requests: object[] }>('member', 'show', `${member.id}`)
    const localTime = expect.stringMatching(/^[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d America\/Toronto$/)
    expect(requests).toMatchObject([
      { id: booked.id, kind: 'booking request', provider: 'on-1', utcStartTime: slot, localTime },
      { id, kind: 'intake', state: 'unassigned', provider: null, localTime: null },
    ])
    expect((await act('show', member.id)).stdout).toMatch(
      new RegExp(
        `\\n\\nID +KIND +STATE +PROVIDER +LOCAL TIME +SUBMITTED\\n${booked.id} +booking request +pending +on-1 +[A-Z].* America/Toronto +2.*Z\\n${id} +intake +unassigned +- +- +2.*Z\\n$`,
      ),
    )
    const listed = await practice.operator.ask<{ id: number }[]>(
      'request',
      'list',
      '--member',
      `${member.id}`,
    )
    expect(listed.map(({ id }) => id)).toEqual([id, booked.id])
    expect((await practice.operator.run(['request', 'list', '--member', '999'])).code).toBe(3)
  })

  test('member show and request show print the details for a call, including whether a voicemail may be left', async () => {
    const memberData = {
      preferredName: 'Kit',
      preferredPronouns: 'they/them',
      dob: '1990-02-01',
      phoneNumber: '+1 303 555 0100',
      leaveVoicemail: 'No',
      country: 'US',
      state: 'CO',
      preferredSpokenLanguage: 'es',
      reasonForSeekingSupport: 'a canary reason',
    }
    const { status, body } = await practice.service.post(
      booking('called', undefined, memberData),
      practice.token,
    )
    expect(status).toBe(201)
    const lines = [
      /^name +Robin Sample$/m,
      /^preferred name +Kit$/m,
      /^pronouns +they\/them$/m,
      /^date of birth +1990-02-01$/m,
      /^phone +\+1 303 555 0199$/m,
      /^voicemail +NO$/m,
      /^time there +[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d \(America\/Denver\)$/m,
      /^language +Spanish$/m,
      /^reason +a canary$/m,
    ]
    const redirected = { ...memberData, phoneNumber: '+1 303 555 0199', reasonForSeekingSupport: 'a canary' }
    const second = await practice.service.post(booking('called', undefined, redirected), practice.token)
    const changed = `Phone and reason changed 0 min ago by request ${second.body.id}; before: phone +1 303 555 0100, reason a canary reason\n`
    const shown = await act('show', body.member.id)
    const request = await practice.operator.run(['request', 'show', `${body.id}`])
    for (const { code, stdout, stderr } of [shown, request]) {
      expect([code, stderr]).toEqual([0, ''])
      for (const line of lines) expect(stdout).toMatch(line)
      expect(stdout).toContain(changed)
    }
    const { changes } = await practice.operator.ask<{ changes: unknown }>('request', 'show', `${body.id}`)
    const before = { phoneNumber: '+1 303 555 0100', reasonForSeekingSupport: 'a canary reason' }
    expect(changes).toEqual([{ request: second.body.id, at: expect.any(String), before }])
    const exported = JSON.parse(await practice.operator.do('member', 'export', `${body.member.id}`))
    expect(exported.requests[1].sentProfile).toMatchObject({ sent: redirected, before })
    const log = await practice.operator.do('audit', 'export')
    expect(log).toContain(`"member.show","record":"member ${body.member.id}"`)
    expect(log).toContain(`"request.show","record":"request ${body.id}"`)
    expect(log).not.toMatch(/canary|Robin|Sample/)
  })

  test.each([
    [['show', 999], 3, 'there is no member with that id'],
    [['show', '--partner', 'Lantern', '--external-id', 'nobody'], 3, 'there is no member with that id'],
    [
      ['show', '--partner', 'Nobody', '--external-id', 'x'],
      3,
      'there is no partner with that name or id\nTry: anteroom partner list',
    ],
    [['erase', 999, '--yes'], 3, 'there is no member with that id'],
    [['edit', 999, '--email', ''], 3, 'there is no member with that id'],
    [['show'], 2, 'name the member by id, or by both --partner and --external-id'],
    [['show', '--partner', 'Lantern'], 2, 'name the member by id, or by both --partner and --external-id'],
  ])('the member command with the words %p is refused with exit code %p', async (words, code, message) => {
    expect(await act(...words)).toEqual({ code, signal: null, stdout: '', stderr: `error: ${message}\n` })
  })

  test('the questions of member erase and deactivate contain the name of the member', async () => {
    const { member } = await submit('asked')
    const who = `asked-first asked-last, Lantern's asked-external (member ${member.id}),`
    const questions = {
      erase: `Erase ${who} with all their data? This cannot be undone. [y/N]`,
      deactivate: `Refuse look-ups of ${who} and bookings for them? [y/N]`,
    }
    for (const [word, question] of Object.entries(questions)) {
      const words = ['member', word, `${member.id}`]
      const env = { ...practice.operator.settings }
      const { code, shown } = await runOnTerminal(words, { columns: 200, answer: 'n\r', env })
      expect([code, shown]).toEqual([2, expect.stringContaining(question)])
      expect(shown).toContain('nothing was changed')
    }
    expect(await lookUp('asked')).toBe(200)
  })
})

describe('cli: member release-email', () => {
  test('a released e-mail address can be used by another member, and each attempt is audited', async () => {
    const wrong = await submit('released')
    const rightful = booking('rightful-owner', undefined, { email: 'released-email@example.com' })
    expect((await practice.service.post(rightful, practice.token)).status).toBe(409)
    expect((await act('release-email', wrong.member.id)).code).toBe(2)
    const { code, stdout } = await act('release-email', wrong.member.id, '--yes')
    const done = `Member ${wrong.member.id} has no e-mail address until their partner sends one again.\n`
    expect([code, stdout]).toEqual([0, done])
    expect((await practice.service.post(rightful, practice.token)).status).toBe(201)
    const refused = { code: 4, stderr: 'error: the member has no e-mail address\n' }
    expect(await act('release-email', wrong.member.id, '--yes')).toMatchObject(refused)
    const lines = (await auditOf(`member ${wrong.member.id}`)).map((line) => JSON.parse(line))
    const released = lines.filter(({ action }) => action === 'member.release-email')
    expect(released.map(({ outcome }) => outcome)).toEqual(['not_confirmed', 'done', 'move_unknown'])
  })
})

describe('cli: member find', () => {
  const lines = async () =>
    (await practice.operator.do('audit', 'export'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ action }) => action === 'member.find')
      .map(({ record, outcome }) => [record, outcome])

  const find = (text: string) => practice.operator.ask<Record<string, unknown>[]>('member', 'find', text)

  test('finds members by email address, external user id, phone number and name, and audits each found member', async () => {
    const names = { firstName: 'Zo\u00eb', lastName: 'Aalto', phoneNumber: '+1 (416) 555-7391' }
    const { body } = await practice.service.post(booking('sought-1', undefined, names), practice.token)
    const kim = { firstName: 'Kim', lastName: 'Aalto', preferredName: 'ZOE\u0308' }
    const other = await practice.service.post(booking('sought-2', undefined, kim), practice.token)
    const [first, second] = [body.member.id, other.body.member.id]
    const row = (foundBy: string) => ({
      id: first,
      state: 'active',
      partner: 'Lantern',
      externalUserId: 'sought-1',
      name: 'Zo\u00eb Aalto',
      foundBy,
    })
    expect(await find(' SOUGHT-1@Example.com ')).toEqual([row('e-mail')])
    expect(await find('416 555 7391')).toEqual([row('phone')])
    const before = await lines()
    expect(await find('sought-1')).toEqual([row("partner's id")])
    const both = await act('find', 'zo\u00eb')
    expect(both.stdout).toMatch(
      /^ID +STATE +PARTNER +PARTNER'S ID +NAME +FOUND BY\n\d+ +active +Lantern +sought-2 +Kim Aalto \(ZOE\u0308\) +name\n\d+ +.* Zo\u00eb Aalto +name\n\n2 members\.\n$/,
    )
    expect((await act('find', 'nobody@example.com')).stdout).toBe('There is no such member.\n')
    // The first member was found before, and the same read is noted once in 15 minutes.
    expect(await lines()).toEqual([
      ...before,
      [null, '1 found'],
      ...[
        [null, '2 found'],
        [`member ${second}`, 'done'],
      ],
      ...[
        [null, 'done'],
        [null, '0 found'],
      ],
    ])
  })
})

describe('cli: a removed email address', () => {
  test('a removed email address can be used by another member, and a look-up of the first member returns no email address', async () => {
    const wrong = await submit('wrong')
    const mine = { email: 'wrong-email@example.com' }
    const rightful = booking('rightful', undefined, mine)
    expect((await practice.service.post(rightful, practice.token)).status).toBe(409)
    expect((await act('edit', wrong.member.id, '--email', '')).code).toBe(2)
    const { code, stdout } = await act('edit', wrong.member.id, '--email', '', '--yes')
    expect([code, stdout]).toEqual([0, `Member ${wrong.member.id} has changed: e-mail.\n`])
    const found = '/partners/v1/user/?external_user_id=wrong-external'
    expect((await practice.service.get(found, practice.token)).body.email).toBe('')
    expect((await act('show', wrong.member.id)).stdout).toMatch(/^e-mail +-$/m)
    expect((await practice.service.post(rightful, practice.token)).status).toBe(201)
    expect(await act('edit', wrong.member.id, '--email', '', '--yes')).toMatchObject({
      code: 4,
      stderr: 'error: the member already has these values\n',
    })
    const actions = (await auditOf(`member ${wrong.member.id}`)).map((line) => JSON.parse(line))
    expect(actions.map(({ action, actor, outcome }) => [action, actor.split(' ')[0], outcome])).toEqual([
      ['member.email-conflict', 'partner', 'email_taken'],
      ['member.edit', 'operator', 'not_confirmed'],
      ['member.edit', 'operator', 'done: email'],
      ['member.show', 'operator', 'done'],
      ['member.edit', 'operator', 'move_unknown'],
    ])
  })
})

describe('cli: member edit', () => {
  test('corrects or clears the phone, email address and name, and the audit log contains no value', async () => {
    const { id } = (await submit('edited')).member
    const other = (await submit('rival')).member
    const words = ['--phone', '+1 416 555 0177', '--email', 'edited@example.com', '--last-name', 'Adjusted']
    const env = { ...practice.operator.settings }
    const asked = ['member', 'edit', `${id}`, ...words]
    const { code, shown } = await runOnTerminal(asked, { columns: 400, answer: 'y\r', env })
    expect([code, shown]).toEqual([
      0,
      expect.stringContaining(
        `Change edited-first edited-last, Lantern's edited-external (member ${id}), phone from none to +1 416 555 0177, e-mail from edited-email@example.com to edited@example.com and last name from edited-last to Adjusted? [y/N]`,
      ),
    ])
    const { contact, email } = await practice.operator.ask<never>('member', 'show', `${id}`)
    expect([contact, email]).toMatchObject([
      { name: 'edited-first Adjusted', phoneNumber: '+1 416 555 0177' },
      'edited@example.com',
    ])
    const refused = async (...given: string[]) => {
      const { code, stderr } = await act('edit', id, ...given, '--yes')
      return [code, stderr]
    }
    expect(await refused('--email', 'RIVAL-email@example.com')).toEqual([
      4,
      'error: the e-mail address already belongs to a different member\n',
    ])
    expect(await refused('--last-name', 'Adjusted')).toEqual([
      4,
      'error: the member already has these values\n',
    ])
    expect(await refused()).toEqual([2, 'error: name at least one field to change\n'])
    for (const [flag, value, fault] of [
      ['--phone', '12', 'must be a phone number with a leading + and 7 to 15 digits'],
      ['--email', 'a@b', 'must be an e-mail address'],
      ['--first-name', ' ', 'must not be blank'],
      ['--last-name', '', 'must not be empty'],
    ] as const) {
      expect(await refused(flag, value)).toEqual([2, expect.stringContaining(fault)])
    }
    expect((await act('edit', id, '--phone', '')).code).toBe(2)
    const cleared = await practice.operator.ask<object>('member', 'edit', `${id}`, '--phone', '', '--yes')
    expect(cleared).toEqual({ member: id, changed: ['phoneNumber'] })
    const lines = (await auditOf(`member ${id}`)).filter((line) => line.includes('member.edit'))
    expect(lines.map((line) => JSON.parse(line).outcome)).toEqual([
      'done: phoneNumber, email, lastName',
      ...['email_taken', 'move_unknown', 'field_invalid', 'not_confirmed', 'done: phoneNumber'],
    ])
    expect(await auditOf(`member ${other.id}`)).toEqual([])
  })
})

describe('cli: member export', () => {
  test('an export contains all data of the member, and is audited', async () => {
    const { id, member } = await submit('told')
    const text = await practice.operator.do('member', 'export', `${member.id}`)
    const { member: person, requests } = JSON.parse(text)
    expect(person).toMatchObject({ ...profileOf('told'), externalUserId: 'told-external', active: true })
    expect(Date.parse(person.createdAt)).toBeGreaterThan(Date.now() - 60_000)
    expect(requests).toHaveLength(1)
    expect(requests[0]).toMatchObject({
      id,
      state: 'unassigned',
      screeningAnswers: [{ question: 'told-question', answer: 'told-answer' }],
    })
    expect(await auditOf(`member ${member.id}`)).toEqual([expect.stringContaining('member.export')])
  })

  test('an export to a file is readable only by its owner, and never overwrites a file', async () => {
    const { member } = await submit('filed')
    const file = practice.operator.folder.file('filed.json')
    expect((await act('export', member.id, '--output', file)).stdout).not.toContain('filed-email')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const written = readFileSync(file, 'utf8')
    expect(JSON.parse(written).member.email).toBe('filed-email@example.com')
    expect((await act('export', member.id, '--output', file)).code).toBe(2)
    expect(readFileSync(file, 'utf8')).toBe(written)
    expect(await auditOf(`member ${member.id}`)).toEqual([
      expect.stringContaining('done'),
      expect.stringContaining('field_invalid'),
    ])
  })
})

describe('cli: members that are due', () => {
  test('are counted by doctor, listed and erased after one question; a member with an open request is left out', async () => {
    const { operator, store } = practice
    const years = ['--older-than', '7y']
    const doctor = async (...flags: string[]) => {
      const findings: Finding[] = JSON.parse((await operator.run(['doctor', '--json', ...flags])).stdout)
      return findings.filter(({ check }) => check === 'retention')
    }
    expect((await act('due', ...years)).stdout).toBe('No member is due.\n')
    expect((await act('erase', '--due', ...years)).stdout).toBe('No member is due.\n')
    expect(await doctor()).toEqual([])
    expect(await doctor('--retention', '7y')).toEqual([
      { check: 'retention', state: 'ok', detail: 'no member is due' },
    ])
    const [closed, open, recent] = [await submit('ended'), await submit('waits'), await submit('fresh')]
    const at = new Date()
    const old = at.setUTCFullYear(at.getUTCFullYear() - 8)
    const writes: Write[] = [
      { set: 'request', id: closed.id, to: { state: 'closed', submittedAt: old, declinedAt: old } },
      { set: 'request', id: open.id, to: { submittedAt: old } },
    ]
    const aged = { writes, taken: [], audit: null, answer: () => undefined }
    await store.change(
      null,
      () => [],
      () => aged,
    )
    const [due, waits] = [closed.member.id, open.member.id]
    const lastEndedAt = `${new Date(old).toISOString().slice(0, 19)}Z`
    expect(await operator.ask<object>('member', 'due', ...years)).toEqual([
      { member: due, lastEndedAt, openRequest: null },
      { member: waits, lastEndedAt, openRequest: open.id },
    ])
    expect((await act('due', ...years)).stdout).toEndWith(
      '\n\n2 members. To erase those without an open request: anteroom member erase --due --older-than 7y\n',
    )
    expect((await act('due', '--older-than', '9y')).stdout).toBe('No member is due.\n')
    expect(await doctor('--retention', '7y')).toEqual([
      {
        check: 'retention',
        state: 'note',
        detail: '2 members had the last request more than 7 years ago',
        remedy: 'anteroom member due --older-than 7y',
      },
    ])
    for (const words of [
      ['--due'],
      [`${due}`, '--due', ...years],
      [`${due}`, '--partner', 'x', '--due', ...years],
    ]) {
      expect([(await act('erase', ...words, '--yes')).code, words]).toEqual([2, words])
    }
    expect((await act('erase', '--due', ...years)).code).toBe(2)
    const { code, stdout } = await act('erase', '--due', ...years, '--yes')
    expect(code).toBe(0)
    expect(stdout).toStartWith('1 member erased. Their requests remain without personal data.\n')
    expect(stdout).toEndWith(`Left out: member ${waits} (request ${open.id} is open).\n`)
    expect([await lookUp('ended'), await lookUp('waits'), await lookUp('fresh')]).toEqual([404, 200, 200])
    expect(await auditOf(`member ${due}`)).toEqual([expect.stringContaining('"member.erase"')])
    const again = await operator.ask<object>('member', 'erase', '--due', ...years, '--yes')
    expect(again).toEqual({
      erased: [],
      leftOut: [{ member: waits, lastEndedAt, openRequest: open.id }],
      purged: true,
    })
    expect(await lookUp('fresh')).toBe(200)
    expect(recent.member.id).not.toBe(due)
    expect((await act('due', '--older-than', '0y')).stderr).toContain('must be years, for example 7y')
  })
})

describeOfFile('cli: member erase', () => {
  test('an erasure removes all data of the member from the files, and keeps only the slots and times of the requests', async () => {
    const [slot = ''] = await practice.slotsOf('on-1')
    const { id, member } = await submit('gone', { providerId: 1, utcStartTime: slot })
    const gone = newestSealed()
    await submit('stays')
    const stays = newestSealed()
    expect([...gone, ...stays].map(tracesOf)).not.toContainEqual([])
    expect((await act('erase', member.id)).code).toBe(2)
    expect(await lookUp('gone')).toBe(200)

    const { code, stdout, stderr } = await act('erase', member.id, '--yes')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('Earlier backups still contain the erased data')
    expect(stdout).toContain(`Requests that still hold a slot: ${id}.`)
    expect(gone.map(tracesOf)).toEqual([[], [], []])
    expect(stays.map(tracesOf)).not.toContainEqual([])

    expect([await lookUp('gone'), await lookUp('stays')]).toEqual([404, 200])
    expect(await practice.slotsOf('on-1')).not.toContain(slot)
    const facts = await practice.operator.ask<object>('request', 'show', `${id}`, '--screening')
    expect(facts).toMatchObject({
      request: { id, providerId: 1, utcStartTime: slot, member: null, phoneNumber: '' },
      screening: { answers: [] },
    })
    expect(await auditOf(`member ${member.id}`)).toEqual([
      expect.stringContaining('"member.erase","record":"member '),
      expect.stringContaining('"member.erase","record":"member '),
    ])
    expect((await act('show', member.id)).code).toBe(3)
  })

  test('an erasure reports that another reader keeps traces of the data in the write-ahead log, and a later erasure removes the traces', async () => {
    const { member } = await submit('read')
    const [, profile] = newestSealed()
    expect(tracesOf(profile)).not.toEqual([])
    const reader = new Database(practice.operator.database, { readonly: true })
    reader.run('BEGIN')
    reader.query('SELECT count(*) FROM members').get()
    const { code, stdout, stderr } = await act('erase', member.id, '--yes')
    expect(code).toBe(7)
    expect(stdout).toContain(`Member ${member.id} is erased`)
    expect(stderr).toContain('may still have traces of the erased data')
    expect(await lookUp('read')).toBe(404)
    reader.run('COMMIT')
    reader.close()
    const other = await submit('other')
    expect((await act('erase', other.member.id, '--yes')).code).toBe(0)
    expect(tracesOf(profile)).toEqual([])
  })
})
