import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { booking } from '../support/builders'
import { eventually } from '../support/eventually'
import { type Practice, startPractice } from './practice'

// Slow: each command starts a process.
setDefaultTimeout(300_000)

interface Line {
  readonly id: number
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly record: string | null
  readonly outcome: string
}

let practice: Practice
const [intake, partner] = ['request 1', 'partner 1']
const risk = ['request.read-risk', intake, 'done']

beforeAll(async () => {
  practice = await startPractice()
  const memberData = {
    email: 'canary-email@example.com',
    firstName: 'canary-first',
    phoneNumber: '+1 416 555 0123',
    state: 'canary-state',
  }
  const body = {
    ...booking('canary-external', undefined, memberData),
    phq9Data: [{ question: 'canary-question', answer: 'canary-answer' }],
  }
  expect((await practice.service.post(body, practice.token)).status).toBe(201)
})
afterAll(() => practice.stop())

const run = (...words: string[]) => practice.operator.run(words)
const lines = (...words: string[]) =>
  practice.operator.ask<Line[]>('audit', 'list', '--limit', '10000', ...words)

async function addedBy(work: () => Promise<unknown>) {
  const last = (await lines()).at(-1)?.id ?? 0
  await work()
  const left = (await lines('--after', String(last))).filter(
    ({ action }) => action !== 'member.look-up' && action !== 'token.use',
  )
  expect(left.filter(({ actor }) => !actor.startsWith('operator '))).toEqual([])
  return left.map(({ action, record, outcome }) => [action, record, outcome])
}

describe('cli: the audit lines of a command that reads', () => {
  test.each<[words: string, left: (string | null)[][]]>([
    ['member show 1', [['member.show', 'member 1', 'done']]],
    [
      'member show --partner Lantern --external-id canary-external --json',
      [['member.show', 'member 1', 'done']],
    ],
    ['member export 1', [['member.export', 'member 1', 'done']]],
    ['request show 1', [['request.show', intake, 'done'], risk]],
    ['request show 1 --json', [['request.show', intake, 'done'], risk]],
    ['request show 1 --screening', [['request.read-screening', intake, 'done'], risk]],
    ['request suggest 1', [['request.suggest', intake, 'done']]],
    ['request list', [['request.list', null, 'done: 1']]],
    [
      'request list --intakes --json',
      [
        ['request.list', null, 'done: 1'],
        ['request.read-risk', 'request 1', 'done'],
      ],
    ],
    ['doctor', []],
    ['partner list', []],
    ['audit verify', []],
  ])('"%s" adds audit lines only for the personal data that it reads', async (words, left) => {
    // A read is noted once in 15 minutes for each operator.
    const settings = { ANTEROOM_OPERATOR: Bun.hash(words).toString(36) }
    expect(await addedBy(() => practice.operator.run(words.split(' '), '', settings))).toEqual(left)
  })

  test('personal data is not shown if the audit log cannot be written', async () => {
    const { database } = practice.operator
    const { Database } = await import('bun:sqlite')
    using holder = new Database(database)
    holder.run('BEGIN IMMEDIATE')
    const show = ['member', 'show', '1']
    const { code, stdout } = await practice.operator.run(show, '', { ANTEROOM_OPERATOR: 'another' })
    holder.run('ROLLBACK')
    expect([code, stdout]).toEqual([7, ''])
  })
})

