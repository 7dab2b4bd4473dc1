import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { eventually } from '../../support/eventually'
import { runSql } from '../../support/postgres'
import { describeOnPostgres } from '../../support/postgres-databases'
import { type Connection, furnish, minutes, now, stored } from '../furniture'
import { openPostgresPlace } from './place'

const many = 10_000
/** What is done beside it, each of which could pass over all that is gone, though a connection need do so once alone. */
const often = 20

/** How many entries of an index were read so far, by all who have left: until then the server counts them apart. */
async function readOf(url: string, index: string): Promise<number> {
  const [row] = await runSql<{ read: number }>(
    url,
    `SELECT idx_tup_read::int4 AS read FROM pg_stat_user_indexes WHERE indexrelname = '${index}'`,
  )
  return row?.read ?? 0
}

/** The same, once the places have left. */
async function readInAllOf(url: string, index: string, places: readonly Connection[]): Promise<number> {
  for (const place of places) await place.close()
  const there = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'anteroom'`
  await eventually('all to have left', async () => (await runSql(url, there)).length === 0)
  return readOf(url, index)
}

/** A place beside a transaction that may see all that is there for as long as it is open, as a dump's may. */
async function besideLongTransaction() {
  const place = await openPostgresPlace()
  const client = new SQL(place.url, { max: 1, idleTimeout: 0 })
  const reader = await client.reserve()
  await reader.unsafe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM settings').simple()
  return {
    ...place,
    async [Symbol.asyncDispose]() {
      // It was open until now.
      expect(await reader.unsafe('SELECT pg_current_xact_id_if_assigned()')).toHaveLength(1)
      await reader.unsafe('COMMIT').simple()
      reader.release()
      await client.close({ timeout: 0 })
      await place[Symbol.asyncDispose]()
    },
  }
}

/** One, but that a connection may have broken, or another been at hand. */
function expectFewPasses(count: number): void {
  expect(Math.round(count)).toBeGreaterThan(0)
  expect(Math.round(count)).toBeLessThan(often / 4)
}

describeOnPostgres('beside a long transaction, which keeps what is gone from being cleared away', () => {
  test('answers that were forgotten are passed over once, not by each booking', async () => {
    await using place = await besideLongTransaction()
    const other = await place.openAgain()
    const { intake } = await furnish({ ...place, store: { ...place.store, submit: other.store.submit } })
    const { id } = await stored(intake('robin'))
    const [copies, forgotten] = [`generate_series(1, ${many}) AS n`, now - minutes(24 * 60)]
    await runSql(
      place.url,
      `INSERT INTO booking_requests SELECT id + n, 'r' || n, member_id, true, 'unassigned', null, null, null, null, null, null,
         null, sealed_screening_answers, submitted_at FROM booking_requests, ${copies} WHERE id = ${id};
       INSERT INTO replays SELECT ${id} + n, 1, sha256(n::text::bytea), sha256('b'), 'r', ${forgotten} - n FROM ${copies};
       DELETE FROM replays;
       SELECT setval('booking_requests_id_seq', ${id + many})`,
    )
    const before = await readOf(place.url, 'replays_submitted')
    for (let at = 0; at < often; at++)
      await stored(intake(`kim-${at}`, { retry: { key: `${at}`, body: '' } }))
    const read = (await readInAllOf(place.url, 'replays_submitted', [other, place])) - before
    expectFewPasses(read / many)
  })
})
