import { Refusal } from '../../domain/errors'
import { pause } from '../../domain/ports/time'
import { type CommonFlags, oneLine } from './output'

/**
 * Asks before what cannot be undone, or what cuts somebody off.
 *
 * @throws Refusal not_confirmed for anything but a yes, and without a terminal to ask on
 */
export async function confirm(question: string, { yes }: CommonFlags): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY)
    throw new Refusal('not_confirmed', 'this needs --yes where there is no terminal to ask on')
  const answer = await ask(`${oneLine(question)} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new Refusal('not_confirmed', 'nothing was changed')
}

/** Whoever ends the program at a question has said no, and is told what became of it. */
const noAnswer: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** How long it takes a terminal to hand over what was typed before. */
const typedAheadMillis = 30

/** The answer to a question on the terminal; empty for Ctrl-C, Ctrl-D and a signal. */
async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const { promise, resolve } = Promise.withResolvers<string>()
  const refuse = () => {
    // What is said next is on a line of its own.
    process.stderr.write('\n')
    resolve('')
  }
  for (const signal of noAnswer) process.on(signal, refuse)
  terminal.on('SIGINT', refuse).on('close', refuse)
  // What was typed before was no answer to what had not been asked: lines go to nobody, and the rest of one is taken out.
  await pause(typedAheadMillis)
  terminal.write(null, { ctrl: true, name: 'u' })
  terminal.question(question).then(resolve, () => {})
  const answer = await promise
  terminal.off('close', refuse)
  for (const signal of noAnswer) process.off(signal, refuse)
  terminal.close()
  return answer
}
