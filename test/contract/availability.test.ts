import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { actsOf } from '../support/acts'
import { booking, provider, region } from '../support/builders'
import { startService } from '../support/service'
import { daily, entryOf, expectRefusal, on, paths, slotsAt } from './contract'

type Provider = ReturnType<typeof provider>

const working = (lastName: string, different: Partial<Provider>): Provider =>
  provider(`ref-${lastName}`, { lastName, timeZone: 'Etc/UTC', ...different })

const inOntario = (...providers: Provider[]) => ({ regions: [region({ id: 31 })], providers })

describe('contract: the slots of a schedule', () => {
  // The 3rd of December is a Thursday.
  const third = (time: string) => `2026-12-03T${time}:00Z`
  const fourth = (time: string) => `2026-12-04T${time}:00Z`

  const rows: { name: string; why: string; schedule: Partial<Provider>; starts: string[] }[] = [
    {
      name: 'Window',
      why: 'slots follow one another from the start of the working hours',
      schedule: { workingHours: [on('2026-12-03', '09:10', '12:10')] },
      starts: [third('09:10'), third('09:55'), third('10:40'), third('11:25')],
    },
    {
      name: 'Lunch',
      why: 'the slots after lunch start at the end of lunch',
      schedule: { workingHours: [on('2026-12-03', '13:05', '14:35'), on('2026-12-03', '09:00', '10:30')] },
      starts: [third('09:00'), third('09:45'), third('13:05'), third('13:50')],
    },
    {
      name: 'Night',
      why: 'working hours can cross midnight',
      schedule: { workingHours: [on('2026-12-03', '22:30', '01:00')] },
      starts: [third('22:30'), third('23:15'), fourth('00:00')],
    },
    {
      name: 'Override',
      why: 'an override replaces only the hours of its date',
      schedule: {
        workingHours: [on('2026-12-03', '09:00', '12:00'), on('2026-12-04', '09:00', '09:45')],
        overrides: [
          {
            date: '2026-12-03',
            windows: [
              { start: '16:00', end: '17:45', stepMinutes: 60 },
              { start: '08:00', end: '08:45' },
            ],
          },
        ],
      },
      starts: [third('08:00'), third('16:00'), third('17:00'), fourth('09:00')],
    },
    {
      name: 'HoursOff',
      why: 'time off removes the slots that it touches and does not shift the others',
      schedule: {
        workingHours: [on('2026-12-03', '09:00', '12:45')],
        timeOff: [{ from: '2026-12-03T09:50', until: '2026-12-03T10:31' }],
      },
      starts: [third('09:00'), third('11:15'), third('12:00')],
    },
    {
      name: 'Kiritimati',
      why: 'working hours are local in a UTC+14 zone, with another date',
      schedule: { timeZone: 'Pacific/Kiritimati', workingHours: [on('2026-12-04', '09:00', '09:45')] },
      starts: [third('19:00')],
    },
    {
      name: 'Weekdays',
      why: 'working hours apply on their weekdays from the first to the last date',
      schedule: {
        workingHours: [
          {
            weekdays: ['thursday', 'sunday'],
            start: '09:00',
            end: '09:45',
            from: '2026-12-03',
            until: '2026-12-10',
          },
        ],
      },
      starts: [third('09:00'), '2026-12-06T09:00:00Z', '2026-12-10T09:00:00Z'],
    },
    {
      name: 'Notice',
      why: 'the minimum notice removes the slots that start too soon and does not shift the others',
      schedule: { minimumNoticeMinutes: 100, workingHours: [on('2026-12-01', '12:00', '15:45')] },
      starts: ['2026-12-01T14:15:00Z', '2026-12-01T15:00:00Z'],
    },
  ]

  const start = () =>
    startService({ directory: inOntario(...rows.map(({ name, schedule }) => working(name, schedule))) })
  let service: Awaited<ReturnType<typeof start>>
  beforeAll(async () => {
    service = await start()
  })
  afterAll(() => service.stop())

  for (const { name, why, starts } of rows) {
    test(`${name}: ${why}`, async () => {
      expect((await entryOf(service, 31, name)).availability).toEqual(slotsAt(...starts))
    })
  }

  test('every slot that a search offers can be booked once', async () => {
    const { body } = await service.get(`${paths.providers}?region_id=31&page_size=100`)
    const offered: { providerId: number; utcStartTime: string }[] = body.results.flatMap(
      ({ providerId, availability }: { providerId: number; availability: { utcStartTime: string }[] }) =>
        availability.map(({ utcStartTime }) => ({ providerId, utcStartTime })),
    )
    const book = (prefix: string) =>
      Promise.all(offered.map((slot, i) => service.post(paths.booking, booking(`${prefix}-${i}`, slot))))
    expect((await book('member')).map(({ status }) => status)).toEqual(offered.map(() => 201))

    const after = await service.get(`${paths.providers}?region_id=31&page_size=100`)
    expect(after.body.count).toBe(rows.length)
    const left = after.body.results.flatMap(({ availability }: { availability: unknown[] }) => availability)
    expect([offered.length > 15, left]).toEqual([true, []])

    for (const answer of await book('latecomer')) {
      expectRefusal(answer, { status: 400, kind: 'slot_unavailable' })
    }
  })
})

