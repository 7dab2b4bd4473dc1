import { expect, test } from 'bun:test'
import type { FoundServer, ServerNote } from '../../src/domain/ports/maintenance'
import type { ZoneEdition } from '../../src/domain/ports/time'
import type { Records } from '../../src/operations/context'
import { otherZoneDataNote } from '../../src/operations/maintenance'

const ours: ZoneEdition = { edition: '2026f', folder: null }
const note: ServerNote = { host: '10.0.0.7', port: 8080, machine: 'b', version: '1.0.0', startedAt: 0 }

const noteFor = (zoneData: ZoneEdition, ...servers: FoundServer[]) =>
  otherZoneDataNote({ maintenance: { listServers: async () => servers } } as unknown as Records, zoneData)

const noteOn = (...servers: FoundServer[]) => noteFor(ours, ...servers)

const serving = (zoneData: ZoneEdition | undefined, different: Partial<ServerNote> = {}): FoundServer => ({
  ...{ isServing: true, seenAt: 1_000 },
  note: { ...note, ...(zoneData && { zoneData }), ...different },
})

test('operations: otherZoneDataNote lists each server with other zone data', async () => {
  const older = { edition: '2026e', folder: null }
  const unknown = { edition: 'unknown', folder: '/zones' }
  const { machine: _, ...unnamed } = note
  expect(
    await noteOn(serving(ours), serving(older), {
      ...serving(undefined),
      note: { ...unnamed, zoneData: unknown },
    }),
  ).toBe(
    'servers of this database use zone data other than 2026f (built in): the server on b port 8080 uses 2026e (built in), ' +
      'the server on 10.0.0.7 port 8080 uses unknown (/zones); use the same data on all of them. Until then, one server may ' +
      'refuse a slot that another offers; no slot is booked twice',
  )
})

test('operations: otherZoneDataNote omits servers that use the same zone data, have ended or have not reported their zone data', async () => {
  const older = serving({ edition: '2026e', folder: null })
  expect(await noteOn()).toBeNull()
  expect(await noteOn(serving({ edition: '2026f', folder: '/zones' }))).toBeNull()
  expect(
    await noteOn(serving(undefined), { ...older, isServing: false }, { ...older, note: null }),
  ).toBeNull()
  expect(await noteOn({ ...older, seenAt: null })).toBeNull()
})

test('operations: otherZoneDataNote compares zone data of an unknown edition by its folder', async () => {
  const unknownIn = (folder: string) => ({ edition: 'unknown', folder })
  expect(await noteFor(unknownIn('/zones'), serving(unknownIn('/zones')))).toBeNull()
  expect(await noteFor(unknownIn('/zones'), serving(unknownIn('/other')))).toBe(
    'servers of this database use zone data other than unknown (/zones): the server on b port 8080 uses unknown (/other); ' +
      'use the same data on all of them. Until then, one server may refuse a slot that another offers; no slot is booked twice',
  )
})
