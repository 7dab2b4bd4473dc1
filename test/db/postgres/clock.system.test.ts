import { expect, spyOn, test } from 'bun:test'
import { ClockWatch, readClock } from '../../../db/postgres/server/clock'
import { Health } from '../../../db/postgres/server/health'
import { Node } from '../../../db/postgres/server/nodes'
import { eventually } from '../../support/eventually'
import { describeOnPostgres } from '../../support/postgres-databases'
import { newTestDatabase } from './connections'

function watching() {
  const watch = new ClockWatch()
  const logged: string[] = []
  const note = (difference: number, doubt = 1) => {
    watch.note({ difference, doubt }, (line, level = 'warn') => logged.push(`${level}: ${line}`))
    return logged.splice(0)
  }
  return { watch, note }
}

const remedy = 'synchronize both with the same time source (NTP)'
const off = "the clocks of the database server and this machine differ: the server's clock is"
const right = 'info: the clocks of the database server and this machine agree again'

test('postgres: the start and the end of a clock difference above 100 ms are logged once', () => {
  const { watch, note } = watching()
  expect(watch.difference).toBeNull()
  expect(note(100)).toEqual([])
  expect(note(-350)).toEqual([`warn: ${off} 350 ms behind this machine's clock; ${remedy}`])
  expect(watch.difference).toBe(-350)
  expect([...note(420), ...note(90), ...note(120)]).toEqual([])
  expect(watch.isFit).toBe(true)
  expect(note(40)).toEqual([right])
})

test('postgres: the uncertainty of a late answer is subtracted from the clock difference', () => {
  const { note } = watching()
  expect(note(900, 800)).toEqual([])
  expect(note(902, 800)).toHaveLength(1)
})

test('postgres: a node with a clock difference above a minute is not ready until the difference is below half a minute', () => {
  const { watch, note } = watching()
  expect(note(60_000)).toEqual([`warn: ${off} 60 s ahead of this machine's clock; ${remedy}`])
  expect(watch.isFit).toBe(true)
  expect(note(3_600_000)).toEqual([
    `error: not ready: ${off} 3600 s ahead of this machine's clock; ${remedy}`,
  ])
  expect([...note(-7_200_000), ...note(45_000)]).toEqual([])
  expect(watch.isFit).toBe(false)
  expect(note(1_500)).toEqual([
    'info: ready again',
    `warn: ${off} 1500 ms ahead of this machine's clock; ${remedy}`,
  ])
  expect(watch.isFit).toBe(true)
  expect(note(3_600_000)).toHaveLength(1)
  expect(note(3)).toEqual(['info: ready again', right])
})

describeOnPostgres('postgres: the clock of the database server', () => {
  test('the clock of the database server is compared with the clock of the node', async () => {
    await using made = await newTestDatabase()
    for (const ahead of [0, 3_600_000, -3_600_000]) {
      const { difference, doubt } = await made.on((connection) =>
        readClock(connection, () => Date.now() + ahead),
      )
      expect(Math.abs(difference + ahead)).toBeLessThan(doubt + 2)
    }
  })

  test('a node whose clock differs by an hour is not ready', async () => {
    await using made = await newTestDatabase()
    const node = new Node(made.on)
    const logged: string[] = []
    using read = spyOn(node, 'readClock').mockResolvedValue({ difference: -3_600_000, doubt: 1 })
    const health = new Health(node)
    expect([health.size, health.clockDifference]).toEqual([null, null])
    const watched = health.watch((line) => logged.push(line), true)
    await eventually('the first clock reading', () => health.size !== null)
    health.noteStored()
    expect(await watched.isReady()).toBe(false)
    expect(logged).toEqual([`not ready: ${off} 3600 s behind this machine's clock; ${remedy}`])
    expect(health.clockDifference).toBe(-3_600_000)
    expect(health.size).toBeGreaterThan(1_000_000)
    expect(read).toHaveBeenCalledTimes(1)
    await health.end()
  })
})
