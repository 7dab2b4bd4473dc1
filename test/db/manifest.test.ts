import { Database } from 'bun:sqlite'
import { expect, spyOn, test } from 'bun:test'
import { contentOf } from '../../db/sqlite/file/manifest'

const tables = `
  CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
  CREATE TABLE people (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT, b TEXT, c BLOB) STRICT;
  CREATE TABLE pairs (one INTEGER, other INTEGER, PRIMARY KEY (other, one)) STRICT, WITHOUT ROWID;
  INSERT INTO settings VALUES ('purpose', x'01');
  INSERT INTO people (a, b, c) VALUES ('ab', 'c', x'00'), ('x', NULL, NULL);
  INSERT INTO pairs VALUES (1, 2), (2, 1);`

async function hashWith(...changes: string[]) {
  using database = new Database(':memory:')
  for (const change of [tables, ...changes]) database.run(change)
  return contentOf(database, () => {})
}

test('db: the content summary of a database has a row count for each table and a repeatable hash', async () => {
  const content = await hashWith()
  expect(content.counts).toEqual({ pairs: 2, people: 2, settings: 1 })
  expect(content.sha256).toMatch(/^[0-9a-f]{64}$/)
  expect(await hashWith()).toEqual(content)
})

test('db: the content hash depends on the rows, not on the layout of the pages', async () => {
  const content = await hashWith()
  const again = [
    "INSERT INTO people (id, a) VALUES (9, 'x')",
    'DELETE FROM people WHERE id = 9',
    "UPDATE sqlite_sequence SET seq = 2 WHERE name = 'people'",
  ]
  expect(await hashWith(...again, 'VACUUM')).toEqual(content)
  expect(await hashWith("INSERT INTO settings VALUES ('manifest', x'02')")).toEqual(content)
})

test.each([
  ["UPDATE people SET a = 'aB' WHERE id = 1"],
  ["UPDATE people SET a = 'a', b = 'bc' WHERE id = 1"],
  ["UPDATE people SET a = 'a' || char(0) || 'b' WHERE id = 1"],
  ["UPDATE people SET b = '' WHERE id = 2"],
  ["UPDATE people SET b = 'NULL' WHERE id = 2"],
  ["UPDATE people SET c = x'' WHERE id = 2"],
  ["UPDATE people SET c = x'0000' WHERE id = 1"],
  ['UPDATE people SET id = 3 WHERE id = 2'],
  ['UPDATE pairs SET one = 3 WHERE other = 2'],
  ["UPDATE settings SET value = x'02'"],
  ["UPDATE sqlite_sequence SET seq = 99 WHERE name = 'people'"],
  ['DELETE FROM pairs WHERE one = 1'],
  ['CREATE INDEX people_a ON people (a)'],
])('db: the content hash changes after %s', async (change) => {
  const { sha256 } = await hashWith()
  expect((await hashWith(change)).sha256).not.toBe(sha256)
})

test('db: two texts that differ after a NUL character have different content hashes', async () => {
  const withText = (end: string) => hashWith(`UPDATE people SET a = 'a' || char(0) || '${end}' WHERE id = 1`)
  expect((await withText('b')).sha256).not.toBe((await withText('c')).sha256)
})

test('db: hashing a database yields to other work after every 4,096 rows', async () => {
  using database = new Database(':memory:')
  database.run(tables)
  const rows = 10_000
  database.run(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
     INSERT INTO people (a, c) SELECT 'row ' || i, zeroblob(500) FROM n`,
  )
  let [read, turns] = [0, 0]
  const { query } = database
  using _ = spyOn(database, 'query').mockImplementation(((text: string) => {
    const statement = query.call(database, text)
    const { iterate } = statement
    statement.iterate = function* () {
      for (const row of iterate.call(statement)) {
        read++
        yield row
      }
    }
    return statement
  }) as typeof query)
  const portions: { read: number; turns: number; share: number | undefined }[] = []
  const { counts } = await contentOf(database, (_, share) => {
    portions.push({ read, turns, share })
    setImmediate(() => turns++)
  })
  expect(counts.people).toBe(rows + 2)
  const all = 2 + rows + 2 + 1 + 1
  expect(portions).toEqual([
    { read: 4_096, turns: 0, share: 4_096 / all },
    { read: 8_192, turns: 1, share: 8_192 / all },
  ])
})
