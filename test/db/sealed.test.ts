import type { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { newKey } from '../../src/auth/token'
import { unlimited } from '../../src/domain/limits'
import { Folder } from '../support/folder'
import { actAt, type Connection, everything, versionOf } from './furniture'
import { openTestDatabase, openTestEngine } from './place'

/** An engine with two partners, a key each, and intakes of two of the first one's members. */
async function furnished(folder: Folder): Promise<Connection> {
  const engine = openTestEngine(folder.file('a.sqlite'))
  const { store } = engine
  for (const name of ['One', 'Two']) {
    const { id } = await store.addPartner(name, null, actAt(0))
    await store.issueKey(id, { ...newKey(), startsAt: 0 }, actAt(0))
  }
  const submit = async (externalUserId: string, submittedAt: number) =>
    store.submit({
      partnerId: 1,
      externalUserId,
      member: { email: `${externalUserId}@example.com`, firstName: 'R', lastName: 'S', country: 'CA' },
      slot: null,
      screeningAnswers: [{ question: 'Q', answer: 'chosen by whoever sends it' }],
      version: await versionOf(engine),
      slotState: null,
      localOffsetMinutes: null,
      authorizationNumber: null,
      submittedAt,
      limits: unlimited,
    })
  await submit('m-1', 0)
  await submit('m-2', 0)
  await submit('m-1', 1)
  return engine
}

/** What an attacker who can write to the file does, and what is asked of the store after it. */
const moves: [what: string, move: string, ask: (engine: Connection) => Promise<unknown>, refused: RegExp][] =
  [
    [
      "answers as a partner's secret, under the record key that they were sealed for",
      `UPDATE partner_keys SET (record_key, sealed_secret) =
       (SELECT record_key, sealed_screening_answers FROM booking_requests) WHERE id = 1`,
      everything,
      /^what is sealed of the key [\w-]+ is not as it was written$/,
    ],
    [
      "a secret as a request's answers",
      `UPDATE booking_requests SET (record_key, sealed_screening_answers) =
       (SELECT record_key, sealed_secret FROM partner_keys WHERE id = 1) WHERE id = 1`,
      ({ store }) => store.readScreening(1, actAt(0)),
      /^what is sealed of request 1 is not as it was written$/,
    ],
    [
      "a partner's secret for another partner",
      'UPDATE partner_keys SET partner_id = 3 - partner_id',
      everything,
      /^what is sealed of the key [\w-]+ is not as it was written$/,
    ],
    [
      'a secret under another kid',
      "UPDATE partner_keys SET kid = 'another' WHERE id = 1",
      everything,
      /^what is sealed of the key another is not as it was written$/,
    ],
    [
      'the data key as a secret',
      `UPDATE partner_keys SET record_key = 'data_key',
       sealed_secret = (SELECT value FROM settings WHERE name = 'data_key') WHERE id = 1`,
      everything,
      /^what is sealed of the key [\w-]+ is not as it was written$/,
    ],
    [
      "the answers of another member as a request's",
      `UPDATE booking_requests SET (record_key, sealed_screening_answers) =
       (SELECT record_key, sealed_screening_answers FROM was WHERE id = 2) WHERE id = 1`,
      ({ store }) => store.readScreening(1, actAt(0)),
      /^what is sealed of request 1 is not as it was written$/,
    ],
    [
      "the answers of another of the member's requests",
      `UPDATE booking_requests SET (record_key, sealed_screening_answers) =
       (SELECT record_key, sealed_screening_answers FROM was WHERE id = 3) WHERE id = 1`,
      ({ store }) => store.readScreening(1, actAt(0)),
      /^what is sealed of request 1 is not as it was written$/,
    ],
    [
      "another member's profile, under the record key that it was sealed for",
      `UPDATE members SET (record_key, sealed_external_user_id, sealed_profile) =
       (SELECT record_key, sealed_external_user_id, sealed_profile FROM members_was WHERE id = 2) WHERE id = 1`,
      ({ store }) => store.findMember(1, 'm-1'),
      /^what is sealed of member 1 is not as it was written$/,
    ],
    [
      'an external id as a profile',
      'UPDATE members SET sealed_profile = sealed_external_user_id WHERE id = 1',
      ({ store }) => store.findMember(1, 'm-1'),
      /^what is sealed of member 1 is not as it was written$/,
    ],
    [
      "one partner's member as another's",
      'UPDATE members SET partner_id = 2 WHERE id = 1',
      async ({ store }) => {
        await store.exportMember(1, actAt(0))
      },
      /^what is sealed of member 1 is not as it was written$/,
    ],
  ]

/** So that a value can be moved and its record key with it, which is unique. */
function copyAside(database: Database, table: string, to: string): void {
  database.run(`CREATE TABLE ${to} AS SELECT * FROM ${table}`)
  database.run(`UPDATE ${table} SET record_key = record_key || '-was' WHERE id > 1`)
}

describe('what is sealed opens nowhere but where it stands', () => {
  test.each(moves)('%s', async (_, move, ask, refused) => {
    using folder = new Folder()
    const engine = await furnished(folder)
    await ask(engine)
    const database: Database = openTestDatabase(folder.file('a.sqlite'))
    database.run('DROP INDEX partner_keys_open')
    copyAside(database, 'booking_requests', 'was')
    copyAside(database, 'members', 'members_was')
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
