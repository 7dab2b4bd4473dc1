import { describe, expect, test } from 'bun:test'
import { type AuditLine, auditHash, auditStart, verifyLines } from '../../src/domain/audit'
import { now } from './values'

type Told = Omit<AuditLine, 'hash'>

const told: Told[] = [
  { id: 1, at: now, actor: 'olive', action: 'organization.add', record: 'organization 1', outcome: 'done' },
  { id: 2, at: now + 1, actor: 'pat', action: 'directory.load', record: null, outcome: 'done' },
  { id: 3, at: now + 2, actor: 'olive', action: 'token.issue', record: 'partner 1', outcome: 'done' },
  {
    id: 4,
    at: now + 3,
    actor: '::1',
    action: 'authentication.refuse',
    record: null,
    outcome: 'token_invalid',
  },
]

function chained(lines: readonly Told[]): AuditLine[] {
  let last = auditStart
  return lines.map((line) => {
    last = auditHash(last, line)
    return { ...line, hash: last }
  })
}

const lines = chained(told)
const head = { id: 4, hash: lines[3]?.hash as string }

const withLine = (index: number, different: Partial<AuditLine>) =>
  lines.map((line, at) => (at === index ? { ...line, ...different } : line))

describe('lines as they were written', () => {
  test('are intact, up to the last', () => {
    expect(verifyLines(lines, null)).toEqual({ intact: true, head })
    expect(verifyLines([], null)).toEqual({ intact: true, head: { id: 0, hash: auditStart } })
  })

  test('are intact from a head noted at any of them, or before the first', () => {
    for (const { id, hash } of [{ id: 0, hash: auditStart }, ...lines]) {
      expect(verifyLines(lines, { id, hash })).toEqual({ intact: true, head })
    }
  })

  test('have hashes of SHA-256, each over the hash before it', () => {
    for (const { hash } of lines) expect(hash).toMatch(/^[0-9a-f]{64}$/)
    const [first] = told as [Told]
    expect(auditHash(auditStart, first)).not.toBe(auditHash('f'.repeat(64), first))
  })
})

describe('a line of which something else is said is found:', () => {
  const other: { [Field in keyof AuditLine]: AuditLine[Field] } = {
    id: 9,
    at: 0,
    actor: 'mallory',
    action: 'member.erase',
    record: 'partner 2',
    outcome: 'refused',
    hash: 'a'.repeat(64),
  }
  const fields = Object.keys(other) as (keyof AuditLine)[]

  test('these are all that a line has', () => {
    expect(fields.toSorted().join()).toBe(
      Object.keys(lines[0] as AuditLine)
        .sort()
        .join(),
    )
  })

  test.each(fields)('its %s', (field) => {
    for (const index of lines.keys()) {
      const verdict = verifyLines(withLine(index, { [field]: other[field] }), null)
      expect(verdict).toEqual({
        intact: false,
        id: index + 1,
        fault: field === 'id' ? 'the line is missing' : 'the line is not as it was written',
      })
    }
  })

  test('its record, where there is none now or was none', () => {
    expect(verifyLines(withLine(0, { record: null }), null)).toMatchObject({ intact: false, id: 1 })
    expect(verifyLines(withLine(1, { record: 'null' }), null)).toMatchObject({ intact: false, id: 2 })
  })

  test('words that moved from one field to the next', () => {
    const moved = { actor: 'olive"', action: '"token.issue' as AuditLine['action'] }
    expect(verifyLines(withLine(2, moved), null)).toMatchObject({ intact: false, id: 3 })
  })
})

describe('lines that are gone are found:', () => {
  test('one at the beginning or in the middle', () => {
    for (const index of [0, 1, 2]) {
      expect(verifyLines(lines.toSpliced(index, 1), null)).toEqual({
        intact: false,
        id: index + 1,
        fault: 'the line is missing',
      })
    }
  })

  test('those at the end, by a head that was noted before', () => {
    const fault = 'the lines up to the one noted are missing'
    expect(verifyLines(lines.slice(0, 3), head)).toEqual({ intact: false, id: 4, fault })
    expect(verifyLines(lines.slice(0, 1), head)).toEqual({ intact: false, id: 2, fault })
    expect(verifyLines([], head)).toEqual({ intact: false, id: 1, fault })
  })

  test('and so is a log that was written anew, by its head', () => {
    const another = chained(told.map((line) => ({ ...line, actor: 'mallory' })))
    expect(verifyLines(another, null)).toMatchObject({ intact: true })
    expect(verifyLines(another, head)).toEqual({
      intact: false,
      id: 4,
      fault: 'the line is not the one noted',
    })
  })

  test('and so are two that changed places', () => {
    const [first, second, ...others] = lines as [AuditLine, AuditLine]
    expect(verifyLines([second, first, ...others], null)).toMatchObject({ intact: false, id: 1 })
  })
})
