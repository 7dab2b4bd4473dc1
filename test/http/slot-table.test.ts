import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { presentSlot } from '../../src/http/endpoints/fields'
import { SlotTable, slotBytes } from '../../src/http/endpoints/provider-page'
import { horizonMinutes } from '../../src/scheduling/availability'
import { minuteMillis } from '../../src/scheduling/calendar'

const noon = Date.parse('2026-12-01T12:00:00Z')

function written(table: SlotTable, starts: readonly number[], now: number): unknown {
  const bytes = Buffer.alloc(10 + starts.length * slotBytes)
  const end = table.write(starts, now, bytes, 10)
  expect(end).toBe(bytes.length)
  return JSON.parse(`[${bytes.toString('utf8', 11)}]`)
}

const presented = (starts: readonly number[]) => starts.map((start) => presentSlot(start * minuteMillis))

test('http: the slot table writes slots like presentSlot', () => {
  const table = new SlotTable()
  fc.assert(
    fc.property(
      fc.integer({ min: -40, max: 40 }),
      fc.integer({ min: 0, max: 86_399_999 }),
      fc.array(fc.tuple(fc.integer({ min: 0, max: horizonMinutes - 1 }), fc.integer({ min: 1, max: 12 })), {
        minLength: 1,
      }),
      (days, millis, runs) => {
        const now = noon + days * 86_400_000 + millis
        const first = Math.ceil(now / minuteMillis)
        const starts = runs
          .flatMap(([from, many]) => Array.from({ length: many }, (_, i) => from + i * 45))
          .filter((from) => from < horizonMinutes)
          .map((from) => first + from)
          .sort((a, b) => a - b)
        expect(written(table, starts, now)).toEqual(presented(starts))
      },
    ),
  )
})

test('http: the slot table writes nothing without slots', () => {
  expect(new SlotTable().write([], noon, new Uint8Array(), 0)).toBe(0)
})
