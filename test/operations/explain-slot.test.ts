import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Directory } from '../../src/directory/directory'
import type { DirectoryChanges } from '../../src/domain/ports/directory-feed'
import type { Provider } from '../../src/domain/provider'
import type { Region } from '../../src/domain/region'
import type { Context } from '../../src/operations/context'
import { explainSlot } from '../../src/operations/explain-slot'
import { listFreeSlots } from '../../src/operations/offer-slots'
import { horizonMinutes, slotMinutes } from '../../src/scheduling/availability'
import { minuteMillis } from '../../src/scheduling/calendar'
import { builtInZones } from '../../src/zones/packed'
import { provider as anyone, ontario } from '../domain/values'
import { asked } from '../scheduling/practices'
import { daily, type Practice, practice } from '../scheduling/provider'

const quebec: Region = { ...ontario, id: 2, code: 'QC', localName: 'Québec' }
const zones = builtInZones()

/** A directory of one provider, with licenses that alternate between Ontario and Québec. Request N has taken slot N. */
async function directoryOf(
  { taken, licenses, ...schedule }: Practice,
  different: Partial<Provider> = {},
  regions: readonly Region[] = [ontario, quebec],
): Promise<{ context: Context; provider: Provider }> {
  const provider: Provider = {
    ...anyone,
    id: 1,
    ref: 'on-1',
    inPersonRegionIds: [],
    ...schedule,
    licenses: licenses.map((license, index) => ({ ...license, regionId: (index % 2) + 1 })),
    ...different,
  }
  const held = taken.map((start, index) => ({
    requestId: index + 1,
    startsAt: start * minuteMillis,
    endsAt: (start + slotMinutes) * minuteMillis,
    localOffsetMinutes: 0,
  }))
  const changes = { version: {}, keys: [], regions, providers: [provider], unreadable: [] }
  const directory = await Directory.load({
    feed: {
      changesSince: async () => ({ ...changes, taken: new Map([[1, held]]) }) as unknown as DirectoryChanges,
    },
    findZone: zones.find,
    clock: { now: () => now },
    report: () => {},
  })
  return { context: { directory } as Context, provider }
}

const now = Date.parse('2026-12-01T12:00:00Z')

/** Explains a slot of a practice. The time is Tuesday, 07:00 in Toronto. */
async function whyOf(
  given: Practice,
  startsAt: string,
  different: Partial<Provider> = {},
  regions: readonly Region[] = [ontario, quebec],
) {
  const { context, provider } = await directoryOf(given, different, regions)
  return explainSlot(context, provider, Date.parse(startsAt), null, now)
}

const nineToFive = practice({ workingHours: [daily('09:00', '12:00'), daily('13:00', '17:00')] })

test('operations: explainSlot and listFreeSlots agree on each slot', async () => {
  const picks = fc.array(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), {
    minLength: 12,
    maxLength: 12,
  })
  await fc.assert(
    fc.asyncProperty(asked, picks, fc.boolean(), async ({ practice, now }, picks, isQuebecActive) => {
      const { context, provider } = await directoryOf(practice, {}, [
        ontario,
        { ...quebec, active: isQuebecActive },
      ])
      for (const region of [null, ontario, { ...quebec, active: isQuebecActive }]) {
        const free = listFreeSlots(context, provider, region, now)
        const minute = Math.floor(now / minuteMillis)
        const starts = picks.flatMap((pick) => [
          free[Math.floor(pick * free.length)] ?? now,
          (minute - 60 + Math.floor(pick * (horizonMinutes + 120))) * minuteMillis,
          (practice.taken[Math.floor(pick * practice.taken.length)] ?? minute) * minuteMillis,
        ])
        for (const startsAt of starts) {
          const { offered, reason } = explainSlot(context, provider, startsAt, region, now)
          expect(offered, `${startsAt} ${reason}`).toBe(free.includes(startsAt))
          expect(offered).toBe(reason === null)
        }
      }
    }),
    { numRuns: 150 },
  )
}, 300_000)

test('operations: explainSlot gives no reason for an offered slot', async () => {
  expect(await whyOf(nineToFive, '2026-12-01T14:00:00Z')).toEqual({
    offered: true,
    reason: null,
    why: 'the slot is offered',
    requestId: null,
    nearestStartsAt: [],
  })
})

test('operations: explainSlot reports a slot as offered at its start, and as past one minute later', async () => {
  expect(
    await whyOf(practice({ workingHours: [daily('07:00', '08:00')] }), '2026-12-01T12:00:00Z'),
  ).toMatchObject({
    offered: true,
  })
  expect(
    await whyOf(practice({ workingHours: [daily('06:59', '08:00')] }), '2026-12-01T11:59:00Z'),
  ).toMatchObject({
    reason: 'past',
  })
})

