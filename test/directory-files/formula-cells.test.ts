import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type CsvCell, formatCsv, guardFormula, readCsv, unguardFormula } from '../../src/directory-files/csv'

/** Any texts. Many contain characters that are special in spreadsheets or CSV. */
const text = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'=+-@\'";,\t\r\n a1＝\u00a0'), maxLength: 8 }),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
)
const bytesOf = (csv: string) => new TextEncoder().encode(csv)
const cellsOf = (csv: string) => readCsv(bytesOf(csv)).map(({ cells }) => cells)

describe('directory-files: a cell that a spreadsheet would run as a formula', () => {
  test.each([
    ["=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"],
    ['-5', "'-5"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1+1', "'\t'=1+1"],
    ['\rx', "'\rx"],
    ['  =1+1', "'  =1+1"],
    ['＝1+1', "'＝1+1"],
    ["'=1", "''=1"],
    ['+1-416-555', "'+1-416-555"],
    ['+ 1', "'+ 1"],
    ['+1\n+1', "'+1\n'+1"],
    ['hello;=1', "hello;'=1"],
    ['hello\n=1', "hello\n'=1"],
  ])('the formula %j is written with a quote that disables it, as %j', (before, after) => {
    expect(guardFormula(before)).toBe(after)
    expect(unguardFormula(after)).toBe(before)
  })

  test.each([
    '',
    'a=b',
    '2026-01-02',
    "'tis",
    "O'Brien",
    'a, -b',
    'one\ntwo',
    '#1',
    '+1 416 555 0100',
    '+14165550100',
  ])('the harmless text %j is written unchanged', (plain) => {
    expect(guardFormula(plain)).toBe(plain)
    expect(unguardFormula(plain)).toBe(plain)
  })

  test('no text is written as a formula, and any text is read back unchanged', () => {
    fc.assert(
      fc.property(text, (before) => {
        const written = guardFormula(before)
        const isPhone = /^\+\d[\d ]*$/.test(written)
        for (const part of written.split(/[;\t\r\n]/))
          expect(!isPhone && /^\s*[=+\-@＝]/.test(part)).toBe(false)
        expect(written).not.toMatch(/^[\t\r\n]/)
        expect(unguardFormula(written)).toBe(before)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('directory-files: CSV rows', () => {
  test('CSV rows are read back as they were written', () => {
    // Each row begins with a text, because a reader skips rows that look empty.
    const rows = fc.array(fc.tuple(fc.constant('row'), text, text), { minLength: 1 })
    fc.assert(
      fc.property(rows, (before) => {
        expect(cellsOf(formatCsv([['a', 'b', 'c'], ...before]))).toEqual([['a', 'b', 'c'], ...before])
      }),
      { numRuns: 1000 },
    )
  })

  test('numbers are written without a quote in front', () => {
    const rows: CsvCell[][] = [
      ['n', 'text', 'is', 'none'],
      [-5, '-5', true, null],
    ]
    expect(formatCsv(rows)).toBe("n,text,is,none\r\n-5,'-5,true,\r\n")
  })
})
