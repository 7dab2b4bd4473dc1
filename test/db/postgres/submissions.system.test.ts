import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { DatabaseFailure } from '../../../db/postgres/client/failure'
import type { Pool } from '../../../db/postgres/client/pool'
import { taking } from '../../../db/postgres/locks'
import type { Session } from '../../../db/postgres/session'
import { Submissions } from '../../../db/postgres/submit'
import type { SubmissionDraft } from '../../../src/domain/decisions/submission'
import { unlimited } from '../../../src/domain/limits'
import type { Vault } from '../../../src/domain/ports/vault'
import { useLongTimeouts, useRealTimeouts } from '../../support/patience'
import { runSql } from '../../support/postgres'
import { describeOnPostgres } from '../../support/postgres-databases'
import { Standstill } from '../../support/standstill'
import { blockWrites } from '../../support/storage'
import { act, endOf, fill, minutes, nine, stored, update, versionOf } from '../furniture'
import { openPostgresPlace } from './place'

beforeAll(useRealTimeouts)
afterAll(useLongTimeouts)

const vault = { keyedHash: () => new Uint8Array(32) } as unknown as Vault
const draft = {
  ...{ partnerId: 1, externalUserId: 'm-1', member: { email: 'robin@example.org' }, slot: null, retry: null },
  limits: unlimited,
} as unknown as SubmissionDraft
const acts = { inTurn: <T>(work: () => Promise<T>) => work(), settle: async () => {} }
const watch = { noteStored() {}, noteFailed() {} }

function submissionsOn(use: (work: unknown, millis: number) => Promise<never>): Submissions {
  return new Submissions({ use } as unknown as Pool<Session>, vault, acts, watch)
}

test('postgres: a submission fails within two seconds if no COMMIT is answered', async () => {
  const submissions = submissionsOn(async (_, millis) => {
    await Bun.sleep(millis)
    throw new DatabaseFailure('lost', 'ETIMEDOUT')
  })
  using standstill = new Standstill()
  const beganAt = standstill.now()
  expect(await endOf(submissions.submit(draft))).toBe('storage_busy')
  expect(standstill.now() - beganAt).toBeLessThan(2_000)
})

test('postgres: draining waits for running submissions', async () => {
  const ending = Promise.withResolvers<never>()
  const submissions = submissionsOn(() => ending.promise)
  const end = endOf(submissions.submit(draft))
  let isDrained = false
  const drained = submissions.drain().then(() => {
    isDrained = true
  })
  await Bun.sleep(10)
  expect(isDrained).toBe(false)
  ending.reject(new DatabaseFailure('unreachable'))
  await drained
  expect(await end).toBe('storage_busy')
})

describeOnPostgres('postgres: a submission that meets locks', () => {
  test('a submission that waits too long for a lock is busy, and its connection stays open', async () => {
    await using place = await openPostgresPlace()
    const { book } = await fill(place)
    const pids = () =>
      runSql(
        place.url,
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'anteroom' AND datname = current_database() ORDER BY 1",
      )
    await book('robin', nine)
    const [connection = {}] = await pids()
    await using _held = await blockWrites({ database: place.url, masterKey: { base64: '' } })
    expect(await endOf(book('sam', nine + minutes(60)))).toBe('storage_busy')
    expect(await pids()).toContainEqual(connection)
  })
  test('400 submissions to a locked table are all answered within two seconds', async () => {
    await using place = await openPostgresPlace()
    const { intake } = await fill(place)
    const version = await versionOf(place)
    await using sql = new SQL(place.url, { max: 1 })
    await sql.unsafe('BEGIN; LOCK TABLE replays').simple()
    using standstill = new Standstill()
    const results = await Promise.all(
      Array.from({ length: 400 }, async (_, count) => {
        const beganAt = standstill.now()
        const end = await endOf(intake(`m-${count}`, { version, retry: { key: `${count}`, body: '' } }))
        return [end, standstill.now() - beganAt] as const
      }),
    )
    expect(new Set(results.map(([end]) => end))).toEqual(new Set(['storage_busy']))
    expect(Math.max(...results.map(([, millis]) => millis))).toBeLessThan(2_000)
    await sql.unsafe('ROLLBACK').simple()
    await stored(intake('later', { version }))
  })
  test('submissions with an audit line give up within two seconds while the audit log is locked', async () => {
    await using place = await openPostgresPlace()
    const { intake } = await fill(place)
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
    const results = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(conflicting))
    isOver = true
    await storing
    expect(results.map(([end]) => end)).toEqual(results.map(() => 'storage_busy'))
    expect(Math.max(...results.map(([, millis]) => millis))).toBeLessThan(2_000)
    await sql.unsafe('ROLLBACK').simple()
    expect((await conflicting('f'))[0]).toBe('email_taken')
  })
  test('a submission without an audit line does not wait for submissions with an audit line', async () => {
    await using place = await openPostgresPlace()
    const { intake, organization } = await fill(place)
    const other = await place.store.addPartner('Lanternlight', organization.id, act)
    await stored(intake('robin'))
    const version = await versionOf(place)
    let answered = 0
    const limits = { ...unlimited, emailConflicts: 1_000 }
    const conflicting = Array.from({ length: 30 }, async (_, count) => {
      const member = { ...update, email: 'robin@example.com' }
      const end = await endOf(intake(`other-${count}`, { version, limits, member }))
      answered++
      return end
    })
    await Promise.race(conflicting)
    await stored(intake('sam', { version, partnerId: other.id }))
    expect(answered).toBeLessThan(conflicting.length)
    expect(await Promise.all(conflicting)).toEqual(conflicting.map(() => 'email_taken'))
  })
})
