import { expect } from 'bun:test'
import { tellFigure, times } from '../support/long'
import type { Operator } from '../support/operator'
import { Program } from '../support/process'

/** A command that is killed again and again. */
export interface KilledCommand {
  /** Makes ready what it works on, and tells its words. */
  readonly ready: () => Promise<string[]> | string[]
  /** Holds all that must be after it, however it ended, and tells which state it has left. */
  readonly check: () => Promise<'old' | 'new'>
}

/**
 * Kills a command at moments spread over its own time, which begins when the program has started: until enough of the
 * kills came before its end.
 */
export async function killInside(operator: Operator, name: string, command: KilledCommand): Promise<void> {
  const { folder, database } = operator
  const run = (words: string[]) =>
    new Program(words, { cwd: folder.path, env: { ANTEROOM_DATABASE: database } })
  const took = async (words: string[]) => {
    const since = performance.now()
    const { code, stderr } = await run(words).exit()
    expect([code, stderr]).toEqual([0, ''])
    return performance.now() - since
  }
  let startMillis = await took(['--version'])
  let millis = await took(await command.ready())
  expect(await command.check()).toBe('new')

  const rounds = times(2, 100)
  // A machine that was busy while it was measured makes the first kills come too late.
  const mostTries = times(20, 400)
  const left = { old: 0, new: 0 }
  let tried = 0
  for (; left.old + left.new < rounds && tried < mostTries; tried++) {
    await using program = run(await command.ready())
    await Bun.sleep(startMillis + (millis - startMillis) * (((tried % rounds) + Math.random()) / rounds))
    program.signal('SIGKILL')
    const { signal } = await program.exit()
    const state = await command.check()
    if (signal === 'SIGKILL') left[state]++
    // It was done already: it starts and ends sooner than it did when it was measured.
    else [startMillis, millis] = [startMillis * 0.8, millis * 0.8]
  }
  const inside = left.old + left.new
  tellFigure(
    `${name}: ${inside} of ${tried} kills came before its end, in ${Math.round(millis)} ms; ` +
      `they left the old state ${left.old} times and the new one ${left.new} times`,
  )
  expect(inside).toBeGreaterThan(0)
}
