import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { formatJson, oneLine } from '../../src/cli/terminal/output'
import { booking, provider, region } from '../support/builders'
import { Operator, type Served } from '../support/operator'

// Slow: each command starts a process.
setDefaultTimeout(300_000)

/**
 * Characters that control a terminal, reorder text or are invisible: a color, CSI in one C1 byte, an OSC
 * title, a bidi override, a zero-width space, a soft hyphen, a filler, a variation selector and a tag.
 */
const trick = '\u001b[31m\u009b2J\u001b]0;x\u0007\u202e\u2066\u200f\u2028\u200b\u00ad\u3164\ufe0f\u{e0041}'
const named = (name: string) => `${name}${trick}${name}`

// Matches a control or invisible character. Line ends are allowed: \n, and \r\n in CSV.
const raw = /[^\P{Cc}\n]|[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u
const isRaw = (text: string) => raw.test(text.replaceAll('\r\n', '\n'))

const operator = new Operator()
let service: Served
const slot = { providerId: 1, utcStartTime: '' }

beforeAll(async () => {
  await operator.do('init')
  await operator.do('organization', 'add', 'North')
  await operator.do('partner', 'add', 'Lantern', '--organization', 'North')
  const token = (await operator.do('token', 'issue', 'Lantern')).trim()
  const everyDay = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
  const providers = [named('one'), named('two')].map((ref) =>
    provider(ref, {
      firstName: named('First'),
      lastName: named('Last'),
      bio: named('Bio'),
      credentials: named('RSW'),
      workingHours: [{ weekdays: [...everyDay], start: '09:00', end: '17:00' }],
      timeOff: [{ from: '2099-01-01', until: '2099-01-02' }],
    }),
  )
  const regions = [
    region({ stateProvinceNameLocal: named('Ontario'), stateProvinceLabel: named('Province') }),
  ]
  await operator.loadDirectory({ regions, providers })
  service = await operator.serve()
  const { body } = await service.get('/partners/v1/providers/?region_id=1', token)
  slot.utcStartTime = body.results[0].availability[3].utcStartTime
  const memberData = {
    firstName: named('Robin'),
    lastName: named('Sample'),
    state: named('ON'),
    preferredModality: named('video'),
    reasonForSeekingSupport: named('reason'),
  }
  const second = booking(named('b'), undefined, { ...memberData, email: 'b@example.com' })
  for (const request of [booking('a', slot, memberData), second]) {
    const phq9Data = [{ question: named('question'), answer: named('answer') }]
    expect((await service.post({ ...request, phq9Data }, token)).status).toBe(201)
  }
  // Writes the names directly to the database, because the commands refuse names with control characters.
  const database = new Database(operator.database)
  database.run('UPDATE organizations SET name = ?', [named('North')])
  database.run('UPDATE partners SET name = ?', [named('Lantern')])
  database.run('DROP TRIGGER audit_keeps_words')
  database.run('UPDATE audit SET actor = ? WHERE id = 1', [named('operator')])
  database.close()
})

afterAll(async () => {
  await service?.[Symbol.asyncDispose]()
  operator[Symbol.dispose]()
})

describe('cli: output and errors', () => {
  const commands: string[][] = [
    ['organization', 'list'],
    ['organization', 'reactivate', '1'],
    ['partner', 'list'],
    ['partner', 'show', '1'],
    ['partner', 'reactivate', '1'],
    ['partner', 'set-organization', '1', '1'],
    ['partner', 'set-rates', '1', '--reads-per-minute', '30000'],
    ['provider', 'list'],
    ['provider', 'show', '1'],
    ['provider', 'slots', '1'],
    ['provider', 'why', '1', '2026-12-01T14:00:00Z'],
    ['provider', 'time-off', 'list', '1'],
    ['provider', 'reactivate', '1'],
    ['request', 'list'],
    ['request', 'list', '--intakes'],
    ['request', 'show', '1', '--screening'],
    ['request', 'suggest', '2'],
    ['request', 'assign', '2', '--provider', '2', '--yes'],
    ['member', 'show', '2'],
    ['member', 'find', 'robin'],
    ['member', 'find', 'b@example.com'],
    ['appointments'],
    ['status'],
    ['request', 'list', '--risk'],
    ['audit', 'list', '--member', '2'],
    ['token', 'list'],
    ['provider', 'away', '1', '2097-01-01', '2097-01-02'],
    ['member', 'show', '--partner', '1', '--external-id', named('b')],
    ['member', 'export', '2'],
    ['directory', 'export'],
    ['audit', 'list'],
    ['audit', 'export'],
    ['doctor'],
  ]

  test.each(commands.map((words) => [words.map(oneLine).join(' '), words] as const))(
    'the output of %s contains no control character, even if stored names contain control characters',
    async (_, words) => {
      const { code, stdout, stderr } = await operator.run(words)
      // Doctor fails, because an audit line was altered above.
      expect(code).toBe(words[0] === 'doctor' ? 8 : 0)
      expect({ stdout: isRaw(stdout), stderr: isRaw(stderr) }).toEqual({ stdout: false, stderr: false })
      const asJson = await operator.run([...words, '--json'])
      // Some commands have no --json.
      if (asJson.code === 2) return expect(asJson.stderr).toContain('unknown option')
      expect(isRaw(asJson.stdout)).toBe(false)
      expect(asJson.stdout).not.toBe('')
      JSON.parse(asJson.stdout)
    },
  )

  test('the error of a refused command contains no control character', async () => {
    const faulty = operator.folder.file('faulty.json')
    writeFileSync(faulty, JSON.stringify({ regions: [], providers: [{ [named('x')]: 1 }] }))
    const strange: string[][] = [
      ['directory', 'check', faulty],
      ['directory', 'check', faulty, '--json'],
      ['directory', 'check', named('none')],
      ['directory', 'load', named('none.csv')],
      ['provider', 'why', named('one'), '2020-01-01T00:00:00Z', '--database', named('none')],
      ['provider', 'why', '1', trick],
      ['request', 'assign', '2', '--provider', '2', '--slot', '2020-01-01T00:00:00Z', '--yes'],
      ['organization', 'add', named('North')],
      [named('organization')],
      ['--database', trick],
    ]
    for (const words of strange) {
      const { code, stdout, stderr } = await operator.run(words)
      expect(code, words.join(' ')).toBeGreaterThan(1)
      expect([isRaw(stdout), isRaw(stderr)], words.join(' ')).toEqual([false, false])
      expect(stdout + stderr).not.toBe('')
    }
  })

  test('the error for a path with a symbolic link loop or an overlong name states the reason', async () => {
    const loop = operator.folder.file('loop')
    symlinkSync(loop, loop)
    const long = operator.folder.file('x'.repeat(300))
    expect(await operator.run(['organization', 'list', '--database', loop])).toMatchObject({
      code: 1,
      stderr: `error: ${loop}: the path contains a loop of symbolic links\n`,
    })
    expect(await operator.run(['backup', long])).toMatchObject({
      code: 1,
      stderr: `error: ${long}: the path is too long\n`,
    })
  })

  test('JSON contains control characters as escapes, on stdout and in a file', async () => {
    const [first] = await operator.ask<{ firstName: string }[]>('provider', 'list')
    expect(first?.firstName).toBe(named('First'))
    expect(await operator.do('partner', 'list', '--json')).toContain(
      String.raw`Lantern\u001b[31m\u009b2J\u001b]0;x\u0007\u202e\u2066\u200f\u2028\u200b\u00ad\u3164\ufe0f\udb40\udc41Lantern`,
    )
    const file = operator.folder.file('member.json')
    await operator.do('member', 'export', '2', '--output', file)
    const text = readFileSync(file, 'utf8')
    expect(isRaw(text)).toBe(false)
    expect(JSON.parse(text).member.firstName).toBe(named('Robin'))
    expect(JSON.parse(text).requests[0].screeningAnswers).toEqual([
      { question: named('question'), answer: named('answer') },
    ])
  })

  test('the columns of a table are as wide as the escaped text that is printed', async () => {
    const lines = (await operator.do('organization', 'list')).trimEnd().split('\n')
    expect(lines).toEqual([
      `ID  NAME${' '.repeat(oneLine(named('North')).length - 4)}  STATE`,
      `1   ${oneLine(named('North'))}  active`,
    ])
  })
})

test('cli: oneLine keeps ordinary text and replaces control characters', () => {
  expect(oneLine('Zoë  Ōe\t渡辺\n\u001b[1m\u0085x\u2028y')).toBe('Zoë  Ōe 渡辺 [1m x y')
  expect(oneLine('שלום مرحبا 👩‍⚕️')).toBe('שלום مرحبا 👩‍⚕️')
})

test('cli: oneLine and formatJson escape invisible characters, so that similar names look different', () => {
  const shown: [name: string, shown: string][] = [
    ['Ro\u200bbin', String.raw`Ro\u200bbin`],
    ['\u202enibor', String.raw`\u202enibor`],
    ['Robin\u00ad', String.raw`Robin\u00ad`],
    ['x\u061cy\u2060z\ufeff', String.raw`x\u061cy\u2060z\ufeff`],
    ['می\u200cخواهم', 'می\\u200cخواهم'],
    ['Robin\ufe0f', String.raw`Robin\ufe0f`],
    ['Robin\u{e0101}\u{e0041}', String.raw`Robin\udb40\udd01\udb40\udc41`],
    ['\u3164\u115f\uffa0', String.raw`\u3164\u115f\uffa0`],
    ['a\u200d', String.raw`a\u200d`],
  ]
  for (const [name, escaped] of shown) {
    expect(oneLine(name)).toBe(escaped)
    expect(oneLine(oneLine(name))).toBe(escaped)
    expect(formatJson(name)).toBe(`"${escaped}"`)
    expect(JSON.parse(formatJson(name))).toBe(name)
  }
  // Joiners and selectors within an emoji are not escaped.
  for (const emoji of ['👩‍⚕️', '🏳️‍🌈', '👍🏽', '1️⃣', '🏴󠁧󠁢󠁥󠁮󠁧󠁿']) expect(oneLine(emoji)).toBe(emoji)
})

test('cli: formatJson escapes every control character, and the JSON has the same value', () => {
  const all = Array.from({ length: 0x2100 }, (_, code) => String.fromCharCode(code)).join('')
  expect(isRaw(formatJson(all))).toBe(false)
  expect(JSON.parse(formatJson({ [all]: all }, 2))).toEqual({ [all]: all })
})