const cases: [name: string, practice: Practice, startsAt: string, reason: string, why: string][] = [
  [
    'that is over',
    nineToFive,
    '2026-11-30T14:00:00Z',
    'past',
    "the slot is in the past: the provider's local time is Tue 2026-12-01 07:00",
  ],
  [
    'that is too far ahead',
    nineToFive,
    '2027-01-04T14:00:00Z',
    'horizon',
    'slots are offered 30 days ahead; this one can be booked from Sat 2026-12-05 09:00',
  ],
  [
    'within the minimum notice',
    { ...nineToFive, minimumNoticeMinutes: 180 },
    '2026-12-01T14:00:00Z',
    'notice',
    "the provider requires 180 minutes' notice; the deadline was Tue 2026-12-01 06:00",
  ],
  [
    'of a provider without a license',
    { ...nineToFive, licenses: [] },
    '2026-12-01T14:00:00Z',
    'no_license',
    'the provider holds no license for any active region',
  ],
  [
    'after the end of the license',
    { ...nineToFive, licenses: [{ from: '2020-01-01', until: '2026-12-02' }] },
    '2026-12-03T14:00:00Z',
    'license_ended',
    'the license for CA-ON ended on 2026-12-02 in America/Toronto',
  ],
  [
    'before the start of the license',
    { ...nineToFive, licenses: [{ from: '2026-12-04', until: null }] },
    '2026-12-03T14:00:00Z',
    'license_not_started',
    'the license for CA-ON starts on 2026-12-04 in America/Toronto',
  ],
  [
    'after several licenses, naming the last one to end',
    {
      ...nineToFive,
      licenses: [
        { from: '2020-01-01', until: '2026-12-02' },
        { from: '2020-01-01', until: '2021-12-31' },
      ],
    },
    '2026-12-03T14:00:00Z',
    'license_ended',
    'the license for CA-ON ended on 2026-12-02 in America/Toronto',
  ],
  [
    'between two licenses, naming the nearer one',
    {
      ...nineToFive,
      licenses: [
        { from: '2020-01-01', until: '2026-11-30' },
        { from: '2026-12-04', until: null },
      ],
    },
    '2026-12-03T14:00:00Z',
    'license_not_started',
    'the license for CA-QC starts on 2026-12-04 in America/Toronto',
  ],
  [
    'over midnight between the licenses of two regions',
    practice({
      workingHours: [daily('23:30', '00:15')],
      licenses: [
        { from: '2020-01-01', until: '2026-12-03' },
        { from: '2026-12-04', until: null },
      ],
    }),
    '2026-12-04T04:30:00Z',
    'license_ended',
    'the license for CA-ON ended on 2026-12-03 in America/Toronto',
  ],
  [
    'on a date with other hours',
    { ...nineToFive, overrides: [{ date: '2026-12-03', windows: [{ start: '15:00', end: '17:00' }] }] },
    '2026-12-03T14:00:00Z',
    'override',
    'an override replaces the hours of Thu 2026-12-03: 15:00 to 17:00',
  ],
  [
    'on a date without working hours',
    { ...nineToFive, overrides: [{ date: '2026-12-03', windows: [] }] },
    '2026-12-03T14:00:00Z',
    'override',
    'an override replaces the hours of Thu 2026-12-03: none',
  ],
  [
    'after midnight, in a window that an override of the previous day removed',
    practice({ workingHours: [daily('22:30', '02:00')], overrides: [{ date: '2026-12-03', windows: [] }] }),
    '2026-12-04T05:00:00Z',
    'override',
    'an override replaces the hours of Thu 2026-12-03: none',
  ],
  [
    'after midnight, in a window of the previous day, when both days have overrides',
    practice({
      workingHours: [daily('22:30', '02:00')],
      overrides: [
        { date: '2026-12-03', windows: [{ start: '09:00', end: '10:00' }] },
        { date: '2026-12-04', windows: [] },
      ],
    }),
    '2026-12-04T05:00:00Z',
    'override',
    'an override replaces the hours of Thu 2026-12-03: 09:00 to 10:00',
  ],
  [
    'over midnight, in windows that overlap there, when the second day has an override',
    practice({
      workingHours: [daily('22:00', '00:10'), daily('00:00', '06:00')],
      overrides: [{ date: '2026-12-04', windows: [{ start: '00:10', end: '06:00' }] }],
    }),
    '2026-12-04T04:30:00Z',
    'override',
    'an override replaces the hours of Fri 2026-12-04: 00:10 to 06:00',
  ],
  [
    'off the grid because an override of another date moved the slots',
    practice({
      workingHours: [daily('22:00', '00:10'), daily('00:00', '06:00')],
      overrides: [{ date: '2026-12-03', windows: [] }],
    }),
    '2026-12-04T06:00:00Z',
    'off_grid',
    'no slot starts at this time; the nearest slots start at Fri 2026-12-04 00:45 and Fri 2026-12-04 01:30',
  ],
  [
    'outside working hours',
    nineToFive,
    '2026-12-03T13:00:00Z',
    'outside_hours',
    'the slot is outside the working hours: Thu 2026-12-03 has 09:00 to 12:00, 13:00 to 17:00',
  ],
  [
    'outside working hours that run over midnight',
    practice({ workingHours: [daily('22:00', '02:00')] }),
    '2026-12-03T08:00:00Z',
    'outside_hours',
    'the slot is outside the working hours: Thu 2026-12-03 has 22:00 to 02:00 the next day, ' +
      'Wed 2026-12-02 has 22:00 to 02:00 the next day',
  ],
  [
    'only partly within working hours',
    nineToFive,
    '2026-12-03T16:30:00Z',
    'outside_hours',
    'the slot is outside the working hours: Thu 2026-12-03 has 09:00 to 12:00, 13:00 to 17:00',
  ],
  [
    'between two starts',
    nineToFive,
    '2026-12-03T14:20:00Z',
    'off_grid',
    'no slot starts at this time; the nearest slots start at Thu 2026-12-03 09:00 and Thu 2026-12-03 09:45',
  ],
  [
    'one second off a start',
    nineToFive,
    '2026-12-03T14:00:01Z',
    'off_grid',
    'no slot starts at this time; the nearest slots start at Thu 2026-12-03 09:00 and Thu 2026-12-03 09:45',
  ],
  [
    'within time off',
    { ...nineToFive, timeOff: [{ from: '2026-12-03', until: '2026-12-04' }] },
    '2026-12-03T14:00:00Z',
    'time_off',
    'the provider has time off from Thu 2026-12-03 00:00 to Sat 2026-12-05 00:00',
  ],
]

