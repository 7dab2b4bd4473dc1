import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type DirectoryFile, readDirectoryFile } from '../../src/directory-files/document'
import { tableNames } from '../../src/directory-files/table-rows'
import { formatTable } from '../../src/directory-files/tables'
import type { DirectoryEntries } from '../../src/domain/decisions/compare-directory'
import { needsConfirmation } from '../../src/domain/decisions/describe-load'
import { absenceOfRequest, listUnavailableBookings } from '../../src/operations/check-bookings'
import {
  compareWithDirectory,
  exportDirectory,
  loadCompared,
  loadDirectory,
  previewLoad,
  readDirectoryTables,
} from '../../src/operations/directory-loads'
import { requireProvider, requireRequest } from '../../src/operations/find-records'
import { setProviderActive, storeTimeOff } from '../../src/operations/providers'
import { actsOf } from '../support/acts'
import { provider, region } from '../support/builders'
import { defaultNow, startService } from '../support/service'

const quebec = region({ stateProvinceCode: 'QC', stateProvinceNameLocal: 'Québec' })
const both = (from: string) => ['CA-ON', 'CA-QC'].map((of) => ({ region: of, from }))
const file = {
  regions: [region(), quebec],
  providers: [
    provider('on-1', { timeOff: [{ from: '2026-12-24', until: '2026-12-26' }] }),
    provider('on-2'),
    provider('both', { licenses: both('2020-01-01') }),
    provider('off', { active: false }),
  ],
} satisfies DirectoryFile

type ProviderInFile = DirectoryFile['providers'][number]

let service: Awaited<ReturnType<typeof startService>>

beforeEach(async () => {
  service = await startService({ directory: file, listens: false })
})
afterEach(() => service.stop())

/**
 * Returns the file with changed providers. `different` contains the changed fields by provider ref. A
 * provider with null is removed.
 */
function fileWith(different: Record<string, Partial<ProviderInFile> | null>, regions = file.regions) {
  const providers = file.providers.flatMap((one) => {
    const other = different[one.ref]
    return other === null ? [] : [{ ...one, ...other }]
  })
  return { regions, providers }
}

const read = (document: unknown) =>
  readDirectoryFile(document, (name) => service.context.directory.knowsZone(name))

function preview(entries: DirectoryEntries) {
  const { context } = service
  return previewLoad(context, compareWithDirectory(context, entries), context.clock.now())
}

/** Loads a file without a confirmation. Returns the preview and the result. */
async function nightly(document: unknown) {
  const { context } = service
  const comparison = compareWithDirectory(context, read(document))
  const previewed = previewLoad(context, comparison, context.clock.now())
  return { previewed, done: await loadCompared(context, comparison, service.act()) }
}

const find = (ref: string) => requireProvider(service.context, ref)

/** Books a slot of a provider and returns the id of the request. */
async function book(ref: string, utcStartTime: string): Promise<number> {
  const slot = { providerId: find(ref).id, startsAt: Date.parse(utcStartTime) }
  return (await service.submit(`m-${ref}-${Date.parse(utcStartTime)}`, { slot })).id
}

