import { describe, expect, test } from 'bun:test'
import { getTableColumns, getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { fromLine, linesOf, rowsAtOnce, toLine } from '../../db/move/rows'
import { copiedTables, tableNamed } from '../../db/move/tables'
import { tables } from '../../db/postgres/session'

const inPostgres = Object.values(tables) as unknown as readonly PgTable[]

test('db: a copy contains every table except the tables internal to an engine', () => {
  const names = copiedTables.map(({ name }) => name)
  expect([...names, 'changes'].sort()).toEqual(inPostgres.map((table) => getTableName(table)).sort())
})

test('db: PostgreSQL has the columns that a copy contains, with the same types', () => {
  const kinds = { boolean: 'flag', bytea: 'bytes', text: 'text', bigint: 'number' } as Record<string, string>
  for (const { name, columns } of copiedTables) {
    const table = inPostgres.find((each) => getTableName(each) === name) as PgTable
    const described = Object.values(getTableColumns(table)).map((column) => ({
      name: column.name,
      kind: kinds[column.getSQLType()],
    }))
    expect({ name, columns: described }).toEqual({ name, columns: [...columns] } as never)
  }
})

test('db: a table description contains the columns, the key, and whether the engine generates the ids', () => {
  expect(tableNamed('request_notes')).toEqual({
    name: 'request_notes',
    key: ['id'],
    generatesIds: true,
    columns: [
      { name: 'id', kind: 'number' },
      { name: 'record_key', kind: 'text' },
      { name: 'request_id', kind: 'number' },
      { name: 'kind', kind: 'text' },
      { name: 'at', kind: 'number' },
      { name: 'actor', kind: 'text' },
      { name: 'sealed_text', kind: 'bytes' },
    ],
  })
  expect(tableNamed('in_person_regions').key).toEqual(['provider_id', 'region_id'])
  expect(copiedTables.filter(({ generatesIds }) => !generatesIds).map(({ name }) => name)).toEqual([
    'settings',
    'regions',
    'in_person_regions',
    'request_positions',
    'replays',
    'unread_risks',
    'audit',
  ])
})

describe('db: a row as a line of JSON', () => {
  const table = {
    name: 'letters',
    key: ['id'],
    generatesIds: true,
    columns: [
      { name: 'id', kind: 'number' },
      { name: 'text', kind: 'text' },
      { name: 'sealed', kind: 'bytes' },
      { name: 'read', kind: 'flag' },
    ],
  } as const

  test('a row becomes the same JSON line for all types of a driver', () => {
    const line = '{"id":3,"text":"one\\n","sealed":"\\\\x01ff","read":true}'
    expect(toLine(table, [3, 'one\n', Uint8Array.of(1, 255), 1])).toBe(line)
    expect(toLine(table, ['3', 'one\n', Buffer.of(1, 255), true])).toBe(line)
    expect(fromLine(table, line)).toEqual([3, 'one\n', Buffer.of(1, 255), true])
    const empty = '{"id":3,"text":null,"sealed":null,"read":false}'
    expect(toLine(table, [3n, null, null, 0])).toBe(empty)
    expect(fromLine(table, empty)).toEqual([3, null, null, false])
  })

  test.each([
    ['text', 'text', [3, 4, null, true]],
    ['sealed', 'bytes', [3, 'one', 'x', true]],
    ['read', 'flag', [3, 'one', null, 2]],
  ])('a damaged value in column %s is rejected with the key of its row', (column, kind, values) => {
    expect(() => toLine(table, values)).toThrow(
      `the record of letters with id 3 is damaged (${column} is not of type ${kind}); restore a backup`,
    )
  })
})

test.each([0, 1, rowsAtOnce - 1, rowsAtOnce, rowsAtOnce + 1, 2 * rowsAtOnce])(
  'db: copying reads each of %i rows once, in batches',
  async (count) => {
    const batches: number[] = []
    const run = async (_: string, params: readonly unknown[]) => {
      const after = Number(params[0] ?? 0)
      const length = Math.min(rowsAtOnce, count - after)
      batches.push(length)
      return Array.from({ length }, (_, at) => [after + at + 1, 2])
    }
    const lines = (await Array.fromAsync(linesOf(run, 'in_person_regions'))).flat()
    expect(lines.map((line) => JSON.parse(line).provider_id)).toEqual(
      Array.from({ length: count }, (_, at) => at + 1),
    )
    expect(Math.max(...batches)).toBeLessThanOrEqual(rowsAtOnce)
  },
)
