import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Folder, theProgram } from './process'

export const root = new URL('../..', import.meta.url).pathname

export const operating = 'docs/operating.md'

export function blocksOf(
  page: string,
  language: 'sh' | 'sql' | 'console' | 'ts' | 'js' | 'python' | 'go' | 'yaml' = 'sh',
): string[] {
  const text = readFileSync(join(root, page), 'utf8')
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))
  return [...blocks].map(([, commands = '']) => commands)
}

export const scriptOf = (page: string) => blocksOf(page).join('\n')

interface Ran {
  /** Null if a signal ended the shell. */
  readonly code: number | null
  readonly output: string
}

/** Commands that ask for confirmation. The tests add --yes. */
const asking = [
  ...['directory load', 'database reactivate', 'key rotate', 'token rotate', 'token cancel'],
  ...[
    'request move',
    'request accept',
    'request decline',
    'request reopen',
    'member edit',
    'member deactivate',
    'member erase',
  ],
]

/** Runs the commands of documentation pages. Disposing removes the files. */
export class PageCommands implements Disposable {
  readonly #folder = new Folder()
  readonly #bin = this.#folder.file('bin')
  readonly #home = this.#folder.file('home')
  readonly #practice = this.#folder.file('practice')

  constructor(private readonly mostMillis = 200_000) {
    for (const path of [this.#bin, this.#home, this.#practice]) mkdirSync(path)
    const program = `#!/bin/sh
case "$1 $2" in ${asking.map((words) => `"${words}"`).join('|')}|"restore "*) set -- "$@" --yes;; esac
exec ${theProgram.join(' ')} "$@"
`
    writeFileSync(join(this.#bin, 'anteroom'), program, { mode: 0o755 })
  }

  /**
   * Runs the commands of the operating page.
   *
   * @throws Error with the output if a command fails
   */
  async begin(): Promise<void> {
    const { code, output } = await this.run(scriptOf(operating), this.#practice)
    if (code !== 0) throw new Error(`${operating} ended with ${code}:\n${output}`)
  }

  /** Runs a script, which ends at the first failing command. */
  async run(script: string, cwd: string, env: Record<string, string> = {}): Promise<Ran> {
    // Background processes of a page end with its shell.
    const shell = `set -euo pipefail
trap 'kill "$service" $(jobs -p) 2>/dev/null || true' EXIT
service=
${onFreePorts(script)}`
    const child = Bun.spawn(['bash', '-c', shell], {
      cwd,
      env: { PATH: `${this.#bin}:${process.env.PATH}`, HOME: this.#home, TMPDIR: this.#folder.path, ...env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      timeout: this.mostMillis,
    })
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
    await child.exited
    return { code: child.exitCode, output: `${stdout}\n${stderr}` }
  }

  runInCopy(script: string, name: string): Promise<Ran> {
    const cwd = this.#folder.file(name)
    cpSync(this.#practice, cwd, { recursive: true })
    const beside = `rm -f serve.log
anteroom serve --base-url https://api.example.org --port 8080 > serve.log 2>&1 & service=$!
disown
until [ -s serve.log ]; do sleep 0.1; done`
    const isServing = script.includes('anteroom serve')
    const whole = isServing ? script : `${beside}\n${script}`
    return this.run(whole, cwd, { ANTEROOM_DATABASE: join(cwd, 'anteroom.sqlite') })
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]()
  }
}

/** Replaces the ports from 8080 on with free ports. */
function onFreePorts(script: string): string {
  const named = [...new Set(script.match(/\b808\d\b/g))]
  const listeners = named.map(() =>
    Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() }),
  )
  const ports = new Map(named.map((port, index) => [port, `${listeners[index]?.port}`]))
  for (const listener of listeners) listener.stop()
  return script.replaceAll(/\b808\d\b/g, (port) => ports.get(port) as string)
}
