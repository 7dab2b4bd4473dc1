import { Refusal } from '../../domain/errors'
import { pause } from '../../domain/ports/time'
import { type CommonFlags, oneLine } from './output'

/** The operator ended the question without an answer. Commands on several records stop. */
export class Cancelled extends Refusal {
  constructor() {
    super('not_confirmed', unchanged)
  }
}

const unchanged = 'not confirmed, so nothing was changed'

/** Asks before an irreversible or disruptive action. @throws Refusal not_confirmed unless the answer is yes */
export async function confirm(question: string, { yes }: CommonFlags): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY)
    throw new Refusal('not_confirmed', 'there is no terminal to ask on', { action: 'use --yes' })
  const answer = await ask(`${oneLine(question)} [y/N] `)
  if (answer === null) throw new Cancelled()
  if (!/^y(es)?$/i.test(answer.trim())) throw new Refusal('not_confirmed', unchanged)
}

/** Signals that count as the answer no, so that the program still reports the result. */
const noAnswer: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

const typedAheadMillis = 30

/** Returns null for Ctrl-C, Ctrl-D and signals. */
async function ask(question: string): Promise<string | null> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const refuse = () => {
    // Ends the line of the question, so that the next message starts on a new line.
    process.stderr.write('\n')
    resolve(null)
  }
  for (const signal of noAnswer) process.on(signal, refuse)
  terminal.on('SIGINT', refuse).on('close', refuse)
  // Discards input that was typed before the question. Complete lines have no listener yet; Ctrl-U deletes the rest.
  await pause(typedAheadMillis)
  terminal.write(null, { ctrl: true, name: 'u' })
  terminal.question(question).then(resolve, () => {})
  const answer = await promise
  terminal.off('close', refuse)
  for (const signal of noAnswer) process.off(signal, refuse)
  terminal.close()
  return answer
}
