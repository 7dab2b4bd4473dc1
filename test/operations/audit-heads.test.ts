import { describe, expect, spyOn, test } from 'bun:test'
import { watchAudit } from '../../src/cli/commands/serve'
import type { Records } from '../../src/operations/context'
import {
  auditHead,
  checkDatabase,
  clockBehind,
  listAudit,
  pruneAudit,
  verifyHeads,
} from '../../src/operations/maintenance'
import { actAt, now } from '../db/furniture'
import { openPlace } from '../db/place'

/** A database with five audit lines, a second apart from `now` on. */
async function openLog() {
  const place = await openPlace()
  let at = now + 4_000
  const clock = { now: () => at }
  const records = { ...place, clock } as unknown as Records
  for (let line = 0; line < 5; line++)
    await place.store.addOrganization(`No. ${line}`, actAt(now + line * 1_000))
  return {
    ...{ place, records },
    setClock(time: number) {
      at = time
    },
    headAt: async (id: number) => {
      const [line] = await listAudit(records, 1, { after: id - 1 })
      return { id, hash: line?.hash ?? '' }
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  }
}

const newest = now + 4_000
const behind = (seconds: number) =>
  `the clock is ${seconds} s behind the newest audit line: new tokens are rejected until it has caught up, so set the clock (timedatectl)`

describe('operations: a clock that was set back', () => {
  test.each([
    [newest + 1, 0],
    [newest - 4_999, 0],
    [newest - 5_000, 5_000],
    [newest - 3_600_500, 3_600_500],
  ])('at %p is behind the newest audit line by %p ms', async (time, millis) => {
    await using log = await openLog()
    log.setClock(time)
    expect(await clockBehind(log.records)).toBe(millis)
    const findings = await checkDatabase(log.records, null, false)
    const expected =
      millis > 0 ? [{ check: 'clock', state: 'bad', detail: behind(Math.ceil(millis / 1_000)) }] : []
    expect(findings.filter(({ check }) => check === 'clock') as unknown[]).toEqual(expected)
  })

  test('is not looked for in a log that cannot be read', async () => {
    await using log = await openLog()
    const store = { read: () => Promise.reject(new Error('damaged')) }
    const findings = await checkDatabase({ ...log.records, store } as unknown as Records, null, false)
    expect(findings.map(({ check }) => check)).toContain('audit log')
    expect(findings.map(({ check }) => check)).not.toContain('clock')
  })

  test('is found even after lines with the earlier time', async () => {
    await using log = await openLog()
    log.setClock(now - 60_000)
    await log.place.store.addOrganization('Later', actAt(now - 60_000))
    expect(await clockBehind(log.records)).toBe(64_000)
  })
})

describe('operations: watching the audit log', () => {
  test('logs the head at the start, each hour and at the end, and a clock that was set back once', async () => {
    await using log = await openLog()
    const lines: string[] = []
    const timers = spyOn(globalThis, 'setInterval')
    const end = watchAudit(log.records, (line, level = 'warn') => lines.push(`${level}: ${line}`))
    const [look, millis] = timers.mock.calls.at(-1) as unknown as [() => Promise<void>, number]
    timers.mockRestore()
    const head = await auditHead(log.records)
    const headLine = `info: audit head ${head.id}:${head.hash}`
    log.setClock(now - 3_600_000)
    for (let minute = 1; minute <= 59; minute++) await look()
    expect([millis, lines]).toEqual([60_000, [headLine, `warn: ${behind(3_604)}`]])
    log.setClock(newest)
    await look()
    log.setClock(now - 3_600_000)
    await look()
    await log.place.store.addOrganization('Last', actAt(now))
    await end()
    const last = await auditHead(log.records)
    expect(lines.slice(2)).toEqual([
      headLine,
      `warn: ${behind(3_604)}`,
      `info: audit head ${last.id}:${last.hash}`,
    ])
  })

  test('a database that cannot be read is not reported here', async () => {
    const store = { read: () => Promise.reject(new Error('gone')) }
    const lines: string[] = []
    await watchAudit({ store, clock: { now: () => now } } as unknown as Records, (line) => lines.push(line))()
    expect(lines).toEqual([])
  })
})

describe('operations: logged audit heads', () => {
  test('agree with the log, and are counted if their lines were pruned', async () => {
    await using log = await openLog()
    const { records, headAt } = log
    const heads = [{ id: 0, hash: '0'.repeat(64) }, await headAt(2), await headAt(5), await headAt(3)]
    const head = await headAt(5)
    expect(await verifyHeads(records, heads)).toEqual({ verdict: { intact: true, head }, pruned: 0 })
    const prune = { chain: 'acts', before: now + 2_000, target: log.place.freeTarget } as const
    await pruneAudit(records, prune, actAt(newest), true)
    const after = await auditHead(records)
    expect(await verifyHeads(records, heads)).toEqual({ verdict: { intact: true, head: after }, pruned: 1 })
    expect(await verifyHeads(records, heads.slice(0, 2))).toEqual({
      verdict: { intact: true, head: after },
      pruned: 1,
    })
  })

  test.each([
    ['of an altered line', 3, 'the line differs from the logged head'],
    ['of an altered newest line', 5, 'the line differs from the logged head'],
    ['of a line that the log does not have yet', 6, 'the line is missing'],
  ])('%s is a fault', async (_, id, fault) => {
    await using log = await openLog()
    const heads = [await log.headAt(2), { id, hash: '1'.repeat(64) }, await log.headAt(4)]
    expect((await verifyHeads(log.records, heads)).verdict).toEqual({ intact: false, id, fault })
  })
})
