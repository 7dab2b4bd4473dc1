import { spyOn } from 'bun:test'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { run } from '../../src/cli/program'
import { provider, region } from './builders'
import type { Exit } from './exit'
import { Folder } from './folder'

export interface CommandOptions {
  readonly settings?: Readonly<Record<string, string>>
  readonly folder?: string
  /** The content of stdin, which is never a terminal. */
  readonly input?: string
}

let last: Promise<unknown> = Promise.resolve()

/** Runs a command line in this process. Command lines run one after another, because they share the environment. */
export function runInProcess(words: readonly string[], options: CommandOptions = {}): Promise<Exit> {
  const exit = last.then(() => runAlone(words, options))
  last = exit.catch(() => {})
  return exit
}

async function runAlone(words: readonly string[], { settings = {}, folder, input = '' }: CommandOptions) {
  const printed = { stdout: '', stderr: '' }
  using restored = new DisposableStack()
  for (const name of ['stdout', 'stderr'] as const) {
    const write = spyOn(process[name], 'write').mockImplementation((text) => {
      printed[name] += text
      return true
    })
    restored.defer(() => write.mockRestore())
  }
  // Commands write secrets directly to the file descriptor of stdout.
  using files = new Folder()
  const secrets = openSync(files.file('stdout'), 'w+')
  restored.defer(() => closeSync(secrets))
  replace(restored, process.stdout, { fd: secrets, isTTY: false })
  replace(restored, process.stderr, { isTTY: false })
  replace(restored, process.stdin, { isTTY: false })
  replace(restored, Bun, { stdin: new Blob([input]) })
  replace(restored, process.env, settings)
  const { exitCode } = process
  const cwd = process.cwd()
  restored.defer(() => {
    process.exitCode = exitCode ?? 0
    process.chdir(cwd)
  })
  process.exitCode = 0
  if (folder !== undefined) process.chdir(folder)
  const code = await run(words)
  return {
    code,
    signal: null,
    ...printed,
    stdout: readFileSync(files.file('stdout'), 'utf8') + printed.stdout,
  }
}

function replace(
  restored: DisposableStack,
  target: object,
  properties: Readonly<Record<string, unknown>>,
): void {
  for (const [name, value] of Object.entries(properties)) {
    const before = Reflect.get(target, name)
    Reflect.set(target, name, value)
    restored.defer(() => {
      if (before === undefined) Reflect.deleteProperty(target, name)
      else Reflect.set(target, name, before)
    })
  }
}

export class CommandLine implements Disposable {
  readonly folder = new Folder()

  get settings(): Readonly<Record<string, string>> {
    return { ANTEROOM_DATABASE: this.folder.file('anteroom.sqlite') }
  }

  run(args: readonly string[], input = '', settings: Record<string, string> = {}): Promise<Exit> {
    return runInProcess(args, {
      settings: { ...this.settings, ...settings },
      folder: this.folder.path,
      input,
    })
  }

  /** Runs a command that must succeed, and returns its output. */
  async do(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(args)
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
    return stdout
  }

  /** Runs a command with --json and parses its output. */
  async ask<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.do(...args, '--json')) as T
  }

  async loadDirectory(
    content: unknown = { regions: [region()], providers: [provider('on-1')] },
  ): Promise<void> {
    writeFileSync(this.folder.file('directory.json'), JSON.stringify(content))
    await this.do('directory', 'load', this.folder.file('directory.json'))
  }

  async onboard(partner: string, organization: string): Promise<string> {
    await this.do('organization', 'add', organization)
    await this.do('partner', 'add', partner, '--organization', organization)
    return (await this.do('token', 'issue', partner)).trim()
  }

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]()
  }
}
