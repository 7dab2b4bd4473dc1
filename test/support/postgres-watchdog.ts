/**
 * Reads process ids from stdin. When stdin closes, kills the process with the last id.
 * stdin also closes if the test process crashes.
 */
const script = `
trap : HUP INT TERM # which end the reading as well
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
  kill -QUIT "$pid" && kill -CONT "$pid"
  for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" && sleep 0.5; done
  kill -KILL "$pid"
fi 2>/dev/null
rm -rf "$1"`

/** Watches the process that started a server. When that process ends, kills the server and removes its folder. */
export class Watchdog {
  readonly #child: Bun.Subprocess<'pipe', 'ignore', 'inherit'>

  constructor(folder: string) {
    // Detached, so that Ctrl-C does not reach it.
    const options = { stdin: 'pipe', stdout: 'ignore', stderr: 'inherit', cwd: '/', detached: true } as const
    this.#child = Bun.spawn(['sh', '-c', script, 'sh', folder], options)
    this.#child.unref()
  }

  watch(pid: number | null): void {
    this.#child.stdin.write(`${pid ?? ''}\n`)
    this.#child.stdin.flush()
  }

  async end(): Promise<void> {
    this.#child.stdin.end()
    await this.#child.exited
  }
}
