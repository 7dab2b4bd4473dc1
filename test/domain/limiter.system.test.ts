import { expect, test } from 'bun:test'
import { Limiter } from '../../src/domain/limiter'
import { perMinute } from '../../src/domain/limits'

const now = Date.UTC(2026, 11, 1, 12)

test('domain: a limiter uses less than 8 MiB for 200,000 addresses, and does not forget an active caller', async () => {
  const most = 8 * 1024 * 1024
  const limiter = new Limiter<string>()
  limiter.spend('guilty', perMinute(1), 1, now)
  Bun.gc(true)
  const before = process.memoryUsage().heapUsed
  for (let address = 0; address < 200_000; address++) {
    limiter.spend(`2001:db8:${address.toString(16)}::/64`, perMinute(1), 1, now)
    if (address % 5_000 === 0) {
      expect(limiter.spend('guilty', perMinute(1), 1, now).retryAfterSeconds).not.toBeNull()
    }
  }
  const grown = () => {
    Bun.gc(true)
    return process.memoryUsage().heapUsed - before
  }
  for (let waits = 0; waits < 1_500 && grown() > most; waits++) await Bun.sleep(20)
  expect(grown()).toBeLessThan(most)
  expect(limiter.spend('guilty', perMinute(1), 1, now).retryAfterSeconds).not.toBeNull()
})
