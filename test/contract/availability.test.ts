import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { booking, provider, region } from '../support/builders'
import { startService } from '../support/service'
import { daily, entryOf, expectRefusal, on, paths, slotsAt } from './contract'

type Provider = ReturnType<typeof provider>

const working = (lastName: string, different: Partial<Provider>): Provider =>
  provider(`ref-${lastName}`, { lastName, timeZone: 'Etc/UTC', ...different })

const inOntario = (...providers: Provider[]) => ({ regions: [region({ id: 31 })], providers })

describe('the slots of a schedule', () => {
  // The 3rd of December is a Thursday.
  const third = (time: string) => `2026-12-03T${time}:00Z`
  const fourth = (time: string) => `2026-12-04T${time}:00Z`

  const rows: { name: string; why: string; schedule: Partial<Provider>; starts: string[] }[] = [
    {
      name: 'Window',
      why: 'one after another from the start of the window',
      schedule: { workingHours: [on('2026-12-03', '09:10', '12:10')] },
      starts: [third('09:10'), third('09:55'), third('10:40'), third('11:25')],
    },
    {
      name: 'Minute',
      why: 'a slot that does not fit whole is none',
      schedule: { workingHours: [on('2026-12-03', '09:00', '11:14')] },
      starts: [third('09:00'), third('09:45')],
    },
    {
      name: 'Short',
      why: 'a window of 44 minutes has none',
      schedule: { workingHours: [on('2026-12-03', '09:00', '09:44'), on('2026-12-03', '13:00', '13:45')] },
      starts: [third('13:00')],
    },
    {
      name: 'Lunch',
      why: 'each window has a grid of its own',
      schedule: { workingHours: [on('2026-12-03', '13:05', '14:35'), on('2026-12-03', '09:00', '10:30')] },
      starts: [third('09:00'), third('09:45'), third('13:05'), third('13:50')],
    },
    {
      name: 'Step',
      why: 'a longer step leaves a break between sessions',
      schedule: { workingHours: [on('2026-12-03', '09:00', '11:45', { stepMinutes: 60 })] },
      starts: [third('09:00'), third('10:00'), third('11:00')],
    },
    {
      name: 'Overlap',
      why: 'overlapping windows are merged first',
      schedule: { workingHours: [on('2026-12-03', '09:00', '10:00'), on('2026-12-03', '09:30', '11:15')] },
      starts: [third('09:00'), third('09:45'), third('10:30')],
    },
    {
      name: 'Inside',
      why: 'a window inside another adds nothing',
      schedule: { workingHours: [on('2026-12-03', '09:00', '11:15'), on('2026-12-03', '09:20', '10:40')] },
      starts: [third('09:00'), third('09:45'), third('10:30')],
    },
    {
      name: 'Touching',
      why: 'touching windows are not merged',
      schedule: { workingHours: [on('2026-12-03', '09:00', '10:00'), on('2026-12-03', '10:00', '11:00')] },
      starts: [third('09:00'), third('10:00')],
    },
    {
      name: 'Night',
      why: 'a window runs past midnight',
      schedule: { workingHours: [on('2026-12-03', '22:30', '01:00')] },
      starts: [third('22:30'), third('23:15'), fourth('00:00')],
    },
    {
      name: 'Midnight',
      why: 'a window ends at 24:00',
      schedule: { workingHours: [on('2026-12-03', '22:30', '24:00')] },
      starts: [third('22:30'), third('23:15')],
    },
    {
      name: 'OverrideAfterNight',
      why: "an override leaves the tail of the night before, which belongs to that night's date",
      schedule: {
        workingHours: [on('2026-12-03', '22:30', '01:00'), on('2026-12-04', '09:00', '12:00')],
        overrides: [{ date: '2026-12-04', windows: [{ start: '15:00', end: '15:45' }] }],
      },
      starts: [third('22:30'), third('23:15'), fourth('00:00'), fourth('15:00')],
    },
    {
      name: 'OverrideOfNight',
      why: 'an override of the date on which a night begins replaces all of it',
      schedule: {
        workingHours: [on('2026-12-03', '22:30', '01:00'), on('2026-12-04', '09:00', '09:45')],
        overrides: [{ date: '2026-12-03', windows: [] }],
      },
      starts: [fourth('09:00')],
    },
    {
      name: 'Override',
      why: 'an override replaces the windows of its date and no other',
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
      name: 'OverrideOfNothing',
      why: 'an override opens a date that has no windows',
      schedule: {
        workingHours: [],
        overrides: [{ date: '2026-12-03', windows: [{ start: '23:30', end: '00:15' }] }],
      },
      starts: [third('23:30')],
    },
    {
      name: 'DayOff',
      why: 'time off takes whole dates, the last one too',
      schedule: {
        workingHours: [on('2026-12-03', '09:00', '09:45'), on('2026-12-04', '09:00', '09:45')],
        timeOff: [{ from: '2026-12-02', until: '2026-12-03' }],
      },
      starts: [fourth('09:00')],
    },
    {
      name: 'HoursOff',
      why: 'time off takes the slots that it touches and leaves the grid',
      schedule: {
        workingHours: [on('2026-12-03', '09:00', '12:45')],
        timeOff: [{ from: '2026-12-03T09:50', until: '2026-12-03T10:31' }],
      },
      starts: [third('09:00'), third('11:15'), third('12:00')],
    },
    {
      name: 'ExactOff',
      why: 'time off of exactly a slot leaves its neighbours',
      schedule: {
        workingHours: [on('2026-12-03', '09:00', '11:15')],
        timeOff: [{ from: '2026-12-03T09:45', until: '2026-12-03T10:30' }],
      },
      starts: [third('09:00'), third('10:30')],
    },
    {
      name: 'NightOff',
      why: 'time off takes the slots of a night that reach into its date',
      schedule: {
        workingHours: [on('2026-12-03', '22:30', '01:30')],
        timeOff: [{ from: '2026-12-04', until: '2026-12-04' }],
      },
      starts: [third('22:30'), third('23:15')],
    },
    {
      name: 'OverrideAndOff',
      why: 'time off is taken from an override too',
      schedule: {
        workingHours: [],
        overrides: [{ date: '2026-12-03', windows: [{ start: '09:00', end: '11:15' }] }],
        timeOff: [{ from: '2026-12-03T08:00', until: '2026-12-03T09:01' }],
      },
      starts: [third('09:45'), third('10:30')],
    },
    {
      name: 'Vancouver',
      why: 'windows are local, by the law of today: 16:00Z is 09:00 all year',
      schedule: {
        timeZone: 'America/Vancouver',
        workingHours: [on('2026-12-01', '09:00', '09:45'), on('2026-12-03', '16:00', '16:45')],
      },
      starts: ['2026-12-01T16:00:00Z', third('23:00')],
    },
    {
      name: 'Kathmandu',
      why: 'windows are local in a zone of 45 minutes',
      schedule: { timeZone: 'Asia/Kathmandu', workingHours: [on('2026-12-03', '09:00', '09:45')] },
      starts: [third('03:15')],
    },
    {
      name: 'Kiritimati',
      why: 'windows are local in a zone of 14 hours, where the date is another',
      schedule: { timeZone: 'Pacific/Kiritimati', workingHours: [on('2026-12-04', '09:00', '09:45')] },
      starts: [third('19:00')],
    },
    {
      name: 'Weekdays',
      why: 'working hours hold on their weekdays between their dates, both inclusive',
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
      name: 'Today',
      why: 'what has begun is gone, what begins now is there',
      schedule: { workingHours: [on('2026-12-01', '10:30', '13:30')] },
      starts: ['2026-12-01T12:00:00Z', '2026-12-01T12:45:00Z'],
    },
    {
      name: 'Notice',
      why: 'the minimum notice takes the slots that begin too soon and leaves the grid',
      schedule: { minimumNoticeMinutes: 100, workingHours: [on('2026-12-01', '12:00', '15:45')] },
      starts: ['2026-12-01T14:15:00Z', '2026-12-01T15:00:00Z'],
    },
    {
      name: 'NoticeOfDays',
      why: 'the minimum notice may be days',
      schedule: {
        minimumNoticeMinutes: 3 * 24 * 60,
        workingHours: [
          on('2026-12-03', '09:00', '09:45'),
          on('2026-12-04', '09:00', '09:45'),
          on('2026-12-05', '09:00', '09:45'),
        ],
      },
      starts: ['2026-12-05T09:00:00Z'],
    },
    {
      name: 'Beyond',
      why: 'the horizon is 30 days of 24 hours: it ends on the 31st at noon, which is outside',
      schedule: { workingHours: [on('2026-12-31', '10:30', '13:30')] },
      starts: ['2026-12-31T10:30:00Z', '2026-12-31T11:15:00Z'],
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

  test('every slot that a search offers can be booked, and then no more', async () => {
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
    expect([offered.length > 60, left]).toEqual([true, []])

    for (const answer of await book('latecomer')) {
      expectRefusal(answer, { status: 400, kind: 'slot_unavailable' })
    }
  })
})

describe('the next 30 days', () => {
  const noons = (first: string) =>
    Array.from(
      { length: 30 },
      (_, i) => `${new Date(Date.parse(first) + i * 86_400_000).toISOString().slice(0, 19)}Z`,
    )
  const rows = [
    { now: '2026-12-01T11:59:59Z', first: '2026-12-01T12:00:00Z' },
    { now: '2026-12-01T12:00:00Z', first: '2026-12-01T12:00:00Z' },
    { now: '2026-12-01T12:00:01Z', first: '2026-12-02T12:00:00Z' },
    { now: '2027-02-15T12:00:00Z', first: '2027-02-15T12:00:00Z' },
  ]
  for (const { now, first } of rows) {
    test(`at ${now} are the 30 noons from ${first}`, async () => {
      const service = await startService({
        now,
        directory: inOntario(working('Noon', { workingHours: [daily('12:00', '12:45')] })),
      })
      try {
        expect((await entryOf(service, 31, 'Noon')).availability).toEqual(slotsAt(...noons(first)))
      } finally {
        await service.stop()
      }
    })
  }

  test('move on with the clock from one search to the next', async () => {
    const service = await startService({
      now: '2026-12-01T12:00:00Z',
      directory: inOntario(working('Noon', { workingHours: [daily('12:00', '12:45')] })),
    })
    try {
      for (const { now, first } of rows.slice(1)) {
        service.setNow(now)
        expect((await entryOf(service, 31, 'Noon')).availability).toEqual(slotsAt(...noons(first)))
      }
    } finally {
      await service.stop()
    }
  })

  test('bound a booking as they bound a search', async () => {
    const service = await startService({
      now: '2026-12-01T12:00:00Z',
      directory: inOntario(working('Noon', { workingHours: [daily('12:00', '12:45')] })),
    })
    try {
      const { providerId } = await entryOf(service, 31, 'Noon')
      const book = (utcStartTime: string) =>
        service.post(paths.booking, booking('noon', { providerId, utcStartTime }))
      for (const start of ['2026-11-30T12:00:00Z', '2026-12-31T12:00:00Z', '2027-12-01T12:00:00Z']) {
        expectRefusal(await book(start), { status: 400, path: /bookingData/ })
      }
      for (const start of ['2026-12-01T12:00:00Z', '2026-12-30T12:00:00Z']) {
        expect((await book(start)).status).toBe(201)
      }
      service.setNow('2026-12-01T12:00:01Z')
      expect((await book('2026-12-31T12:00:00Z')).status).toBe(201)
      service.setNow('2026-12-02T12:00:01Z')
      expectRefusal(await book('2026-12-02T12:00:00Z'), { status: 400, path: /bookingData/ })
    } finally {
      await service.stop()
    }
  })
})

describe('a booking in the grid', () => {
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

  test('takes its slot and no other, in every region, for every partner, until it is declined', async () => {
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

      await service.context.store.decline(first.body.id, service.act())
      expect(await offered(31)).toEqual(slotsAt(...grid.filter((at) => at !== third)))
      expect((await service.post(paths.booking, late, other.token)).status).toBe(201)
      expect(await offered(31)).toEqual(slotsAt(...grid.filter((at) => at !== second && at !== third)))
    } finally {
      await service.stop()
    }
  })

  test('holds off the grid no slot: between two, beside the window, across its end', async () => {
    const service = await start()
    try {
      const { providerId } = await entryOf(service, 31, 'Grid')
      const offGrid = ['09:01', '09:15', '09:44', '08:15', '08:59', '11:16', '12:00', '21:00']
      for (const time of offGrid) {
        const utcStartTime = `2026-12-03T${time}:00Z`
        const answer = await service.post(paths.booking, booking('off', { providerId, utcStartTime }))
        expectRefusal(answer, { status: 400, path: /bookingData/, absent: [utcStartTime] })
      }
      const byASecond = booking('off', { providerId, utcStartTime: '2026-12-03T09:00:01Z' })
      expectRefusal(await service.post(paths.booking, byASecond), { status: 400, path: /bookingData/ })
      expect((await entryOf(service, 31, 'Grid')).availability).toEqual(slotsAt(...grid))
    } finally {
      await service.stop()
    }
  })
})

describe('the days on which clocks change', () => {
  const start = () =>
    startService({
      now: '2027-03-10T00:00:00Z',
      directory: inOntario(
        working('Spring', {
          timeZone: 'America/Toronto',
          workingHours: [on('2027-03-14', '01:00', '04:00'), on('2027-03-15', '01:00', '04:00')],
        }),
        working('Evening', {
          timeZone: 'America/Toronto',
          workingHours: [on('2027-03-13', '23:00', '03:30'), on('2027-03-14', '09:00', '09:45')],
        }),
        working('Autumn', {
          timeZone: 'America/Toronto',
          workingHours: [on('2027-11-07', '01:00', '04:00')],
        }),
      ),
    })

  test('have windows of their true length', async () => {
    const service = await start()
    try {
      expect((await entryOf(service, 31, 'Spring')).availability).toEqual(
        slotsAt(
          '2027-03-14T06:00:00Z',
          '2027-03-14T06:45:00Z',
          '2027-03-15T05:00:00Z',
          '2027-03-15T05:45:00Z',
          '2027-03-15T06:30:00Z',
          '2027-03-15T07:15:00Z',
        ),
      )
      // 23:00 is 04:00Z, and 03:30 is 07:30Z: three and a half hours, not four and a half.
      expect((await entryOf(service, 31, 'Evening')).availability).toEqual(
        slotsAt(
          '2027-03-14T04:00:00Z',
          '2027-03-14T04:45:00Z',
          '2027-03-14T05:30:00Z',
          '2027-03-14T06:15:00Z',
          '2027-03-14T13:00:00Z',
        ),
      )
      service.setNow('2027-11-01T00:00:00Z')
      const { availability } = await entryOf(service, 31, 'Autumn')
      const starts = ['05:00', '05:45', '06:30', '07:15', '08:00'].map((time) => `2027-11-07T${time}:00Z`)
      expect(availability).toEqual(slotsAt(...starts))
    } finally {
      await service.stop()
    }
  })
})
