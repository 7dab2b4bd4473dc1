import { describe, expect, test } from 'bun:test'
import {
  type AuditLine,
  type AuditState,
  type AuditVerdict,
  addLine,
  auditActions,
  auditHash,
  auditStart,
  chainOf,
  emptyAudit,
  formatArchiveEnd,
  formatLine,
  formatState,
  parseArchiveEnd,
  parseLine,
  parseState,
} from '../../src/domain/audit'
import { hashes, verifyLines } from '../support/audit-lines'
import { now } from './values'

type Unhashed = Omit<AuditLine, 'hash'>

const entries: Unhashed[] = [
  { id: 1, at: now, actor: 'olive', action: 'organization.add', record: 'organization 1', outcome: 'done' },
  { id: 2, at: now + 1, actor: 'pat', action: 'directory.load', record: null, outcome: 'done' },
  {
    id: 3,
    at: now + 2,
    actor: '::1',
    action: 'authentication.refuse',
    record: null,
    outcome: 'token_invalid',
  },
  { id: 4, at: now + 3, actor: 'olive', action: 'token.issue', record: 'partner 1', outcome: 'done' },
  {
    id: 5,
    at: now + 4,
    actor: '::2',
    action: 'authentication.refuse',
    record: 'partner 1',
    outcome: 'token_invalid, claimed',
  },
]

function chained(lines: readonly Unhashed[], under = hashes, from: AuditState = emptyAudit) {
  let state = from
  const all = lines.map(({ id, ...entry }) => {
    const added = addLine(under, state, id, entry)
    state = added.state
    return added.line
  })
  return { state, lines: all }
}

const { state, lines } = chained(entries)
const head = state.acts.head
const intact: AuditVerdict = { intact: true, head }
const verify = (changed: readonly AuditLine[], noted: typeof head | null = null) =>
  verifyLines(state, changed, noted)

const withLine = (index: number, different: Partial<AuditLine>) =>
  lines.map((line, at) => (at === index ? { ...line, ...different } : line))

describe('domain: an unchanged audit log', () => {
  test('passes the check', () => {
    expect(verify(lines)).toEqual(intact)
    expect(verifyLines(emptyAudit, [], null)).toEqual({ ...intact, head: auditStart })
  })

  test('has two hash chains: refused authentications, and all other actions', () => {
    expect(auditActions.filter((action) => chainOf({ action }) === 'refusals')).toEqual([
      'authentication.refuse',
    ])
    expect([state.acts.head.id, state.refusals.head.id]).toEqual([4, 5])
  })

  test('passes the check with the hash of any line or of the start', () => {
    for (const { id, hash } of [auditStart, ...lines]) expect(verify(lines, { id, hash })).toEqual(intact)
  })

  test('has hashes that depend on the key and the previous hash', () => {
    const [first] = entries as [Unhashed]
    expect(auditHash(hashes, auditStart.hash, first)).not.toBe(auditHash(hashes, 'f'.repeat(64), first))
    const other = { ...hashes, line: (text: string) => hashes.line(`another key ${text}`) }
    expect(verifyLines(state, lines, null, other)).toMatchObject({ intact: false, id: 1 })
  })

  test('passes the check even if the ids have gaps', () => {
    const spaced = chained(entries.map((line) => ({ ...line, id: line.id * 10 })))
    expect(verifyLines(spaced.state, spaced.lines, null)).toMatchObject({ intact: true })
  })
})

describe('domain: the check of a changed audit line', () => {
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

  test('is tested for every field', () => {
    expect(fields.toSorted()).toEqual(Object.keys(lines[0] as AuditLine).sort() as typeof fields)
  })

  test.each(fields)('detects a changed %s', (field) => {
    for (const index of lines.keys()) {
      const verdict = verify(withLine(index, { [field]: other[field] }))
      expect(verdict).toMatchObject({ intact: false })
      if (field !== 'action' && field !== 'id') {
        expect(verdict).toEqual({ intact: false, id: index + 1, fault: 'the line was altered' })
      }
    }
  })

  test('detects any changed field, because every field is part of the hash', () => {
    const line = lines[3] as AuditLine
    const hash = auditHash(hashes, auditStart.hash, line)
    for (const field of fields.filter((name) => name !== 'hash')) {
      expect(auditHash(hashes, auditStart.hash, { ...line, [field]: other[field] }), field).not.toBe(hash)
    }
  })

  test('detects a record replaced by null, and null replaced by the text "null"', () => {
    expect(verify(withLine(0, { record: null }))).toMatchObject({ intact: false, id: 1 })
    expect(verify(withLine(1, { record: 'null' }))).toMatchObject({ intact: false, id: 2 })
  })

  test('detects text that was moved from one field to the next', () => {
    const moved = { actor: 'olive"', action: '"token.issue' as AuditLine['action'] }
    expect(verify(withLine(3, moved))).toMatchObject({ intact: false, id: 4 })
  })
})

