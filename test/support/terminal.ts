import { eventually, theProgram } from './process'

interface OnTerminal {
  readonly columns?: number
  readonly env?: Readonly<Record<string, string>>
  readonly ahead?: string
  /** Input typed, or a signal sent, when the program waits. */
  readonly answer?: string | NodeJS.Signals
  /** The program waits for input after it has printed this text. By default the text is a question. */
  readonly waiting?: RegExp
  readonly meanwhile?: (shown: string) => Promise<unknown>
}

const question = /\[y\/N\] $|^[A-Z][a-z]+: /

/** Runs the program on a pseudo-terminal. Returns its exit code and output, with \n as line ends. */
export async function runOnTerminal(
  words: readonly string[],
  { columns = 80, env = {}, ahead, answer, waiting = question, meanwhile }: OnTerminal = {},
): Promise<{ code: number | null; shown: string }> {
  let shown = ''
  const decoder = new TextDecoder()
  await using terminal = new Bun.Terminal({
    cols: columns,
    rows: 24,
    data: (_, bytes) => {
      shown += decoder.decode(bytes, { stream: true })
    },
  })
  const child = Bun.spawn([...theProgram, ...words], { terminal, env: { TERM: 'xterm', ...env } })
  if (ahead !== undefined) terminal.write(ahead)
  if (answer !== undefined) {
    await eventually('the question', () => waiting.test(Bun.stripANSI(shown)) || child.exitCode !== null)
    await meanwhile?.(Bun.stripANSI(shown))
    if (answer.startsWith('SIG')) child.kill(answer as NodeJS.Signals)
    else terminal.write(answer)
  }
  await child.exited
  for (let before = -1; before !== shown.length; ) {
    before = shown.length
    await Bun.sleep(100)
  }
  return { code: child.exitCode, shown: shown.replaceAll('\r\n', '\n') }
}
