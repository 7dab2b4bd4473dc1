import { afterAll, beforeAll, expect, mock, test } from 'bun:test'
import { DatabaseFailure, type Meaning } from '../../../db/postgres/client/failure'
import type { Pool } from '../../../db/postgres/client/pool'
import { timeouts } from '../../../db/postgres/client/timeouts'
import { taking } from '../../../db/postgres/locks'
import type { Session } from '../../../db/postgres/session'
import { begin, commit, createActs } from '../../../db/postgres/transaction'
import { eventually } from '../../support/eventually'
import { useLongTimeouts, useRealTimeouts } from '../../support/patience'
import { runSql, startPostgres } from '../../support/postgres'
import { describeOnPostgres } from '../../support/postgres-databases'
import { millisOf } from '../../support/standstill'
import { act, endOf } from '../furniture'
import { openPostgresEngine, openPostgresPlace } from './place'
import { failureOf, TestPool } from './pools'

beforeAll(useRealTimeouts)
afterAll(useLongTimeouts)

/** A connection pool without a server. Attempt N of a write fails with error N of `ends`. */
function actsThat(...ends: readonly (() => Promise<never>)[]) {
  const use = mock(() => (ends[use.mock.calls.length - 1] as () => Promise<never>)())
  return { acts: createActs({ use } as unknown as Pool<Session>), use }
}

const failing = (meaning: Meaning) => () => Promise.reject(new DatabaseFailure(meaning, 'ETIMEDOUT'))

test('postgres: if the server cannot be reached, the error of a write says that the outcome is unknown', async () => {
  const { acts, use } = actsThat(failing('lost'), failing('unreachable'))
  const refusal = await acts
    .run(async () => ({ answer: null, lines: [], changed: [] }))
    .catch((error) => error)
  expect(refusal).toMatchObject({ kind: 'storage_busy', cause: { meaning: 'lost' } })
  expect(use).toHaveBeenCalledTimes(2)
})

test('postgres: a write is not retried after an attempt as long as the call timeout', async () => {
  const slowly = () => Bun.sleep(2 * timeouts.call).then(failing('retry'))
  const { acts, use } = actsThat(slowly, slowly, slowly)
  const refusal = await acts
    .run(async () => ({ answer: null, lines: [], changed: [] }))
    .catch((error) => error)
  expect(refusal).toMatchObject({ kind: 'storage_busy', cause: { meaning: 'retry' } })
  expect(use).toHaveBeenCalledTimes(1)
})

const line = { ...act, action: 'member.look-up', record: 'member 1', outcome: 'done' } as const

describeOnPostgres('postgres: writes other than submissions', () => {
  test('a write fails within seconds on a frozen database server, and succeeds after the freeze', async () => {
    await using server = await startPostgres()
    const { store, close } = await openPostgresEngine(server.url)
    await store.appendAudit([line])
    server.pause()
    const began = performance.now()
    expect(await endOf(store.appendAudit([line]))).toBe('storage_busy')
    expect(performance.now() - began).toBeLessThan(10_000)
    server.resume()
    await eventually(
      'another write to succeed',
      async () => (await endOf(store.appendAudit([line]))) === 'stored',
    )
    expect(await store.verifyAudit(null)).toMatchObject({ intact: true })
    expect((await store.listAudit(10, { after: 0 })).map(({ action }) => action)).toEqual([
      line.action,
      line.action,
    ])
    await close()
  }, 300_000)

  test('a write waits at most half a second for the transaction of a frozen node', async () => {
    await using place = await openPostgresPlace()
    await using pool = new TestPool(place.url, 2)
    const begun = Promise.withResolvers<void>()
    const standing = pool.use(async (connection) => {
      await begin(connection, [taking('directory')], timeouts.call)
      begun.resolve()
      await eventually('the server to end the transaction', () => connection.hasEnded, 10_000)
      await commit(connection, { changed: [] })
    })
    await begun.promise
    const waiting = pool.use((connection) =>
      begin(connection, [taking('audit'), taking('directory')], timeouts.call),
    )
    await eventually('the second transaction to wait for a lock', async () => {
      const [row] = await runSql(place.url, 'SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted')
      return row?.count === 1
    })
    const done = endOf(place.store.appendAudit([line]))
    const [end, failures, millis] = await Promise.all([
      done,
      Promise.all([failureOf(standing), failureOf(waiting)]),
      millisOf(() => done),
    ])
    expect(end).toBe('stored')
    expect(failures).toEqual([
      ['retry', '25P03'],
      ['retry', '55P03'],
    ])
    expect(millis).toBeLessThan(700)
  })
})