describe('cli: the audit lines of a refused command', () => {
  test.each<[words: string, code: number, left: (string | null)[]]>([
    ['member show 99', 3, ['member.show', null, 'record_unknown']],
    ['member erase 1', 2, ['member.erase', 'member 1', 'not_confirmed']],
    ['member deactivate 1', 2, ['member.deactivate', 'member 1', 'not_confirmed']],
    ['request accept 1', 4, ['request.accept', intake, 'move_unknown']],
    ['request accept 99', 3, ['request.accept', 'request 99', 'record_unknown']],
    ['request acknowledge 1', 4, ['request.acknowledge', intake, 'move_unknown']],
    ['request assign 1 --provider nobody', 3, ['request.assign', intake, 'record_unknown']],
    [
      'request assign 1 --provider on-1 --slot 2020-01-01T00:00:00Z --yes',
      4,
      ['request.assign', intake, 'slot_unavailable'],
    ],
    ['organization add North\u0007', 2, ['organization.add', null, 'field_invalid']],
    ['partner add Lantern', 4, ['partner.add', null, 'name_taken']],
    ['partner set-organization Lantern Nowhere', 3, ['partner.set-organization', partner, 'record_unknown']],
    ['token issue Lantern', 4, ['token.issue', partner, 'token_exists']],
    ['token revoke Lantern', 2, ['token.revoke', partner, 'not_confirmed']],
    ['token rotate Lantern', 2, ['token.rotate', partner, 'not_confirmed']],
    ['token cancel Lantern', 3, ['token.cancel', partner, 'record_unknown']],
    ['partner set-organization Lantern none', 2, ['partner.set-organization', partner, 'not_confirmed']],
    ['partner rename Lantern Lantern', 4, ['partner.rename', partner, 'name_taken']],
    ['token revoke Nobody --yes', 3, ['token.revoke', null, 'record_unknown']],
    [
      'provider time-off remove on-1 2099-01-01 2099-01-02',
      3,
      ['provider.time-off-remove', 'provider 1', 'record_unknown'],
    ],
    ['provider deactivate on-1', 2, ['provider.deactivate', 'provider 1', 'not_confirmed']],
    ['audit prune --before 2020-01-01T00:00:00Z --output x', 2, ['audit.prune', null, 'not_confirmed']],
    ['audit prune --before 2026-01-01T00:00:00Z --output x', 2, ['audit.prune', null, 'field_invalid']],
  ])('"%s" adds one audit line when it is refused', async (words, code, left) => {
    const all = words.split(' ')
    expect(await addedBy(async () => expect((await run(...all)).code, words).toBe(code))).toEqual([left])
  })

  test('a read that finds nothing, a dry run, a malformed command and a storage failure add no audit line', async () => {
    const file = practice.operator.folder.file('faulty.json')
    writeFileSync(file, '{"regions": 1}')
    const left = await addedBy(async () => {
      expect((await run('partner', 'show', 'Nobody')).code).toBe(3)
      expect((await run('directory', 'load', '--dry-run', file)).code).toBe(5)
      expect((await run('backup', file)).code).toBe(6)
      expect((await run('request', 'accept', 'x')).code).toBe(2)
    })
    expect(left).toEqual([])
    expect(await addedBy(() => run('directory', 'load', file))).toEqual([
      ['directory.load', null, 'directory_invalid'],
    ])
  })
})

