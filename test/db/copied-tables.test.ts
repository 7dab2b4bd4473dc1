import { describe, expect, test } from 'bun:test'
import { getTableName, is } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { copiedNames, type EngineTable, portionsOf } from '../../db/move/tables'
import { copiedTables as ofPostgres } from '../../db/postgres/copied-tables'
import * as postgresSchema from '../../db/postgres/schema'
import { copiedTables as ofSqlite } from '../../db/sqlite/copied-tables'
import * as sqliteSchema from '../../db/sqlite/schema'

test('a copy has every table of either engine, but for what each keeps for itself', () => {
  const inSqlite = Object.values(sqliteSchema).flatMap((value) => (is(value, SQLiteTable) ? [value] : []))
  const inPostgres = Object.values(postgresSchema).flatMap((value) => (is(value, PgTable) ? [value] : []))
  expect([...copiedNames, 'changes'].sort()).toEqual(inSqlite.map((table) => getTableName(table)).sort())
  expect([...copiedNames, 'changes', 'nodes'].sort()).toEqual(
    inPostgres.map((table) => getTableName(table)).sort(),
  )
})

test('both engines tell the same columns of a table, of the same kinds and in the same order', () => {
  expect(ofPostgres).toEqual(ofSqlite)
  expect(ofSqlite.find(({ name }) => name === 'partner_keys')).toEqual({
    name: 'partner_keys',
    key: ['id'],
    columns: [
      'end_reason',
      'ends_at',
      'id',
      'issued_at',
      'kid',
      'last_used_at',
      'partner_id',
      'record_key',
      'sealed_secret',
      'starts_at',
    ],
    kinds: [
      { name: 'end_reason', kind: 'text' },
      { name: 'ends_at', kind: 'number' },
      { name: 'id', kind: 'number' },
      { name: 'issued_at', kind: 'number' },
      { name: 'kid', kind: 'text' },
      { name: 'last_used_at', kind: 'number' },
      { name: 'partner_id', kind: 'number' },
      { name: 'record_key', kind: 'text' },
      { name: 'sealed_secret', kind: 'bytes' },
      { name: 'starts_at', kind: 'number' },
    ],
  })
})

describe('a table is read in portions', () => {
  const table: EngineTable = {
    name: 'letters',
    key: ['id'],
    columns: ['id', 'text'],
    kinds: [
      { name: 'id', kind: 'number' },
      { name: 'text', kind: 'text' },
    ],
  }
  /** The ids that are told of so many records with a text of so many characters, and how many were asked for each time. */
  async function readAll(count: number, characters: number) {
    const text = 'x'.repeat(characters)
    const asked: number[] = []
    const read = async (isFirst: boolean, values: readonly unknown[]) => {
      const after = isFirst ? 0 : Number(values[0])
      const length = Number(values.at(-1))
      asked.push(length)
      return Array.from({ length: Math.min(length, count - after) }, (_, at) => [after + at + 1, text])
    }
    const ids: unknown[] = []
    for await (const rows of portionsOf(table, read)) ids.push(...rows.map(([id]) => id))
    return { ids, asked }
  }

  test.each([0, 1, 31, 32, 33, 531, 532, 533])('all %i records, each once', async (count) => {
    const { ids } = await readAll(count, 10)
    expect(ids).toEqual(Array.from({ length: count }, (_, at) => at + 1))
  })

  test('of which large ones are fewer at once', async () => {
    expect((await readAll(600, 10)).asked).toEqual([32, 500, 500])
    expect((await readAll(60, 2 ** 18)).asked).toEqual([32, 7, 7, 7, 7, 7])
    expect((await readAll(34, 2 ** 23)).asked).toEqual([32, 1, 1, 1])
  })

  test('and a value that is none of its kind is told with its record', async () => {
    const read = async () => [[3, 4]]
    await expect(Array.fromAsync(portionsOf(table, read))).rejects.toThrow(
      'the record of letters with id 3 is damaged: its text is no text; restore a backup',
    )
  })
})
