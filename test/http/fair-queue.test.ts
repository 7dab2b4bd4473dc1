import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { FairQueue } from '../../src/http/admission'

/** A queue with a fake clock. `done` contains the names of the finished steps in order. */
function world() {
  let now = 0
  const done: string[] = []
  const scheduled: (() => void)[] = []
  const queue = new FairQueue(
    () => now,
    (run) => scheduled.push(run),
  )
  const step = (name: string, millis: number) => {
    now += millis
    done.push(name)
  }
  const nextTurn = async () => {
    const run = scheduled.shift()
    run?.()
    await settled()
    return run !== undefined
  }
  return {
    queue,
    done,
    nextTurn,
    async work(partnerId: number, name: string, steps: number, millis: number) {
      const turn = queue.turnsOf(partnerId)
      for (let at = 0; at < steps; at++) {
        const waiting = turn()
        if (waiting) await waiting
        step(name, millis)
      }
      return name
    },
    async oneStep(partnerId: number, name: string, millis: number) {
      await queue.turn(partnerId)
      step(name, millis)
      return name
    },
    async runAll() {
      while (await nextTurn()) {}
    },
  }
}

async function settled() {
  for (let tick = 0; tick < 10; tick++) await null
}

describe('http: the fair queue', () => {
  test('does short work at once if no other work waits', async () => {
    const { work, done, nextTurn } = world()
    const answer = work(1, 'a', 3, 0.01)
    expect(done).toEqual(['a', 'a', 'a'])
    expect(await answer).toBe('a')
    expect(await nextTurn()).toBe(false)
  })

  test('does one slice of long work in each turn of the event loop', async () => {
    const { work, done, nextTurn } = world()
    work(1, 'a', 5, 0.06)
    expect(done).toEqual(['a', 'a'])
    await nextTurn()
    expect(done).toEqual(['a', 'a', 'a', 'a'])
    await nextTurn()
    expect(done).toHaveLength(5)
  })

  test('limits the short work that starts in one turn of the event loop', async () => {
    const { work, done } = world()
    for (let times = 0; times < 100; times++) {
      work(1, 'a', 1, 0.1)
      await settled()
    }
    expect(done.length).toBeGreaterThan(10)
    expect(done.length).toBeLessThan(30)
  })

  test('makes single-step work wait for its turn even if no other work waits', async () => {
    const { oneStep, done, nextTurn } = world()
    const answer = oneStep(1, 'a', 0.01)
    await settled()
    expect(done).toEqual([])
    await nextTurn()
    expect(await answer).toBe('a')
  })

  test('alternates between partners, and finishes the oldest work of a partner first', async () => {
    const { work, done, runAll } = world()
    const answers = ['a1', 'a2', 'a3'].map((name) => work(1, name, 2, 1))
    await settled()
    answers.push(work(2, 'b1', 2, 1))
    await settled()
    answers.push(work(3, 'c1', 1, 1))
    await runAll()
    expect(done).toEqual(['a1', 'b1', 'c1', 'a1', 'b1', 'a2', 'a2', 'a3', 'a3'])
    expect(await Promise.all(answers)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1'])
  })

  test('gives other partners more turns after a step that took longer than a slice', async () => {
    const { oneStep, done, runAll } = world()
    for (let times = 0; times < 3; times++) oneStep(1, 'long', 1)
    for (let times = 0; times < 15; times++) oneStep(2, 'short', 0.125)
    await runAll()
    const between = done.join(' ').split('long').slice(1, 3)
    for (const shorts of between) expect(shorts.trim().split(' ').length).toBeGreaterThanOrEqual(5)
    expect(done).toHaveLength(18)
  })

  test('does short work of a partner at once while another partner has much to do', async () => {
    const { work, done, runAll } = world()
    work(1, 'a1', 3, 1)
    work(1, 'a2', 1, 0.01)
    await settled()
    const answer = work(2, 'b', 1, 0.01)
    expect(done).toEqual(['a1', 'b'])
    expect(await answer).toBe('b')
    await runAll()
    expect(done).toEqual(['a1', 'b', 'a1', 'a1', 'a2'])
  })

  test('continues long work while other partners send short work', async () => {
    const { work, done, nextTurn } = world()
    work(1, 'long', 3, 1)
    for (let round = 0; round < 2; round++) {
      for (let partnerId = 2; partnerId < 10; partnerId++) {
        work(partnerId, 'short', 1, 0.1)
        await settled()
      }
      await nextTurn()
    }
    expect(done.filter((name) => name === 'long').length).toBe(3)
  })

  test('continues after work that fails', async () => {
    const { queue, work, oneStep, runAll } = world()
    const first = work(1, 'a', 2, 1)
    const failing = queue.turn(1).then(() => {
      throw new Error('no such region')
    })
    const next = oneStep(1, 'b', 1)
    const caught = failing.catch(({ message }) => message)
    await runAll()
    expect(await Promise.all([first, caught, next])).toEqual(['a', 'no such region', 'b'])
  })

  test('makes a request wait for at most one turn of each other partner', async () => {
    const others = fc.array(
      fc.record({ works: fc.integer({ min: 1, max: 8 }), steps: fc.integer({ min: 1, max: 20 }) }),
      { minLength: 1, maxLength: 8 },
    )
    await fc.assert(
      fc.asyncProperty(others, fc.nat(50), async (others, turnsBefore) => {
        const { work, oneStep, done, nextTurn, runAll } = world()
        for (const [partnerId, { works, steps }] of others.entries()) {
          for (let times = 0; times < works; times++) work(partnerId, `${partnerId}`, steps, 1)
        }
        for (let times = 0; times < turnsBefore; times++) await nextTurn()
        const before = done.length
        oneStep(others.length, 'small', 1)
        await runAll()
        const waitedFor = done.slice(before, done.indexOf('small'))
        expect(new Set(waitedFor).size).toBe(waitedFor.length)
        expect(done.length).toBe(others.reduce((sum, { works, steps }) => sum + works * steps, 1))
      }),
      { numRuns: 50 },
    )
  })
})