describe('cli: the audit log', () => {
  test('audit list filters by instant, actor, action, record, partner and member, and returns pages', async () => {
    const all = await lines()
    // Filtered audit lines are sorted by instant. Their ids can be in another order, because look-ups are logged late.
    const inTime = <T extends { at: string; id: number }>(some: T[]) =>
      some.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at) || a.id - b.id)
    const like = (fits: (line: Line) => boolean) => inTime(all.filter(fits))
    const [reading, showing] = ['request.read-screening', 'request.show']
    const isOf = ({ action }: Line) => action === reading || action === showing
    expect(await lines('--record', intake, '--action', reading)).toEqual(
      like(({ action, record }) => record === intake && action === reading),
    )
    expect(await lines('--action', `${reading},${showing}`)).toEqual(like(isOf))
    expect(await lines('--action', reading, '--action', showing)).toEqual(like(isOf))
    expect(await lines('--member', '1')).toEqual(
      like(({ record }) => record === 'member 1' || record === intake),
    )
    expect(await lines('--partner', 'Lantern')).toEqual(
      like(({ actor, record }) => actor === partner || record === partner),
    )
    const shown = await practice.operator.do('audit', 'list', '--member', '1', '--limit', '3')
    const [ofAnswers = '', sums = ''] = shown.split('\n\n')
    const readers = like(({ action, record }) => action === reading && record === intake)
    expect(
      ofAnswers
        .split('\n')
        .slice(1)
        .map((row) => row.split(/\s/)[0]),
    ).toEqual(readers.slice(-3).map(({ id }) => String(id)))
    expect(sums).toMatch(/^TIMES +LAST +WHO +WHAT +RECORD +OUTCOME\n/)
    expect(sums).not.toContain(reading)
    const lookUps = await practice.operator.do('audit', 'list', '--member', '1', '--action', 'member.create')
    expect(lookUps).toMatch(
      /^TIMES .*\n1 +\S+ +partner 1 +member\.create +member 1 +done\n\n1 line, by partner 1: 1\.\n$/,
    )
    const nobody = await run('audit', 'list', '--member', '99')
    expect([nobody.code, nobody.stdout]).toEqual([3, ''])
    const unknown = await run('audit', 'list', '--action', 'token.steal')
    expect([unknown.code, unknown.stdout]).toEqual([2, ''])
    expect(unknown.stderr).toContain('token.issue, token.rotate, token.revoke, token.cancel')
    const table = await practice.operator.do('audit', 'list', '--limit', '1', '--record', intake)
    expect(table).toMatch(/\n\n1 line, by operator \S+: 1\.\nThere are older lines\. .*\n$/)
    const first = await lines('--after', '0', '--limit', '2')
    const second = await lines('--after', String(first.at(-1)?.id), '--limit', '2')
    expect([...first, ...second]).toEqual(all.slice(0, 4))
    expect(await lines('--limit', '2')).toEqual(all.slice(-2))
    expect(await lines('--record', intake)).toEqual(like(({ record }) => record === intake))
    expect(await lines('--actor', partner)).toEqual(like(({ actor }) => actor === partner))
    expect(await lines('--since', '2099-01-01T00:00:00Z')).toEqual([])
    expect(await lines('--until', '2099-01-01T00:00:00Z')).toEqual(inTime(all))
    expect(await practice.operator.do('audit', 'list', '--record', 'partner 99')).toBe('No lines.\n')
    // A misspelled record is refused. An empty list would suggest that no data of the person was ever read.
    for (const misspelt of ['Member 1', 'member1', 'member 1 ', 'person 1', 'member 01']) {
      const { code, stdout, stderr } = await run('audit', 'list', '--record', misspelt)
      expect([code, stdout, stderr.split('\n').length], misspelt).toEqual([2, '', 2])
    }
  })

  test('audit verify --heads compares the heads that serve has logged, as JSON or text', async () => {
    const { operator, service } = practice
    await eventually('the head of the start', () => service.stderr.includes('audit head'))
    const file = operator.folder.file('heads.log')
    const newest = (await operator.do('audit', 'head')).trim()
    const padding = 'x'.repeat(3 << 20)
    writeFileSync(file, `${service.stderr}${padding}anteroom: audit head ${newest}\n${padding}`)
    expect(await run('audit', 'verify', '--heads', file)).toMatchObject({
      code: 0,
      stdout: `The log is intact up to ${newest}, and agrees with 2 heads.\n`,
    })
    writeFileSync(file, `audit head 1:${'0'.repeat(64)} audit head ${newest}`)
    expect(await run('audit', 'verify', '--heads', file)).toMatchObject({
      code: 8,
      stdout: 'The log is broken at line 1: the line differs from the logged head.\n',
    })
    writeFileSync(file, 'audit head 1:0')
    expect(await run('audit', 'verify', '--heads', file)).toMatchObject({
      code: 2,
      stderr: `error: --heads: ${file} contains no audit head\n`,
    })
  })

  test('audit prune and audit verify refuse a pipe or a folder as the archive', async () => {
    const { path } = practice.operator.folder
    const pipe = practice.operator.folder.file('pipe')
    Bun.spawnSync(['mkfifo', pipe])
    for (const target of [pipe, path]) {
      const pruned = await run(
        'audit',
        'prune',
        '--before',
        '2000-01-01T00:00:00Z',
        '--output',
        target,
        '--yes',
      )
      expect([pruned.code, pruned.stderr]).toEqual([
        2,
        'error: --output: the file already exists\nTry: choose another path\n',
      ])
      const verified = await run('audit', 'verify', '--archive', target)
      expect([verified.code, verified.stdout]).toEqual([
        8,
        'The archive is broken at line 0: the file is not an archive, or its sealed last line was altered.\n',
      ])
    }
  })

  test('audit prune moves lines into an archive while the service runs, and the log and the archive can be verified', async () => {
    const { operator, service, token } = practice
    const archive = operator.folder.file('archive.jsonl')
    const head = (await operator.do('audit', 'head')).trim()
    const wordsFor = (before: string) => [
      'audit',
      'prune',
      '--before',
      before,
      '--output',
      archive,
      '--force',
    ]
    const mistyped = await run(...wordsFor('2099-01-01T00:00:00Z'))
    expect([mistyped.code, mistyped.stderr]).toEqual([2, 'error: --before: must not be in the future\n'])
    // Waits until the second of the last audit line is over, because `--before` takes whole seconds.
    await Bun.sleep(1_100)
    const words = wordsFor(`${new Date().toISOString().slice(0, 19)}Z`)
    expect((await run(...words)).code).toBe(2)
    expect(await run(...words.slice(0, -1), '--yes')).toMatchObject({
      code: 2,
      stderr: `error: --before: audit lines younger than 6 years stay in the log\nTry: use --force if they are not needed here\n`,
    })
    expect(existsSync(archive)).toBe(false)
    expect(await operator.do(...words, '--yes')).toMatch(
      /^Moved \d+ lines to .+archive\.jsonl\. Keep this file/,
    )
    expect((await lines()).filter(({ action }) => action !== 'authentication.refuse')).toMatchObject([
      // The run without --yes also adds an audit line.
      { action: 'audit.prune', outcome: 'not_confirmed' },
      { action: 'audit.prune', outcome: 'field_invalid' },
      { action: 'audit.prune', outcome: 'done' },
    ])
    expect((await service.get('/partners/v1/provider-regions/?country_code=CA', token)).status).toBe(200)
    expect(await operator.do('audit', 'verify')).toStartWith('The log is intact')
    expect(await operator.do('audit', 'verify', '--archive', archive, '--head', head)).toEndWith(
      '; the log continues the archive.\n',
    )
    const noted = await run('audit', 'verify', '--head', head)
    expect([noted.code, noted.stdout]).toEqual([
      8,
      `The log is broken at line ${head.split(':')[0]}: the line of the given head was pruned; verify the archive that contains it.\n`,
    ])
    const text = readFileSync(archive, 'utf8')
    writeFileSync(archive, text.replace('operator', 'somebody'))
    const broken = await run('audit', 'verify', '--archive', archive)
    expect([broken.code, broken.stdout]).toEqual([
      8,
      'The archive is broken at line 2: the line was altered.\n',
    ])
    const nothing = [
      'audit',
      'prune',
      '--before',
      '2000-01-01T00:00:00Z',
      '--output',
      `${archive}-2`,
      '--yes',
    ]
    expect(await operator.do(...nothing)).toBe(
      'There are no audit lines before 2000-01-01T00:00:00Z. Nothing was changed.\n',
    )
    expect(await operator.ask(...nothing)).toEqual({ moved: 0, archive: null })
    // The log identifies records by id. The log contains no personal data, partner name or token.
    const written = `${text}${await operator.do('audit', 'export')}`
    expect(/canary|555 0123|Robin|Sample|Lantern|eyJ/.exec(written)?.[0]).toBeUndefined()
  })
})
