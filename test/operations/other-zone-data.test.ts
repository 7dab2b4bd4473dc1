import { expect, test } from 'bun:test'
import type { FoundServer, ServerNote } from '../../src/domain/ports/maintenance'
import type { ZoneEdition } from '../../src/domain/ports/time'
import type { Records } from '../../src/operations/context'
import { otherZoneDataNote } from '../../src/operations/maintenance'

const ours: ZoneEdition = { edition: '2026f', folder: null }
const note: ServerNote = { host: '10.0.0.7', port: 8080, machine: 'b', version: '1.0.0', startedAt: 0 }

/** What a server with some zone data is told of those of a database. */
const toldTo = (zoneData: ZoneEdition, ...servers: FoundServer[]) =>
  otherZoneDataNote({ maintenance: { listServers: async () => servers } } as unknown as Records, zoneData)

/** The same with ours. */
const toldOf = (...servers: FoundServer[]) => toldTo(ours, ...servers)

const serving = (zoneData: ZoneEdition | undefined, different: Partial<ServerNote> = {}): FoundServer => ({
  ...{ isServing: true, seenAt: 1_000 },
  note: { ...note, ...(zoneData && { zoneData }), ...different },
})

test('servers that work with other zone data are told of, each by where it listens', async () => {
  const older = { edition: '2026e', folder: null }
  const unknown = { edition: 'unknown', folder: '/zones' }
  const { machine: _, ...unnamed } = note
  expect(
    await toldOf(serving(ours), serving(older), {
      ...serving(undefined),
      note: { ...unnamed, zoneData: unknown },
    }),
  ).toBe(
    'servers of this database work with other zone data than 2026f (built in): that on b port 8080 with 2026e (built in), ' +
      'that on 10.0.0.7 port 8080 with unknown (/zones); until all work with the same, a time that one offers may be ' +
      'refused by another; none is given twice',
  )
})

test('none is told of that works with the same, has ended, said nothing, or can be no other', async () => {
  const older = serving({ edition: '2026e', folder: null })
  expect(await toldOf()).toBeNull()
  expect(await toldOf(serving({ edition: '2026f', folder: '/zones' }))).toBeNull()
  expect(
    await toldOf(serving(undefined), { ...older, isServing: false }, { ...older, note: null }),
  ).toBeNull()
  expect(await toldOf({ ...older, seenAt: null })).toBeNull()
})

test('data that does not tell its edition is the same from the same folder alone', async () => {
  const unknownIn = (folder: string) => ({ edition: 'unknown', folder })
  expect(await toldTo(unknownIn('/zones'), serving(unknownIn('/zones')))).toBeNull()
  expect(await toldTo(unknownIn('/zones'), serving(unknownIn('/other')))).toBe(
    'servers of this database work with other zone data than unknown (/zones): that on b port 8080 with unknown (/other); ' +
      'until all work with the same, a time that one offers may be refused by another; none is given twice',
  )
})