describe('contract: availability of the next 30 days', () => {
  const noons = (first: string) =>
    Array.from(
      { length: 30 },
      (_, i) => `${new Date(Date.parse(first) + i * 86_400_000).toISOString().slice(0, 19)}Z`,
    )
  const rows = [
    { now: '2026-12-01T12:00:00Z', first: '2026-12-01T12:00:00Z' },
    { now: '2026-12-01T12:00:01Z', first: '2026-12-02T12:00:00Z' },
    { now: '2027-02-15T12:00:00Z', first: '2027-02-15T12:00:00Z' },
  ]

  test('starts at the current time of each search', async () => {
    const service = await startService({
      now: '2026-12-01T12:00:00Z',
      directory: inOntario(working('Noon', { workingHours: [daily('12:00', '12:45')] })),
    })
    try {
      for (const { now, first } of rows) {
        service.setNow(now)
        expect((await entryOf(service, 31, 'Noon')).availability).toEqual(slotsAt(...noons(first)))
      }
    } finally {
      await service.stop()
    }
  })
})

describe('contract: the slot of a booking', () => {
  const grid = ['09:00', '09:45', '10:30', '11:15'].map((time) => `2026-12-03T${time}:00Z`)
  const start = () =>
    startService({
      directory: {
        regions: [region({ id: 31 }), region({ id: 12, stateProvinceCode: 'QC' })],
        providers: ['Grid', 'Neighbour'].map((name) =>
          working(name, {
            licenses: [
              { region: 'CA-ON', from: '2020-01-01' },
              { region: 'CA-QC', from: '2020-01-01' },
            ],
            workingHours: [on('2026-12-03', '09:00', '12:00')],
          }),
        ),
      },
    })

  test('disappears in every region and for every partner until the booking is declined', async () => {
    const service = await start()
    try {
      const { providerId } = await entryOf(service, 31, 'Grid')
      const other = await service.addPartner('Second Partner')
      const offered = async (regionId: number) => (await entryOf(service, regionId, 'Grid')).availability
      const [, second = '', third = ''] = grid

      const first = await service.post(paths.booking, booking('one', { providerId, utcStartTime: second }))
      expect(first.status).toBe(201)
      for (const regionId of [31, 12]) {
        expect(await offered(regionId)).toEqual(slotsAt(...grid.filter((at) => at !== second)))
        expect((await entryOf(service, regionId, 'Neighbour')).availability).toEqual(slotsAt(...grid))
      }
      const late = booking('two', { providerId, utcStartTime: second })
      expectRefusal(await service.post(paths.booking, late, other.token), {
        status: 400,
        kind: 'slot_unavailable',
        path: /bookingData/,
      })

      const next = booking('two', { providerId, utcStartTime: third })
      expect((await service.post(paths.booking, next, other.token)).status).toBe(201)
      expect(await offered(31)).toEqual(slotsAt(...grid.filter((at) => at !== second && at !== third)))

      await actsOf(service.context).decline(first.body.id, service.act())
      expect(await offered(31)).toEqual(slotsAt(...grid.filter((at) => at !== third)))
      expect((await service.post(paths.booking, late, other.token)).status).toBe(201)
      expect(await offered(31)).toEqual(slotsAt(...grid.filter((at) => at !== second && at !== third)))
    } finally {
      await service.stop()
    }
  })
})
