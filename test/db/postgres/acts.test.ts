import { afterAll, beforeAll, expect, test } from 'bun:test'
import { eventually } from '../../support/eventually'
import { haveLongPatience, haveRealPatience } from '../../support/patience'
import { startPostgres } from '../../support/postgres'
import { describeOnPostgres } from '../../support/postgres-databases'
import { act, endOf } from '../furniture'
import { openPostgresEngine } from './place'

beforeAll(haveRealPatience)
afterAll(haveLongPatience)

describeOnPostgres('an act', () => {
  test('fails in seconds where the server falls silent, and the next is done once it is back', async () => {
    await using server = await startPostgres()
    const { store, close } = await openPostgresEngine(server.url)
    const line = { ...act, action: 'member.look-up', record: 'member 1', outcome: 'done' } as const
    await store.appendAudit([line])
    server.pause()
    const began = performance.now()
    expect(await endOf(store.appendAudit([line]))).toBe('storage_busy')
    expect(performance.now() - began).toBeLessThan(10_000)
    server.resume()
    await eventually('another act', async () => (await endOf(store.appendAudit([line]))) === 'stored')
    expect(await store.verifyAudit(null)).toMatchObject({ intact: true })
    expect((await store.listAudit(10, { after: 0 })).map(({ action }) => action)).toEqual([
      line.action,
      line.action,
    ])
    await close()
  }, 300_000)
})
