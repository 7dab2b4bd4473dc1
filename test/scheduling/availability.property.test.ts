import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { horizonMinutes, slotMinutes } from '../../src/scheduling/availability'
import { minuteMillis } from '../../src/scheduling/calendar'
import { isLong } from '../support/long'
import { oracleSlots } from './oracle'
import { asked } from './practices'
import { availabilityOf, obstacleOf, offers, type Practice, slotsWithinOf } from './provider'

// TEST_LONG=1 runs 100 times as many cases. FAST_CHECK_SEED repeats a failure with its printed seed.
const seed = process.env.FAST_CHECK_SEED
const timeout = isLong ? 3_600_000 : 300_000

function holds<T>(property: fc.IProperty<T>, runs: number): void {
  fc.assert(property, { numRuns: isLong ? runs * 100 : runs, ...(seed && { seed: Number(seed) }) })
}

describe('scheduling: availability of random practices at random moments', () => {
  test(
    'equals the result of a scan of every minute',
    () => {
      holds(
        fc.property(asked, ({ practice, now }) => {
          const expected = oracleSlots(practice, now)
          fc.pre(expected.seesBeginnings)
          expect([...availabilityOf(practice, now).slots]).toEqual(expected.slots)
        }),
        200,
      )
    },
    timeout,
  )

  test(
    'agrees with a query for each single slot start',
    () => {
      const elsewhere = fc.oneof(
        fc.integer({ min: -50, max: 50 }),
        fc.integer({ min: -5e6, max: 5e6 }),
        fc.double({ min: 0, max: 40_000, noNaN: true }),
      )
      holds(
        fc.property(asked, fc.array(elsewhere, { maxLength: 20 }), ({ practice, now }, moved) => {
          const { slots } = availabilityOf(practice, now)
          const first = slots[0] ?? Math.floor(now / minuteMillis)
          const begins = now / minuteMillis
          const taken = practice.taken.flatMap((start) => [start, start + slotMinutes])
          const starts = [...slots, ...moved.flatMap((by) => [first + by, begins + by]), ...taken]
          const expected = starts.filter((start) => offers(practice, start, now))
          expect(expected).toEqual(starts.filter((start) => slots.includes(start)))
        }),
        150,
      )
    },
    timeout,
  )

  test(
    'agrees with a query for any interval',
    () => {
      const stretch = fc.tuple(fc.integer({ min: -3_000, max: 60_000 }), fc.nat({ max: 8_000 }))
      holds(
        fc.property(asked, stretch, ({ practice, now }, [after, minutes]) => {
          const start = Math.floor(now / minuteMillis) + after
          const expected = slotsWithinOf(practice, { start, end: start + minutes }, now)
          const { slots } = availabilityOf(practice, now)
          expect(expected).toEqual(slots.filter((slot) => slot >= start && slot < start + minutes))
          expect(slotsWithinOf(practice, { start: -Infinity, end: Infinity }, now)).toEqual([...slots])
        }),
        250,
      )
    },
    timeout,
  )

  test(
    'is an ascending list of slots that do not overlap',
    () => {
      holds(
        fc.property(asked, ({ practice, now }) => {
          const { slots } = availabilityOf(practice, now)
          for (const [index, start] of slots.entries()) {
            expect(Number.isInteger(start)).toBe(true)
            expect(start * minuteMillis).toBeGreaterThanOrEqual(
              now + practice.minimumNoticeMinutes * minuteMillis,
            )
            expect(start * minuteMillis).toBeLessThan(now + horizonMinutes * minuteMillis)
            const before = slots[index - 1]
            if (before !== undefined) expect(start - before).toBeGreaterThanOrEqual(slotMinutes)
          }
        }),
        300,
      )
    },
    timeout,
  )

  test(
    'loses only the slots that overlap a new taken slot',
    () => {
      holds(
        fc.property(asked, fc.nat(), fc.integer({ min: -60, max: 60 }), ({ practice, now }, index, shift) => {
          const { slots } = availabilityOf(practice, now)
          const chosen = slots[index % slots.length]
          fc.pre(chosen !== undefined)
          for (const taken of [chosen, chosen + shift]) {
            expect(availabilityOf({ ...practice, taken: [...practice.taken, taken] }, now).slots).toEqual(
              slots.filter((start) => Math.abs(start - taken) >= slotMinutes),
            )
          }
        }),
        250,
      )
    },
    timeout,
  )

  test(
    'includes the slots of each license',
    () => {
      holds(
        fc.property(asked, ({ practice, now }) => {
          const slotsWith = (licenses: Practice['licenses']) =>
            availabilityOf({ ...practice, licenses }, now).slots
          const all = new Set(slotsWith(practice.licenses))
          const each = new Set(practice.licenses.flatMap((license) => slotsWith([license])))
          expect(each.difference(all)).toEqual(new Set())
          const open = new Set(slotsWith([{ from: '2015-01-01', until: null }]))
          expect(all.difference(open)).toEqual(new Set())
        }),
        250,
      )
    },
    timeout,
  )

  test(
    'does not change before holdsUntil',
    () => {
      holds(
        fc.property(asked, fc.double({ min: 0, max: 1, noNaN: true }), ({ practice, now }, share) => {
          const { slots, heldFrom, holdsUntil } = availabilityOf(practice, now)
          expect(heldFrom).toBe(now)
          expect(holdsUntil).toBeGreaterThan(now)
          const between = Math.floor(now + share * (holdsUntil - now))
          for (const later of [Math.min(between, holdsUntil - 1), holdsUntil - 1]) {
            expect(availabilityOf(practice, later).slots).toEqual(slots)
          }
        }),
        300,
      )
    },
    timeout,
  )

  test(
    'is the same at a later moment within both horizons',
    () => {
      holds(
        fc.property(asked, fc.integer({ min: 1, max: 29 * 1_440 }), ({ practice, now }, minutes) => {
          const later = now + minutes * minuteMillis
          const isSeenByBoth = (start: number) =>
            start * minuteMillis >= later + practice.minimumNoticeMinutes * minuteMillis &&
            start * minuteMillis < now + horizonMinutes * minuteMillis
          expect(availabilityOf(practice, later).slots.filter(isSeenByBoth)).toEqual(
            availabilityOf(practice, now).slots.filter(isSeenByBoth),
          )
        }),
        300,
      )
    },
    timeout,
  )

  test(
    'reports an obstacle if and only if a start is not offered',
    () => {
      const minute = fc.integer({ min: -2_000, max: 31 * 1_440 })
      holds(
        fc.property(
          asked,
          fc.nat(),
          fc.array(minute, { maxLength: 5 }),
          ({ practice, now }, index, others) => {
            const { slots } = availabilityOf(practice, now)
            const { slots: slotsUntaken } = availabilityOf({ ...practice, taken: [], timeOff: [] }, now)
            const chosen = slotsUntaken[index % slotsUntaken.length] ?? 0
            const starts = others.map((minutes) => Math.floor(now / minuteMillis) + minutes)
            for (const start of [chosen, chosen - 1, chosen + 15, ...starts]) {
              const obstacle = obstacleOf(practice, start, now)
              expect([start, obstacle === null]).toEqual([start, slots.includes(start)])
              if (obstacle?.busy) {
                expect(obstacle.busy.start).toBeLessThan(start + slotMinutes)
                expect(obstacle.busy.end).toBeGreaterThan(start)
              }
            }
          },
        ),
        600,
      )
    },
    timeout,
  )
})