test.each(cases)('operations: explainSlot explains a slot %s', async (_, practice, startsAt, reason, why) => {
  expect(await whyOf(practice, startsAt)).toMatchObject({ offered: false, reason, why })
})

test('operations: explainSlot returns the id of the request whose slot overlaps', async () => {
  const start = Date.parse('2026-12-03T14:00:00Z') / minuteMillis
  const busy = { ...nineToFive, taken: [start - 1_440, start + 10] }
  expect(await whyOf(busy, '2026-12-03T14:00:00Z')).toMatchObject({
    reason: 'taken',
    requestId: 2,
    why: 'the slot is taken by request 2, which starts at Thu 2026-12-03 09:10',
  })
})

test('operations: explainSlot reports a deactivated provider or region before any other reason', async () => {
  expect(await whyOf(nineToFive, '2020-01-01T00:00:00Z', { active: false })).toMatchObject({
    reason: 'provider_deactivated',
    why: 'the provider is deactivated',
  })
  const closed = [{ ...ontario, active: false }]
  expect(await whyOf(nineToFive, '2026-12-03T14:00:00Z', {}, closed)).toMatchObject({
    reason: 'region_deactivated',
    why: 'the region CA-ON is deactivated',
  })
})

test('operations: explainSlot does not report a deactivated region if the license for the region is not valid at the slot', async () => {
  const closed = [{ ...ontario, active: false }, quebec]
  const ended = { from: '2020-01-01', until: '2021-12-31' }
  const toCome = { from: '2026-12-04', until: null }
  const why = (...licenses: Practice['licenses']) =>
    whyOf({ ...nineToFive, licenses }, '2026-12-03T14:00:00Z', {}, closed)
  expect(await why(ended, toCome)).toMatchObject({
    reason: 'license_not_started',
    why: 'the license for CA-QC starts on 2026-12-04 in America/Toronto',
  })
  expect(await why(ended)).toMatchObject({
    reason: 'no_license',
    why: 'the provider holds no license for any active region',
  })
})

test('operations: explainSlot reports not_listed in a region if the license of the provider has not started yet', async () => {
  const later = { ...nineToFive, licenses: [{ from: '2026-12-03', until: null }] }
  const { context, provider } = await directoryOf(later)
  const startsAt = Date.parse('2026-12-03T14:00:00Z')
  expect(explainSlot(context, provider, startsAt, null, now).offered).toBe(true)
  expect(explainSlot(context, provider, startsAt, ontario, now).reason).toBe('not_listed')
  expect(explainSlot(context, provider, startsAt, quebec, now).reason).toBe('no_license')
})

test("operations: explainSlot reports a slot across midnight as offered if the provider's license is renewed at midnight", async () => {
  const given = practice({
    workingHours: [daily('23:30', '00:15')],
    licenses: [
      { from: '2026-12-04', until: '2026-12-31' },
      { from: '2015-01-01', until: '2015-12-31' },
      { from: '2020-01-01', until: '2026-12-03' },
    ],
  })
  const { context, provider } = await directoryOf(given)
  const startsAt = Date.parse('2026-12-04T04:30:00Z')
  for (const region of [null, ontario]) {
    expect(explainSlot(context, provider, startsAt, region, now).offered).toBe(true)
  }
  expect(explainSlot(context, provider, startsAt, quebec, now)).toMatchObject({
    reason: 'license_ended',
    why: 'the license for CA-QC ended on 2015-12-31 in America/Toronto',
  })
})
