import { expect, spyOn, test } from 'bun:test'
import { Pool } from '../../../db/postgres/client/pool'
import { commit } from '../../../db/postgres/transaction'
import type { Changed } from '../../../db/queries/changes'
import { runSql } from '../../support/postgres'
import { describeOnPostgres } from '../../support/postgres-databases'
import { everything, fill, minutes, nine, stored } from '../furniture'
import { openPostgresPlace } from './place'
import { TestPool } from './pools'

describeOnPostgres('postgres: following bookings', () => {
  async function takenAfter(work: (place: Awaited<ReturnType<typeof furnishedPlace>>) => Promise<unknown>) {
    await using place = await furnishedPlace()
    const { version } = await everything(place)
    await work(place)
    const { taken, booked } = (await place.feed.changesSince(version, 0)) ?? {}
    const { first, second } = place
    const startsIn = (map: typeof taken) =>
      [first, second].map((id) => map?.get(id)?.map(({ startsAt }) => startsAt) ?? null)
    return { complete: startsIn(taken), booked: startsIn(booked) }
  }

  async function furnishedPlace() {
    const place = await openPostgresPlace()
    const furniture = await fill(place)
    await stored(furniture.book('zoe', nine - minutes(45)))
    return { ...place, ...furniture }
  }

  test('a change during a full read is seen in that read or in the next read', async () => {
    await using place = await furnishedPlace()
    const { first } = place
    const { use } = Pool.prototype
    const readAll = async (afterStep: (step: number) => unknown) => {
      let steps = 0
      const read = async function (this: Pool<unknown>, ...asked: Parameters<typeof use>) {
        const answer = await use.apply(this, asked)
        await afterStep(++steps)
        return answer
      }
      using _ = spyOn(Pool.prototype, 'use').mockImplementation(read as typeof use)
      return { all: await everything(place), steps }
    }
    const { steps } = await readAll(() => undefined)
    expect(steps).toBeGreaterThan(5)
    for (let at = 1; at <= steps; at++) {
      const firstName = `Changed ${at}`
      const change = await place.beginRenaming(first, firstName)
      const { all } = await readAll((step) => (step === at ? change() : undefined))
      const { providers } = (await place.feed.changesSince(all.version, 0)) ?? all
      expect(providers.find(({ id }) => id === first)?.firstName).toBe(firstName)
    }
  })

  test('a reader that missed too many changes gets the complete directory', async () => {
    await using place = await furnishedPlace()
    const { version } = await everything(place)
    const changed = new Array<Changed>(10_001).fill(['provider', place.first])
    await using pool = new TestPool(place.url, 1)
    await pool.use(async (connection) => {
      await connection.send(connection.begin)
      await commit(connection, { changed })
    })
    expect(await place.feed.changesSince(version, 0)).toEqual(await everything(place))
  })

  test('a reader gets all taken slots of a provider after a booking by a node of the previous release', async () => {
    const changes = await takenAfter(async ({ book, url }) => {
      await book('robin', nine)
      await runSql(url, 'UPDATE changes SET request_id = NULL')
    })
    expect(changes).toEqual({ complete: [[nine - minutes(45), nine], null], booked: [null, null] })
  })
})
