import { expect, setSystemTime, test } from 'bun:test'
import { clockStartingAt, systemClock } from '../../src/domain/ports/time'
import { FakeClock } from '../support/held-time'

test('domain: the system clock returns the time of the machine', () => {
  const now = new Date('2030-01-01T00:00:00Z')
  setSystemTime(now)
  expect(systemClock.now()).toBe(now.getTime())
  setSystemTime()
})

test('domain: a clock with a set start advances in whole milliseconds', () => {
  using time = new FakeClock()
  const start = Date.UTC(2030, 0, 1)
  const clock = clockStartingAt(start)
  expect(clock.now()).toBe(start)
  time.pass(1.5)
  expect(clock.now()).toBe(start + 1)
})
