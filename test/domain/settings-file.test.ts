import { expect, test } from 'bun:test'
import { readSettingsLines } from '../../src/setting-sources'

const pairs = (text: string) => readSettingsLines(text).lines.map(({ name, value }) => [name, value])

test.each<[string, string]>([
  ['A=b', 'b'],
  ['  A=b  ', 'b'],
  ['A=', ''],
  ['A=b c # d', 'b c # d'],
  ['A=b=c', 'b=c'],
  ['A="b  c "', 'b  c '],
  ["A='b \\ c'", 'b \\ c'],
  ['A="b \\" \\\\ \\$ \\n"', 'b " \\ $ \\n'],
  ['A=b\\ c', 'b c'],
  ['A=b\\\n  c', 'b  c'],
  ['A="b\\\nc"', 'bc'],
  ['A=b\r\n', 'b'],
  ['\uFEFFA=b', 'b'],
])('domain: the settings line %p sets %p', (text, value) => {
  expect(readSettingsLines(text)).toEqual({ lines: [{ line: 1, name: 'A', value }], faults: [] })
})

test('domain: comments and empty lines of a settings file are skipped, and line numbers stay correct', () => {
  const text = '# A=1\n; A=2\n\n   # A=3 \\\nA=4\nB=\\\n5\nC=6\n'
  expect(readSettingsLines(text)).toEqual({
    lines: [
      { line: 5, name: 'A', value: '4' },
      { line: 6, name: 'B', value: '5' },
      { line: 8, name: 'C', value: '6' },
    ],
    faults: [],
  })
})

test('domain: faults of a settings file are reported with their line and without values', () => {
  const text = 'secret\nA=1\nA=secret\nexport B=1\nC="secret\nD="secret" more\n=secret\nE=2'
  expect(readSettingsLines(text).faults).toEqual([
    'line 1: must be NAME=value without spaces before =, or a comment',
    'line 3: A: is set twice',
    'line 4: must be NAME=value without spaces before =, or a comment',
    'line 5: C: a quotation mark is not closed, or text follows it',
    'line 6: D: a quotation mark is not closed, or text follows it',
    'line 7: must be NAME=value without spaces before =, or a comment',
  ])
  expect(pairs(text)).toEqual([
    ['A', '1'],
    ['E', '2'],
  ])
})
