import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Steps, Turns } from '../../src/http/admission'

/** Turns whose steps take as long as they say, and what was done in which order. */
function watched() {
  let now = 0
  const done: string[] = []
  const laterOnes: (() => void)[] = []
  const turns = new Turns(
    () => now,
    (run) => laterOnes.push(run),
  )
  function* work(name: string, steps: number, millis: number): Steps<string> {
    for (let step = 1; step <= steps; step++) {
      if (step > 1) yield
      now += millis
      done.push(name)
    }
    return name
  }
  return {
    turns,
    done,
    work,
    /** One turn of the event loop. Tells whether there was anything to do. */
    turn(): boolean {
      const run = laterOnes.shift()
      run?.()
      return run !== undefined
    },
  }
}

test('short work is done at once where nobody waits', async () => {
  const { turns, work, done, turn } = watched()
  const answer = turns.take(1, work('a', 3, 0.01))
  expect(done).toEqual(['a', 'a', 'a'])
  expect(await answer).toBe('a')
  expect(turn()).toBe(false)
})

test('long work is done a turn of the event loop at a time', () => {
  const { turns, work, done, turn } = watched()
  turns.take(1, work('a', 3, 1))
  expect(done).toEqual(['a'])
  turn()
  expect(done).toEqual(['a', 'a'])
})

test('many short works of one turn of the event loop are not all done at once', () => {
  const { turns, work, done } = watched()
  for (let times = 0; times < 100; times++) turns.take(1, work('a', 1, 0.1))
  expect(done.length).toBeLessThan(30)
})

test('what is part of something longer is not done at once, even where nobody waits', async () => {
  const { turns, work, done, turn } = watched()
  const answer = turns.queue(1, work('a', 1, 0.01))
  expect(done).toEqual([])
  turn()
  expect(await answer).toBe('a')
})

test('partners take turns, and what one asks for first is done first', async () => {
  const { turns, work, done, turn } = watched()
  const answers = ['a1', 'a2', 'a3'].map((name) => turns.queue(1, work(name, 2, 1)))
  answers.push(turns.queue(2, work('b1', 2, 1)), turns.queue(3, work('c1', 1, 1)))
  while (turn()) {}
  expect(done).toEqual(['a1', 'b1', 'c1', 'a1', 'b1', 'a2', 'a2', 'a3', 'a3'])
  expect(await Promise.all(answers)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1'])
})

test('after a step that is longer than a turn the others have as many turns more', () => {
  const { turns, work, done, turn } = watched()
  for (let times = 0; times < 3; times++) turns.queue(1, work('long', 1, 1))
  turns.queue(2, work('short', 15, 0.125))
  while (turn()) {}
  // Steps of 0.125 ms are a little longer than a turn themselves.
  const between = done.join(' ').split('long').slice(1, 3)
  for (const shorts of between) expect(shorts.trim().split(' ').length).toBeGreaterThanOrEqual(5)
  expect(done).toHaveLength(18)
})

test('whoever comes with something short while another has much to do does not wait for a turn', async () => {
  const { turns, work, done, turn } = watched()
  turns.take(1, work('a1', 3, 1))
  turns.take(1, work('a2', 1, 0.01))
  const answer = turns.take(2, work('b', 1, 0.01))
  expect(done).toEqual(['a1', 'b'])
  expect(await answer).toBe('b')
  while (turn()) {}
  expect(done).toEqual(['a1', 'b', 'a1', 'a1', 'a2'])
})

test('those who come with something short keep nobody from their turn', () => {
  const { turns, work, done, turn } = watched()
  turns.take(1, work('long', 3, 1))
  for (let round = 0; round < 2; round++) {
    for (let partnerId = 2; partnerId < 10; partnerId++) turns.take(partnerId, work('short', 1, 0.1))
    turn()
  }
  expect(done.filter((name) => name === 'long').length).toBe(3)
})

test('work that fails is refused with its error, and keeps nobody waiting', async () => {
  const { turns, work, turn } = watched()
  const first = turns.take(1, work('a', 2, 1))
  const failing = turns.take(
    1,
    (function* (): Steps<string> {
      yield
      throw new Error('no such region')
    })(),
  )
  const next = turns.take(1, work('b', 1, 1))
  while (turn()) {}
  expect(failing).rejects.toThrow('no such region')
  expect(await Promise.all([first, next])).toEqual(['a', 'b'])
})

test('whoever asks for one step waits for one turn of each other partner, however much they ask for', () => {
  const partners = fc.array(
    fc.record({ works: fc.integer({ min: 1, max: 20 }), steps: fc.integer({ min: 1, max: 100 }) }),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  fc.assert(
    fc.property(partners, fc.nat(50), (others, turnsBefore) => {
      const { turns, work, done, turn } = watched()
      for (const [partnerId, { works, steps }] of others.entries()) {
        for (let times = 0; times < works; times++) turns.take(partnerId, work(`${partnerId}`, steps, 1))
      }
      for (let times = 0; times < turnsBefore; times++) turn()
      const before = done.length
      turns.queue(others.length, work('small', 1, 1))
      while (turn()) {}
      const waitedFor = done.slice(before, done.indexOf('small'))
      // A step is as long as a turn here.
      expect(new Set(waitedFor).size).toBe(waitedFor.length)
      // All is done, and of each partner in the order of asking.
      expect(done.length).toBe(others.reduce((sum, { works, steps }) => sum + works * steps, 1))
    }),
  )
})