describe('operations: a suspension and time off that staff set', () => {
  const illness = { from: '2026-12-02', until: '2026-12-04' }

  test('a load keeps a suspended provider suspended, and keeps staff time off', async () => {
    const { context } = service
    await setProviderActive(context, find('on-1'), false, service.act())
    await storeTimeOff(context, find('on-2').id, illness, service.act())
    const freeOf = (ref: string) => {
      const listing = context.directory.findListing(find(ref).id)
      return listing && context.directory.availabilityAnywhere(listing, context.clock.now()).slots
    }
    const before = freeOf('on-2')
    expect(before).not.toHaveLength(0)

    const { previewed, done } = await nightly(file)
    expect(previewed).toMatchObject({
      changes: [],
      staySuspended: ['on-1'],
      stayAway: [{ ref: 'on-2', ...illness }],
    })
    expect(done.unchanged).toBe(6)
    expect(needsConfirmation(previewed)).toBe(false)
    const other = { bio: 'New', timeOff: [{ from: '2027-01-04', until: '2027-01-05' }] }
    expect(await nightly(fileWith({ 'on-1': other, 'on-2': other }))).toMatchObject({
      done: { changed: ['on-1', 'on-2'] },
      previewed: { staySuspended: ['on-1'] },
    })
    expect(find('on-1')).toMatchObject({ bio: 'New', active: true, suspended: true })
    expect(find('on-2')).toMatchObject({ bio: 'New', staffTimeOff: [illness] })
    expect(freeOf('on-1')).toBeNull()
    expect(freeOf('on-2')).toEqual(before)
    expect(before?.filter((start) => new Date(start * 60_000).toISOString() < '2026-12-05')).toHaveLength(4)

    for (const until of ['2020-01-01', '2020-01-02'])
      await storeTimeOff(context, find('on-1').id, { from: '2020-01-01', until }, service.act())
    await setProviderActive(context, find('on-1'), true, service.act())
    // The absences of on-1 are over.
    expect((await nightly(fileWith({ 'on-1': other, 'on-2': other }))).previewed).toMatchObject({
      staySuspended: [],
      stayAway: [{ ref: 'on-2', ...illness }],
    })
  })

  test('an export leaves out the suspension and the staff time off, and loading the export again changes nothing', async () => {
    const { context } = service
    await setProviderActive(context, find('on-1'), false, service.act())
    await storeTimeOff(context, find('on-1').id, illness, service.act())
    const exported = exportDirectory(context)
    expect(exported.providers[0]).toMatchObject({ active: true, timeOff: file.providers[0]?.timeOff })
    expect(JSON.stringify(exported)).not.toContain(illness.from)
    const csv = tableNames.map((table) => ({
      name: `${table}.csv`,
      bytes: new TextEncoder().encode(formatTable(table, exported)),
    }))
    for (const entries of [read(exported), readDirectoryTables(context, csv)]) {
      expect(compareWithDirectory(context, entries)).toMatchObject({ changes: [], writes: [] })
    }
  })

  test('a suspended provider stays suspended if the file activates the provider', async () => {
    await setProviderActive(service.context, find('off'), false, service.act())
    const previewed = preview(read(fileWith({ off: { active: true } })))
    expect(previewed).toMatchObject({
      changes: [{ ref: 'off', kind: 'changed', fields: [{ field: 'active', from: false, to: true }] }],
      reactivated: { regions: [], providers: [] },
      staySuspended: ['off'],
    })
    expect(needsConfirmation(previewed)).toBe(false)
  })
})

describe('operations: the preview of a load', () => {
  test('a preview lists each changed field of a provider, with removed and added elements', () => {
    const wanted = fileWith({
      'on-1': { timeOff: [], firstName: 'Tobin', timeZone: 'America/Halifax' },
      both: {
        licenses: [{ region: 'CA-ON', from: '2020-01-01', until: '2027-01-01' }],
        workingHours: [{ weekdays: ['monday', 'saturday'], start: '09:00', end: '12:00' }],
        languagesSpoken: ['en', 'fr'],
      },
      off: { active: true },
      'on-2': null,
    })
    const previewed = preview(read(wanted))
    expect(previewed.changes).toEqual([
      {
        noun: 'provider',
        ref: 'on-1',
        kind: 'changed',
        fields: [
          { field: 'firstName', from: 'Marlow', to: 'Tobin' },
          { field: 'timeZone', from: 'America/Toronto', to: 'America/Halifax' },
          {
            field: 'timeOff',
            removed: [{ from: '2026-12-24', until: '2026-12-26' }],
            added: [],
            lost: 1,
          },
        ],
      },
      {
        noun: 'provider',
        ref: 'both',
        kind: 'changed',
        fields: [
          {
            field: 'licenses',
            removed: [
              { region: 'CA-ON', from: '2020-01-01', until: null },
              { region: 'CA-QC', from: '2020-01-01', until: null },
            ],
            added: [{ region: 'CA-ON', from: '2020-01-01', until: '2027-01-01' }],
            lost: 2,
          },
          {
            field: 'workingHours',
            removed: find('both').workingHours,
            added: [{ weekdays: ['monday', 'saturday'], start: '09:00', end: '12:00' }],
            lost: 1,
          },
          { field: 'languagesSpoken', removed: [], added: ['fr'], lost: 0 },
        ],
      },
      { noun: 'provider', ref: 'off', kind: 'changed', fields: [{ field: 'active', from: false, to: true }] },
      {
        noun: 'provider',
        ref: 'on-2',
        kind: 'deactivated',
        fields: [{ field: 'active', from: true, to: false }],
      },
    ])
    expect(previewed).toMatchObject({
      losses: [
        { field: 'licenses', count: 2, providers: 1 },
        { field: 'workingHours', count: 1, providers: 1 },
        { field: 'timeOff', count: 1, providers: 1 },
      ],
      deactivated: { regions: [], providers: ['on-2'] },
      reactivated: { regions: [], providers: ['off'] },
      emptied: [],
    })
    expect(needsConfirmation(previewed)).toBe(true)
  })

  test('a preview lists changed regions and added records, which need no confirmation', () => {
    const regions = [
      { ...region(), stateProvinceLabel: 'Canton' },
      quebec,
      region({ stateProvinceCode: 'BC' }),
    ]
    const wanted = fileWith({ 'on-1': { bio: 'New', modalities: ['in-video', 'telephonic'] } }, regions)
    const previewed = preview(read({ ...wanted, providers: [...wanted.providers, provider('bc-1')] }))
    expect(
      previewed.changes.map(({ ref, kind, fields }) => [ref, kind, fields.map(({ field }) => field)]),
    ).toEqual([
      ['CA-ON', 'changed', ['stateProvinceLabel']],
      ['CA-BC', 'added', []],
      ['on-1', 'changed', ['bio', 'modalities']],
      ['bc-1', 'added', []],
    ])
    expect(needsConfirmation(previewed)).toBe(false)
  })

  test('a preview ignores the order of fields and elements', async () => {
    const [monday, friday] = [
      { date: '2026-12-07', windows: [{ start: '09:00', end: '10:00' }] },
      { date: '2026-12-11', windows: [] },
    ]
    await service.load(fileWith({ 'on-1': { overrides: [monday], licenses: both('2020-01-01') } }))
    const swapped = { windows: [{ end: '10:00', start: '09:00' }], date: '2026-12-07' }
    const licenses = [...both('2020-01-01').reverse(), { from: '2020-01-01', region: 'CA-ON' }]
    const previewed = preview(read(fileWith({ 'on-1': { overrides: [friday, swapped], licenses } })))
    expect(previewed.changes[0]?.fields).toEqual([
      {
        field: 'licenses',
        removed: [],
        added: [{ region: 'CA-ON', from: '2020-01-01', until: null }],
        lost: 0,
      },
      { field: 'overrides', removed: [], added: [friday], lost: 0 },
    ])
    expect(needsConfirmation(previewed)).toBe(false)
  })

  const asked: [what: string, different: Partial<ProviderInFile>][] = [
    ['a language', { languagesSpoken: ['fr'] }],
    ['a modality', { modalities: ['telephonic'] }],
    ['the hours of a weekday', { workingHours: [{ weekdays: ['monday'], start: '09:00', end: '12:00' }] }],
    ['a license', { licenses: [] }],
    ['a provider', { active: false }],
    ['all hours by a change of time zone', { timeZone: 'America/Vancouver' }],
  ]
  test.each(asked)('a load that removes %s needs a confirmation', (_, different) => {
    expect(needsConfirmation(preview(read(fileWith({ 'on-2': different }))))).toBe(true)
  })

  test('a load that reactivates a region, or deactivates one, needs a confirmation', async () => {
    const without = { ...file, regions: [region(), { ...quebec, active: false }] }
    expect(preview(read(without)).deactivated).toEqual({ regions: ['CA-QC'], providers: [] })
    await nightly(without)
    const back = preview(read(file))
    expect(back.reactivated).toEqual({ regions: ['CA-QC'], providers: [] })
    expect([needsConfirmation(preview(read(without))), needsConfirmation(back)]).toEqual([false, true])
  })
})

