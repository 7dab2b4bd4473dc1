import { describe, expect, test } from 'bun:test'
import { type GiveWay, layOut, shorten, wrap } from '../../src/cli/terminal/layout'

const titles = ['ID', 'STATE', 'SLOT', 'NAME', 'PARTNER', 'ZONE']
const rows = [
  [
    '1',
    'unassigned',
    '2026-11-22T02:11:18Z',
    'Ada Lovelace of the Analytical Engine',
    'Quietwater Care',
    'America/Toronto',
  ],
  ['10000', 'accepted', '-', '渡辺 渡辺 渡辺 渡辺 渡辺 渡辺', 'Lantern 👩‍⚕️', 'Europe/Lisbon'],
]

function linesOf(width: number, giveWay?: GiveWay, cells: readonly (readonly string[])[] = rows): string[] {
  const layout = layOut(titles, cells, width, giveWay)
  return [layout.titles, ...layout.rows.flat()].map((line) => line.join('  ').trimEnd())
}

const widest = (lines: readonly string[]) => Math.max(...lines.map((line) => Bun.stringWidth(line)))

describe('cli: a table', () => {
  test('is as wide as its cells if there is room', () => {
    expect(linesOf(Number.POSITIVE_INFINITY)).toEqual([
      'ID     STATE       SLOT                  NAME                                   PARTNER          ZONE',
      '1      unassigned  2026-11-22T02:11:18Z  Ada Lovelace of the Analytical Engine  Quietwater Care  America/Toronto',
      '10000  accepted    -                     渡辺 渡辺 渡辺 渡辺 渡辺 渡辺          Lantern 👩‍⚕️       Europe/Lisbon',
    ])
  })

  test('shortens its widest text first, but never an id, a state or an instant', () => {
    expect(linesOf(100)).toEqual([
      'ID     STATE       SLOT                  NAME                       PARTNER          ZONE',
      '1      unassigned  2026-11-22T02:11:18Z  Ada Lovelace of the Anal…  Quietwater Care  America/Toronto',
      '10000  accepted    -                     渡辺 渡辺 渡辺 渡辺 渡辺…  Lantern 👩‍⚕️       Europe/Lisbon',
    ])
  })

  test('leaves out as few of its last columns as necessary', () => {
    expect(linesOf(80)).toEqual([
      'ID     STATE       SLOT                  NAME                    PARTNER',
      '1      unassigned  2026-11-22T02:11:18Z  Ada Lovelace of the A…  Quietwater Care',
      '10000  accepted    -                     渡辺 渡辺 渡辺 渡辺…    Lantern 👩‍⚕️',
    ])
    expect(layOut(titles, rows, 80).leftOut).toEqual(['ZONE'])
    expect(layOut(titles, rows, 60).leftOut).toEqual(['ZONE', 'PARTNER'])
    expect(layOut(titles, rows, 60, { leaveOut: ['PARTNER', 'SLOT'] }).leftOut).toEqual(['SLOT'])
  })

  test('leaves out the columns named in leaveOut first', () => {
    expect(layOut(titles, rows, 80, { leaveOut: ['SLOT'] }).leftOut).toEqual(['SLOT'])
    expect(layOut(titles, rows, 50, { leaveOut: ['SLOT', 'PARTNER'] }).leftOut).toEqual(['SLOT', 'PARTNER'])
  })

  test('always keeps its first column and the columns STATE and RISK', () => {
    const layout = layOut(
      ['REF', 'RISK', 'NAME', 'STATE'],
      [['a-long-reference', 'item 9', 'Ada', 'accepted']],
      10,
      {
        leaveOut: ['REF', 'STATE', 'RISK'],
      },
    )
    expect(layout).toEqual({
      titles: ['REF             ', 'RISK  ', 'STATE   '],
      rows: [[['a-long-reference', 'item 9', 'accepted']]],
      leftOut: ['NAME'],
    })
  })

  test('wraps the text of a DETAIL cell inside its column', () => {
    const detail = 'on-001 is away; tell them, then anteroom request acknowledge 17'
    const layout = layOut(['CHECK', 'STATE', 'DETAIL'], [['booked times', 'bad', detail]], 50, {
      fold: ['DETAIL'],
    })
    expect(layout.rows[0]?.map((line) => line.join('  ').trimEnd())).toEqual([
      'booked times  bad    on-001 is away; tell them,',
      '                     then anteroom request',
      '                     acknowledge 17',
    ])
  })

  test('is never wider than the terminal, if its required columns fit', () => {
    for (let width = 40; width < 130; width++) {
      expect(widest(linesOf(width)), String(width)).toBeLessThanOrEqual(width)
      expect(widest(linesOf(width, { fold: ['NAME'] })), String(width)).toBeLessThanOrEqual(width)
    }
  })
})

test('cli: the DETAIL column of a table is wrapped, never shortened, even without options', () => {
  const layout = layOut(
    ['CHECK', 'DETAIL'],
    [['booked times', 'tell them, then anteroom request acknowledge 17']],
    40,
  )
  expect(layout.rows[0]?.map((line) => line.join('  ').trimEnd())).toEqual([
    'booked times  tell them, then anteroom',
    '              request acknowledge 17',
  ])
})

test('cli: a text is shortened between visible characters', () => {
  expect(shorten('渡辺渡辺', 8)).toBe('渡辺渡辺')
  expect(shorten('渡辺渡辺', 6)).toBe('渡辺…')
  expect(shorten('ab👩‍⚕️cd', 4)).toBe('ab…')
  expect(shorten('ab👩‍⚕️cd', 5)).toBe('ab👩‍⚕️…')
  expect(shorten('Zoe\u0301 Lee', 4)).toBe('Zoe\u0301…')
})

test('cli: a text is wrapped between words, and inside a word that is too long', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
  expect(wrap('abcdefghij kl', 4)).toEqual(['abcd', 'efgh', 'ij', 'kl'])
  expect(wrap('渡辺渡辺 渡', 5)).toEqual(['渡辺', '渡辺', '渡'])
})

test('cli: a time column is left out rather than shortened, because part of a time misleads', () => {
  const texts = ['8', 'Sat 2026-10-31 22:30 St Johns', 'Ada Lovelace of the Engine']
  const shown = (width: number) =>
    layOut(['ID', 'TIME', 'PERSON'], [texts], width, { leaveOut: ['TIME'], whole: ['TIME'] })
  expect(shown(50).rows[0]?.[0]?.join('  ')).toBe('8   Sat 2026-10-31 22:30 St Johns  Ada Lovelace o…')
  expect(shown(40)).toMatchObject({ leftOut: ['TIME'], rows: [[['8 ', 'Ada Lovelace of the Engine']]] })
})
