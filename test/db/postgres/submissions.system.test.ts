import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { DatabaseFailure } from '../../../db/postgres/client/failure'
import type { Pool } from '../../../db/postgres/client/pool'
import { taking } from '../../../db/postgres/locks'
import type { Session } from '../../../db/postgres/session'
import { Submissions } from '../../../db/postgres/submissions'
import type { SubmissionDraft } from '../../../src/domain/decide-submission'
import { unlimited } from '../../../src/domain/limits'
import type { Vault } from '../../../src/domain/vault'
import { haveLongPatience, haveRealPatience } from '../../support/patience'
import { runSql } from '../../support/postgres'
import { describeOnPostgres } from '../../support/postgres-databases'
import { Standstill } from '../../support/standstill'
import { holdWrites } from '../../support/storage'
import { endOf, furnish, minutes, nine, stored, update, versionOf } from '../furniture'
import { openPostgresPlace } from './place'

beforeAll(haveRealPatience)
afterAll(haveLongPatience)

const vault: Pick<Vault, 'keyedHash'> = { keyedHash: () => new Uint8Array(32) }
const draft = { partnerId: 1, externalUserId: 'm-1', member: { email: 'robin@example.org' }, retry: null }
const watch = { noteStored() {}, noteFailed() {} }

/** A server that answers reads and no COMMIT, as one whose synchronous standby is gone. */
const hanging = {
  get answeredAt() {
    return performance.now()
  },
  async use(_work: unknown, silentMillis: number) {
    await Bun.sleep(silentMillis)
    throw new DatabaseFailure('lost', 'ETIMEDOUT')
  },
} as Pick<Pool<Session>, 'use'>

test('where no COMMIT is answered, each who submits is told so within two seconds, and whoever waits behind others too', async () => {
  const submissions = new Submissions(hanging as Pool<Session>, vault as Vault, watch)
  using standstill = new Standstill()
  const ends: [string, boolean][] = []
  const submit = async () => {
    const beganAt = standstill.now()
    const end = await endOf(submissions.submit(draft as SubmissionDraft))
    ends.push([end, standstill.now() - beganAt < 2_000])
  }
  const first = submit()
  await Bun.sleep(100)
  await Promise.all([first, submit(), submit()])
  expect(ends).toEqual(Array(3).fill(['storage_busy', true]))
})

test('of many who come one after another while no COMMIT is answered, each is told so', async () => {
  const submissions = new Submissions(hanging as Pool<Session>, vault as Vault, watch)
  const ends: Promise<string>[] = []
  while (ends.length < 2_000) {
    ends.push(endOf(submissions.submit(draft as SubmissionDraft)))
    if (ends.length % 20 === 0) await Bun.sleep(1)
  }
  expect(new Set(await Promise.all(ends))).toEqual(new Set(['storage_busy']))
}, 300_000)

test('who waits for all to be answered is told so, though the last were refused before their turn came', async () => {
  const until = (endAt: number) => {
    while (performance.now() < endAt);
  }
  const failing = {
    use: () => Bun.sleep(1_495).then(() => Promise.reject(new DatabaseFailure('unreachable'))),
  }
  const submissions = new Submissions(failing as unknown as Pool<Session>, vault as Vault, watch)
  const first = endOf(submissions.submit(draft as SubmissionDraft))
  await Bun.sleep(20)
  const last = endOf(submissions.submit(draft as SubmissionDraft))
  const drained = submissions.drain()
  // Nobody has a turn while the one fails and the other has waited for too long.
  setTimeout(() => until(performance.now() + 90), 1_450)
  expect(await Promise.all([first, last])).toEqual(['storage_busy', 'storage_busy'])
  await drained
})

describeOnPostgres('a submission on a server', () => {
  test('that waits too long for a lock is told so, and its connection goes on', async () => {
    await using place = await openPostgresPlace()
    const { book } = await furnish(place)
    const pids = () =>
      runSql(
        place.url,
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'anteroom' AND datname = current_database() ORDER BY 1",
      )
    await book('robin', nine)
    const [connection = {}] = await pids()
    await using _held = await holdWrites({ database: place.url, masterKey: { base64: '' } })
    expect(await endOf(book('sam', nine + minutes(60)))).toBe('storage_busy')
    expect(await pids()).toContainEqual(connection)
  })
  test('is answered within two seconds while somebody has locked a table, however many there are', async () => {
    await using place = await openPostgresPlace()
    const { intake } = await furnish(place)
    const version = await versionOf(place)
    await using sql = new SQL(place.url, { max: 1 })
    await sql.unsafe('BEGIN; LOCK TABLE replays').simple()
    using standstill = new Standstill()
    const told = await Promise.all(
      Array.from({ length: 400 }, async (_, count) => {
        const beganAt = standstill.now()
        const end = await endOf(intake(`m-${count}`, { version, retry: { key: `${count}`, body: '' } }))
        return [end, standstill.now() - beganAt] as const
      }),
    )
    expect(new Set(told.map(([end]) => end))).toEqual(new Set(['storage_busy']))
    expect(Math.max(...told.map(([, millis]) => millis))).toBeLessThan(2_200)
    await sql.unsafe('ROLLBACK').simple()
    await stored(intake('later', { version }))
  })
  test('that leaves a line in the audit log waits no longer where others wait for the lock of that too', async () => {
    await using place = await openPostgresPlace()
    const { intake } = await furnish(place)
    await stored(intake('robin'))
    const version = await versionOf(place)
    const limits = { ...unlimited, emailConflicts: 1_000 }
    using standstill = new Standstill()
    const conflicting = async (name: string) => {
      const beganAt = standstill.now()
      const draft = { version, limits, member: { ...update, email: 'robin@example.com' } }
      const end = await endOf(intake(name, draft))
      return [end, standstill.now() - beganAt] as const
    }
    await using sql = new SQL(place.url, { max: 1 })
    await sql.unsafe(`BEGIN; ${taking('audit')}`).simple()
    let isOver = false
    const others = async () => {
      for (let count = 0; !isOver; count++) await stored(intake(`other-${count}`, { version }))
    }
    const storing = others()
    const told = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(conflicting))
    isOver = true
    await storing
    expect(told.map(([end]) => end)).toEqual(told.map(() => 'storage_busy'))
    expect(Math.max(...told.map(([, millis]) => millis))).toBeLessThan(3_000)
    await sql.unsafe('ROLLBACK').simple()
    expect((await conflicting('f'))[0]).toBe('email_taken')
  })
})
