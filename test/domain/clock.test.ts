import { expect, test } from 'bun:test'
import { clockStartingAt, systemClock } from '../../src/domain/clock'

test('the system clock shows the time of the machine', () => {
  const before = Date.now()
  const shown = systemClock.now()
  expect(shown).toBeGreaterThanOrEqual(before)
  expect(shown).toBeLessThanOrEqual(Date.now())
})

test('a clock that was set shows its start and ticks on, in whole milliseconds', async () => {
  const start = Date.UTC(2030, 0, 1)
  const before = performance.now()
  const clock = clockStartingAt(start)
  expect(clock.now()).toBeWithin(start, start + 1 + performance.now() - before)
  const first = clock.now()
  const deadline = performance.now() + 2_000
  while (clock.now() === first && performance.now() < deadline) await Bun.sleep(1)
  expect(clock.now()).toBeGreaterThan(first)
  expect(Number.isInteger(clock.now())).toBe(true)
})
