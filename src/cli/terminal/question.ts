import { Refusal } from '../../domain/errors'
import { pause } from '../../domain/ports/time'
import { type CommonFlags, oneLine } from './output'

/** For irreversible or disruptive actions. @throws Refusal not_confirmed for any answer but yes */
export async function confirm(question: string, { yes }: CommonFlags): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY)
    throw new Refusal('not_confirmed', 'this needs --yes where there is no terminal to ask on')
  const answer = await ask(`${oneLine(question)} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new Refusal('not_confirmed', 'nothing was changed')
}

/** These count as no, so that the program still reports the outcome. */
const noAnswer: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

const typedAheadMillis = 30

/** Empty for Ctrl-C, Ctrl-D and a signal. */
async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const { promise, resolve } = Promise.withResolvers<string>()
  const refuse = () => {
    // The next message starts on a new line.
    process.stderr.write('\n')
    resolve('')
  }
  for (const signal of noAnswer) process.on(signal, refuse)
  terminal.on('SIGINT', refuse).on('close', refuse)
  // Discard input typed ahead: full lines have no listener yet, Ctrl-U deletes the rest.
  await pause(typedAheadMillis)
  terminal.write(null, { ctrl: true, name: 'u' })
  terminal.question(question).then(resolve, () => {})
  const answer = await promise
  terminal.off('close', refuse)
  for (const signal of noAnswer) process.off(signal, refuse)
  terminal.close()
  return answer
}