describe('operations: loading a table with only a header row', () => {
  const rows: [table: string, header: string, emptied: string[], lost: string[]][] = [
    ['licenses', 'ref,region,from', ['licenses'], ['licenses']],
    ['schedules', 'ref,kind', ['workingHours'], ['workingHours', 'timeOff']],
  ]
  test.each(rows)(
    'a table of %s with only a header row needs a confirmation and lists everything that it removes',
    (table, header, emptied, lost) => {
      const { context } = service
      const bytes = new TextEncoder().encode(`${header}\n`)
      const previewed = preview(readDirectoryTables(context, [{ name: `${table}.csv`, bytes }]))
      expect(previewed.emptied).toEqual(emptied as never)
      expect(previewed.losses.map(({ field }) => field)).toEqual(lost as never)
      expect(previewed.losses[0]?.providers).toBe(4)
      expect(needsConfirmation(previewed)).toBe(true)
    },
  )

  test('a table of providers with only a header row needs a confirmation and deactivates all providers', () => {
    const header = 'ref,firstName,lastName,timeZone,languagesSpoken,modalities\n'
    const files = [{ name: 'providers.csv', bytes: new TextEncoder().encode(header) }]
    const previewed = preview(readDirectoryTables(service.context, files))
    expect(previewed.deactivated.providers).toEqual(['on-1', 'on-2', 'both'])
    expect(needsConfirmation(previewed)).toBe(true)
  })

  test('an already empty table is not listed as emptied', async () => {
    await service.load(fileWith(Object.fromEntries(file.providers.map(({ ref }) => [ref, { licenses: [] }]))))
    const emptied = fileWith(
      Object.fromEntries(file.providers.map(({ ref }) => [ref, { licenses: [], bio: 'New' }])),
    )
    expect(preview(read(emptied)).emptied).toEqual([])
  })
})

