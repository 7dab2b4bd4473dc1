import type { Database } from 'bun:sqlite'

/** What takes a database of each schema back to the one before it, as far as an upgrade can tell. */
const undone: Readonly<Record<number, readonly string[]>> = {
  7: ['DROP TABLE replays'],
  8: [
    'DROP TABLE request_notes',
    'DROP INDEX audit_record',
    'DROP INDEX audit_actor',
    'DROP INDEX audit_action',
    'CREATE INDEX audit_record ON audit (record)',
    'CREATE INDEX audit_actor ON audit (actor)',
    "CREATE INDEX audit_email_conflicts ON audit (actor, at) WHERE action = 'member.email-conflict'",
    'ALTER TABLE providers DROP COLUMN suspended',
    'ALTER TABLE providers DROP COLUMN staff_time_off',
  ],
}

/** Makes of a new database, which is to be empty of requests, one of an older schema, from 6 on. */
export function makeFormer(database: Database, schema: number): void {
  const version = Number(database.query('PRAGMA user_version').values()[0]?.[0])
  // The number of the schema is the lowest byte.
  for (let newer = version & 0xff; newer > schema; newer--) {
    for (const statement of undone[newer] ?? []) database.run(statement)
  }
  database.run("DELETE FROM settings WHERE name = 'migrations'")
  database.run(`PRAGMA user_version = ${(version & ~0xff) | schema}`)
}