describe('domain: a missing or forged audit line is detected:', () => {
  test('a line missing at the beginning or in the middle', () => {
    for (const index of [0, 1, 2]) {
      expect(verify(lines.toSpliced(index, 1))).toEqual({
        intact: false,
        id: index + 1,
        fault: 'the line is missing',
      })
    }
  })

  test('lines missing at the end, even if no earlier hash is given', () => {
    expect(verify(lines.slice(0, 4))).toEqual({
      intact: false,
      id: 5,
      fault: 'the lines from here to line 5 are missing',
    })
    expect(verify(lines.slice(0, 2))).toMatchObject({
      id: 3,
      fault: 'the lines from here to line 4 are missing',
    })
    expect(verify([])).toMatchObject({ intact: false, id: 1 })
  })

  test('a log rewritten with another key', () => {
    const mine = { ...hashes, line: (text: string) => hashes.line(`mine ${text}`) }
    const another = chained(
      entries.map((line) => ({ ...line, actor: 'mallory' })),
      mine,
    )
    expect(verify(another.lines)).toMatchObject({ intact: false, id: 1 })
  })

  test('a log rewritten with the same key, only if an earlier hash is given', () => {
    const another = chained(entries.map((line) => ({ ...line, actor: 'mallory' })))
    expect(verifyLines(another.state, another.lines, null)).toMatchObject({ intact: true })
    for (const { id, hash } of lines) {
      expect(verifyLines(another.state, another.lines, { id, hash })).toEqual({
        intact: false,
        id,
        fault: 'the line differs from the given head',
      })
    }
  })

  test('two swapped lines, and an inserted line', () => {
    const [first, second, ...others] = lines as [AuditLine, AuditLine]
    expect(verify([second, first, ...others])).toMatchObject({ intact: false, id: 1 })
    const inserted = { ...(lines[3] as AuditLine), id: 6 }
    expect(verify([...lines, inserted])).toEqual({
      intact: false,
      id: 6,
      fault: 'the line was altered',
    })
  })

  test('lines that are newer than the seal', () => {
    const older = chained(entries.slice(0, 3)).state
    expect(verifyLines(older, lines, null)).toEqual({
      intact: false,
      id: 4,
      fault: 'the line comes after the sealed end of the log',
    })
  })

  test('an older log with its older seal, only if a newer hash is given', () => {
    const older = chained(entries.slice(0, 3))
    expect(verifyLines(older.state, older.lines, null)).toMatchObject({ intact: true })
    expect(verifyLines(older.state, older.lines, head)).toEqual({
      intact: false,
      id: 4,
      fault: 'the lines up to the given head are missing',
    })
  })
})

describe('domain: a pruned audit log', () => {
  const start = { id: 2, hash: (lines[1] as AuditLine).hash }
  const pruned: AuditState = { ...state, acts: { ...state.acts, start } }
  const rest = lines.slice(2)

  test('passes the check from the new start', () => {
    expect(verifyLines(pruned, rest, null)).toEqual(intact)
    expect(verifyLines(pruned, rest, start)).toEqual(intact)
  })

  test('fails the check if a later line was changed, or if a pruned line is still there', () => {
    const [refusal, line] = rest as [AuditLine, AuditLine, AuditLine]
    expect(verifyLines(pruned, [refusal, { ...line, actor: 'mallory' }], null)).toMatchObject({ id: 4 })
    expect(verifyLines(pruned, rest.toSpliced(1, 1), null)).toMatchObject({ intact: false, id: 4 })
    expect(verifyLines(pruned, rest.toSpliced(0, 1), null)).toMatchObject({ intact: false, id: 3 })
    expect(verifyLines(pruned, lines, null)).toEqual({
      intact: false,
      id: 1,
      fault: 'the line lies in the part that was pruned',
    })
  })

  test('refers to the archive for the hash of a pruned line', () => {
    const noted = { id: 1, hash: (lines[0] as AuditLine).hash }
    expect(verifyLines(pruned, rest, noted)).toEqual({
      intact: false,
      id: 1,
      fault: 'the line of the given head was pruned; verify the archive that contains it',
    })
    expect(verifyLines(pruned, rest, { ...start, hash: 'f'.repeat(64) })).toMatchObject({
      id: 2,
      fault: 'the line differs from the given head',
    })
  })
})

describe('domain: the seal of an audit log', () => {
  test('is read back unchanged, and is rejected after any change', () => {
    const text = formatState(hashes, state)
    expect(parseState(hashes, text)).toEqual(state)
    const { seal, ...spans } = JSON.parse(text)
    for (const chain of ['acts', 'refusals'] as const) {
      for (const end of ['start', 'head'] as const) {
        for (const different of [{ id: 77 }, { hash: 'a'.repeat(64) }]) {
          const changed = structuredClone(spans)
          Object.assign(changed[chain][end], different)
          expect(parseState(hashes, JSON.stringify({ ...changed, seal }))).toBeNull()
        }
      }
    }
    for (const broken of ['', '{}', 'null', '[]', text.slice(1), JSON.stringify(spans)]) {
      expect(parseState(hashes, broken), broken).toBeNull()
    }
  })

  test('of an archive is accepted only for its own chain and not for a log', () => {
    const end = formatArchiveEnd(hashes, { chain: 'acts', ...state.acts })
    expect(parseArchiveEnd(hashes, end)).toEqual({ chain: 'acts', ...state.acts })
    expect(parseArchiveEnd(hashes, end.replace('"acts"', '"refusals"'))).toBeNull()
    expect(parseArchiveEnd(hashes, formatState(hashes, state))).toBeNull()
    expect(parseState(hashes, end)).toBeNull()
    expect(parseArchiveEnd(hashes, 'null')).toBeNull()
  })
})

test('domain: an exported audit line is parsed to the same line', () => {
  for (const line of lines) expect(parseLine(formatLine(line))).toEqual(line)
})
