/** Ends what it was last told of when its stdin ends, which is when this process does, whatever ended it. */
const script = `
trap : HUP INT TERM # which end the reading as well
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
  kill -QUIT "$pid" && kill -CONT "$pid"
  for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" && sleep 0.5; done
  kill -KILL "$pid"
fi 2>/dev/null
rm -rf "$1"`

/**
 * Sees to it that a server and its folder are gone after whoever started it, even where that was killed: under
 * `bun test` a process is not told that it ends.
 */
export class Watchdog {
  readonly #child: Bun.Subprocess<'pipe', 'ignore', 'inherit'>

  constructor(folder: string) {
    // Detached: what is sent to the group of this process, as by Ctrl-C, is not for it.
    const options = { stdin: 'pipe', stdout: 'ignore', stderr: 'inherit', cwd: '/', detached: true } as const
    this.#child = Bun.spawn(['sh', '-c', script, 'sh', folder], options)
    this.#child.unref()
  }

  /** Tells it which process to end from now on; null for none. */
  tell(pid: number | null): void {
    this.#child.stdin.write(`${pid ?? ''}\n`)
    this.#child.stdin.flush()
  }

  /** Lets it do its work now, and waits until it has. */
  async end(): Promise<void> {
    this.#child.stdin.end()
    await this.#child.exited
  }
}
