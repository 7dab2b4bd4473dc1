import { expect, test } from 'bun:test'
import { runSql, startPostgres } from '../support/postgres'
import { describeOnPostgresInFull, newDatabase } from '../support/postgres-databases'
import { bookByOurClient, bookByPgbench, pgbenchPath } from './booking-transactions'
import { GroupsNode } from './groups'
import { Serving } from './service'

// The short form of what the bench does with nodes on PostgreSQL. How fast is not told here.

const stored = "SELECT count(*)::int4 AS stored FROM booking_requests WHERE state = 'pending'"

describeOnPostgresInFull('What the bench does with nodes', () => {
  test.each(['the service', 'the store'] as const)(
    'nodes book at once by %s: what they tell is stored',
    async (by) => {
      await using database = await newDatabase()
      await using nodes = await GroupsNode.startAll(2, database.url)
      const millis = 200
      const perSecond = await nodes.book({ count: 2, callers: 8, millis, by })
      const [row] = await runSql<{ stored: number }>(database.url, stored)
      // Each caller books once at least. What was under way when the time ended is not told.
      expect(row?.stored).toBeGreaterThanOrEqual(16)
      expect(row?.stored).toBeGreaterThanOrEqual(Math.round((perSecond * millis) / 1_000))
      expect(row?.stored).toBeLessThanOrEqual(Math.round((perSecond * millis) / 1_000) + 16)
    },
  )

  test.each(['one after the other', 'together'] as const)(
    'bookings by our client and by pgbench are stored, their statements %s',
    async (sending) => {
      await using server = await startPostgres()
      await server.run('CREATE DATABASE bench')
      const url = server.urlOf('bench')
      await (await Serving.start(60, url))[Symbol.asyncDispose]()
      const count = async () => (await runSql<{ stored: number }>(url, stored))[0]?.stored ?? 0
      const given = { server, database: 'bench', connections: 2, sending, seconds: 1 }
      await bookByOurClient(given)
      const ours = await count()
      // Each connection once at least, before the time begins.
      expect(ours).toBeGreaterThanOrEqual(2)
      const pgbench = pgbenchPath()
      if (pgbench === null) return
      const told = await bookByPgbench(pgbench, given)
      expect((await count()) > ours).toBe(told > 0)
    },
  )
})
