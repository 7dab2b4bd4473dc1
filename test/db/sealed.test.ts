import type { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { newKey } from '../../src/auth/token'
import { Refusal } from '../../src/domain/errors'
import type { Engine } from '../../src/domain/ports/database'
import { Folder } from '../support/folder'
import { actAt, type Connection, draftOf, versionOf } from './furniture'
import { openTestDatabase, openTestEngine } from './place'

/** Opens an engine with two partners. Each partner has a key, and members with intakes. */
async function furnished(folder: Folder): Promise<Connection> {
  const engine = openTestEngine(folder.file('a.sqlite'))
  const { store } = engine
  for (const name of ['One', 'Two']) {
    const { id } = await store.addPartner(name, null, actAt(0))
    await store.issueKey(id, { ...newKey(), startsAt: 0 }, actAt(0))
  }
  const submit = async (externalUserId: string, submittedAt: number, partnerId = 1) =>
    store.submit(
      draftOf(externalUserId, {
        partnerId,
        screeningAnswers: [{ question: 'Q', answer: 'an answer of a member' }],
        retry: { key: `${externalUserId} at ${submittedAt}`, body: '{}' },
        submittedAt,
        version: await versionOf(engine),
      }),
    )
  await submit('m-1', 0)
  await submit('m-2', 0)
  await submit('m-1', 1)
  await submit('m-3', 1, 2)
  await store.addNote(1, 'written by staff', actAt(2))
  await store.addNote(2, 'written by staff too', actAt(2))
  return engine
}

/** Each row contains a change by an attacker, and the read that must fail after the change. */
const moves: [what: string, move: string, ask: (engine: Connection) => Promise<unknown>, refused: RegExp][] =
  [
    [
      'screening answers moved into the secret of a key together with their record key',
      `UPDATE partner_keys SET (record_key, sealed_secret) =
       (SELECT record_key, sealed_screening_answers FROM booking_requests) WHERE id = 1`,
      opensAll,
      /^cannot be opened: key [\w-]+(, key [\w-]+)?$/,
    ],
    [
      'a secret moved into screening answers',
      `UPDATE booking_requests SET (record_key, sealed_screening_answers) =
       (SELECT record_key, sealed_secret FROM partner_keys WHERE id = 1) WHERE id = 1`,
      ({ store }) => store.readScreening(1, actAt(0)),
      /^the sealed data of request 1 was altered; restore a backup$/,
    ],
    [
      'a secret moved to another partner',
      'UPDATE partner_keys SET partner_id = 3 - partner_id',
      opensAll,
      /^cannot be opened: key [\w-]+(, key [\w-]+)?$/,
    ],
    [
      'a secret whose kid was changed',
      "UPDATE partner_keys SET kid = 'another' WHERE id = 1",
      opensAll,
      /^cannot be opened: key another$/,
    ],
    [
      'the data key moved into a secret',
      `UPDATE partner_keys SET record_key = 'data_key',
       sealed_secret = (SELECT value FROM settings WHERE name = 'data_key') WHERE id = 1`,
      opensAll,
      /^cannot be opened: key [\w-]+(, key [\w-]+)?$/,
    ],
    [
      'the screening answers of one member moved to a request of another member',
      `UPDATE booking_requests SET (record_key, sealed_screening_answers) =
       (SELECT record_key, sealed_screening_answers FROM was WHERE id = 2) WHERE id = 1`,
      ({ store }) => store.readScreening(1, actAt(0)),
      /^the sealed data of request 1 was altered; restore a backup$/,
    ],
    [
      'screening answers moved to another request of the same member',
      `UPDATE booking_requests SET (record_key, sealed_screening_answers) =
       (SELECT record_key, sealed_screening_answers FROM was WHERE id = 3) WHERE id = 1`,
      ({ store }) => store.readScreening(1, actAt(0)),
      /^the sealed data of request 1 was altered; restore a backup$/,
    ],
    [
      'a profile moved to another member together with its record key',
      `UPDATE members SET (record_key, sealed_external_user_id, sealed_profile) =
       (SELECT record_key, sealed_external_user_id, sealed_profile FROM members_was WHERE id = 2) WHERE id = 1`,
      ({ store }) => store.findMember(1, 'm-1'),
      /^the sealed data of member 1 was altered; restore a backup$/,
    ],
    [
      'an external id moved into a profile',
      'UPDATE members SET sealed_profile = sealed_external_user_id WHERE id = 1',
      ({ store }) => store.findMember(1, 'm-1'),
      /^the sealed data of member 1 was altered; restore a backup$/,
    ],
    [
      'a member moved to another partner',
      'UPDATE members SET partner_id = 2 WHERE id = 1',
      async ({ store }) => {
        await store.exportMember(1, actAt(0))
      },
      /^the sealed data of member 1 was altered; restore a backup$/,
    ],
    [
      'a retry receipt stored in the row of another request',
      `UPDATE replays SET sealed_receipt = (SELECT sealed_receipt FROM replays WHERE request_id = 2)
       WHERE request_id = 1`,
      opensAll,
      /^cannot be opened: the response to request 1$/,
    ],
    [
      'a retry receipt whose row was moved to another request',
      'DELETE FROM replays WHERE request_id = 2; UPDATE replays SET request_id = 2 WHERE request_id = 1',
      opensAll,
      /^cannot be opened: the response to request 2$/,
    ],
    [
      'a retry receipt whose idempotency key was changed',
      `UPDATE replays SET key_hash = x'${'09'.repeat(32)}' WHERE request_id = 3`,
      opensAll,
      /^cannot be opened: the response to request 3$/,
    ],
    [
      'a retry receipt whose body hash was changed',
      `UPDATE replays SET body_hash = x'${'08'.repeat(32)}' WHERE request_id = 3`,
      opensAll,
      /^cannot be opened: the response to request 3$/,
    ],
    [
      'a retry receipt moved to another partner',
      'UPDATE replays SET partner_id = 1 WHERE request_id = 4',
      opensAll,
      /^cannot be opened: the response to request 4$/,
    ],
    [
      'a retry receipt whose submission time was changed',
      'UPDATE replays SET submitted_at = 2 WHERE request_id = 1',
      opensAll,
      /^cannot be opened: the response to request 1$/,
    ],
    [
      'a retry receipt moved into screening answers',
      `UPDATE booking_requests SET sealed_screening_answers =
       (SELECT sealed_receipt FROM replays WHERE request_id = 1) WHERE id = 1`,
      ({ store }) => store.readScreening(1, actAt(0)),
      /^the sealed data of request 1 was altered; restore a backup$/,
    ],
    [
      'a note moved to another request',
      'UPDATE request_notes SET request_id = 3 - request_id',
      ({ store }) => store.readNotes(1, actAt(0)),
      /^the sealed data of note 2 was altered; restore a backup$/,
    ],
    [
      'a note whose author was changed',
      "UPDATE request_notes SET actor = 'another' WHERE id = 1",
      opensAll,
      /^cannot be opened: note 1$/,
    ],
    [
      'a note changed into the reason of a decline',
      "UPDATE request_notes SET kind = 'decline' WHERE id = 1",
      opensAll,
      /^cannot be opened: note 1$/,
    ],
  ]

async function opensAll(engine: Connection): Promise<void> {
  const findings = await (engine as unknown as Engine).maintenance.check(0)
  const found = findings.find(({ check }) => check === 'sealed values')
  if (found?.state === 'bad') throw new Refusal('database_unusable', found.detail)
}

/** Copies a table. Record keys must be unique, so the original table gets other keys. */
function copyAside(database: Database, table: string, to: string): void {
  database.run(`CREATE TABLE ${to} AS SELECT * FROM ${table}`)
  database.run(`UPDATE ${table} SET record_key = record_key || '-was' WHERE id > 1`)
}

describe('db: sealed values are bound to their place in the database', () => {
  test.each(moves)('%s cannot be decrypted', async (_, move, ask, refused) => {
    using folder = new Folder()
    const engine = await furnished(folder)
    await ask(engine)
    const database: Database = openTestDatabase(folder.file('a.sqlite'))
    database.run('DROP INDEX partner_keys_open')
    if (/FROM was\b/.test(move)) copyAside(database, 'booking_requests', 'was')
    if (/FROM members_was\b/.test(move)) copyAside(database, 'members', 'members_was')
    database.run(move)
    database.close()
    const refusal = await ask(engine).then(
      () => ({ kind: 'nothing', message: '' }),
      ({ kind, message }) => ({ kind, message }),
    )
    expect(refusal).toEqual({ kind: 'database_unusable', message: expect.stringMatching(refused) })
    await engine.close()
  })
})

test('db: retry receipts do not reveal that two bodies with different keys are equal', async () => {
  using folder = new Folder()
  const engine = await furnished(folder)
  using database = openTestDatabase(folder.file('a.sqlite'))
  const distinct = 'SELECT count(*), count(DISTINCT body_hash), count(DISTINCT key_hash) FROM replays'
  expect(database.query(distinct).values()).toEqual([[4, 4, 4]])
  await engine.close()
})
