import { expect } from 'bun:test'
import { printFigure, times } from '../support/long'
import type { Operator } from '../support/operator'
import { Program } from '../support/process'

export interface KilledCommand {
  /** Prepares the files and returns the arguments of the command. */
  readonly ready: () => Promise<string[]> | string[]
  /** Checks the files after a kill. Returns whether the old or the new state is in effect. */
  readonly check: () => Promise<'old' | 'new'>
}

/**
 * Runs a command repeatedly, and kills it at different times after the start of the program. Stops after
 * enough kills. A kill counts only if the command was still running.
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
  // If the machine was busy during the measurement, the first kills come too late.
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
    // The command had already ended, so its run time is shorter than measured.
    else [startMillis, millis] = [startMillis * 0.8, millis * 0.8]
  }
  const inside = left.old + left.new
  printFigure(
    `${name}: ${inside} of ${tried} kills came before its end (run time ${Math.round(millis)} ms); ` +
      `they left the old state ${left.old} times and the new state ${left.new} times`,
  )
  expect(inside).toBeGreaterThan(0)
}
