import { eventually, theProgram } from './process'

interface OnTerminal {
  readonly columns?: number
  readonly env?: Readonly<Record<string, string>>
  /** What is typed while the program starts. */
  readonly ahead?: string
  /** What is typed, or the signal that comes, at the program's question. */
  readonly answer?: string | NodeJS.Signals
  /** What it shows when it waits for that: a question, unless it is told. */
  readonly waiting?: RegExp
  /** What happens while it waits, by what it has shown. */
  readonly meanwhile?: (shown: string) => Promise<unknown>
}

const question = /\[y\/N\] $|^[A-Z][a-z]+: /

/** Runs the program on a terminal (pty): how it ended, and all that the terminal was sent, its lines ended by \n. */
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
  // Its last lines may still be on their way, on a busy machine for longer.
  for (let before = -1; before !== shown.length; ) {
    before = shown.length
    await Bun.sleep(100)
  }
  return { code: child.exitCode, shown: shown.replaceAll('\r\n', '\n') }
}