describe('operations: future bookings that a load puts out of availability', () => {
  const wednesday = '2026-12-02T14:00:00Z'
  const thursday = '2026-12-03T14:00:00Z'
  const fallenAfter = (different: Record<string, Partial<ProviderInFile> | null>, regions = file.regions) =>
    preview(read(fileWith(different, regions))).fallen

  const rows: [reason: string, different: Partial<ProviderInFile> | null][] = [
    ['provider_deactivated', { active: false }],
    ['provider_deactivated', null],
    ['license', { licenses: [{ region: 'CA-ON', from: '2020-01-01', until: '2026-12-02' }] }],
    ['license', { licenses: [] }],
    ['override', { overrides: [{ date: '2026-12-03', windows: [] }] }],
    ['outside_hours', { workingHours: [{ weekdays: ['wednesday'], start: '09:00', end: '12:00' }] }],
    ['time_off', { timeOff: [{ from: '2026-12-03', until: '2026-12-03' }] }],
  ]
  test.each(rows)(
    'a preview lists the booking with the reason %s if the provider changes to %j',
    async (reason, different) => {
      const requestId = await book('on-2', thursday)
      expect(fallenAfter({ 'on-2': different })).toEqual([
        {
          requestId,
          provider: 'on-2',
          startsAt: Date.parse(thursday),
          local: 'Thu 2026-12-03 09:00',
          timeZone: 'America/Toronto',
          reason: reason as never,
        },
      ])
    },
  )

  test.each(rows)(
    'doctor and accept report the booking with the reason %s if the provider changed to %j',
    async (reason, different) => {
      const requestId = await book('on-2', thursday)
      const document = fileWith({ 'on-2': different })
      const { fallen } = (await nightly(document)).previewed
      const { context } = service
      const now = context.clock.now()
      expect(listUnavailableBookings(context, now)).toEqual([...fallen])
      const request = await requireRequest(context, requestId)
      expect<string | null>(absenceOfRequest(context, request, now)).toBe(reason)
    },
  )

  test('a booking is listed in the new time zone of the provider', async () => {
    await book('on-2', wednesday)
    expect(fallenAfter({ 'on-2': { timeZone: 'America/Los_Angeles' } })).toMatchObject([
      { local: 'Wed 2026-12-02 06:00', timeZone: 'America/Los_Angeles', reason: 'outside_hours' },
    ])
  })

  test('a booking in a deactivated region is listed, unless the provider has a license elsewhere', async () => {
    const [requestId] = [await book('on-2', wednesday), await book('both', wednesday)]
    const regions = [region({ active: false }), quebec]
    expect(fallenAfter({}, regions)).toMatchObject([{ requestId, provider: 'on-2', reason: 'license' }])
  })

  test('a booking within the new availability is not listed, even if the booking is off the new slot grid', async () => {
    await book('on-2', wednesday)
    const hours = { weekdays: ['wednesday' as const], start: '08:50', end: '12:00' }
    expect(
      fallenAfter({ 'on-2': { workingHours: [hours], minimumNoticeMinutes: 43_200, bio: 'New' } }),
    ).toEqual([])
  })

  test('a booking that is declined, over or already out of availability is not listed', async () => {
    const { context } = service
    await book('on-2', wednesday)
    const declined = await book('both', wednesday)
    await actsOf(context).decline(declined, service.act())
    await context.directory.catchUp()
    await storeTimeOff(context, find('on-2').id, { from: '2026-12-02', until: '2026-12-02' }, service.act())
    expect(fallenAfter({ 'on-2': { licenses: [] }, both: { licenses: [] } })).toEqual([])

    const over = await book('on-1', wednesday)
    expect(fallenAfter({ 'on-1': null })).toMatchObject([{ requestId: over }])
    service.setNow('2026-12-02T14:44:59Z')
    expect(fallenAfter({ 'on-1': null })).toMatchObject([{ requestId: over }])
    service.setNow('2026-12-02T14:45:00Z')
    expect(fallenAfter({ 'on-1': null })).toEqual([])
  })

  test('a listed booking remains pending after the load, and the next load does not list it', async () => {
    const requestId = await book('on-2', wednesday)
    const document = fileWith({ 'on-2': { licenses: [] } })
    expect((await nightly(document)).previewed.fallen).toMatchObject([{ requestId }])
    expect(await actsOf(service.context).findRequest(requestId)).toMatchObject({ state: 'pending' })
    expect((await nightly(document)).previewed.fallen).toEqual([])
  })
})

test('operations: a load adds one line to the audit log', async () => {
  const { context } = service
  await loadDirectory(context, fileWith({ 'on-1': null, 'on-2': { licenses: [] } }), service.act())
  expect(await actsOf(context).listAudit(1)).toMatchObject([
    { at: Date.parse(defaultNow), action: 'directory.load', record: null, outcome: 'done' },
  ])
  expect(await actsOf(context).listAudit(100)).toHaveLength(5)
})
