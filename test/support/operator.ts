import { CommandLine } from './command-line'
import { isOnPostgres } from './engine'
import { startPostgres } from './postgres'
import { type Exit, eventually, Program, theProgram } from './process'
import type { Answer } from './service'
import type { Storage } from './storage'

// fsync is on, because doctor reports a server without it.
const server = isOnPostgres ? await startPostgres({ fsync: true, settings: { max_connections: 200 } }) : null
let operators = 0

/** A production database and its operator. The command `init` creates the database. */
export class Operator extends CommandLine {
  readonly #name = `operator_${operators++}`
  /** A path, or the URL of an empty PostgreSQL database. */
  readonly database: string
  readonly keyFile: string
  readonly #settings: Readonly<Record<string, string>>
  #made: Promise<unknown> | undefined

  /**
   * @param command starts the program. Null runs commands in this process, and only servers are child processes
   * @param address the URL of an existing database, or null for a file. TEST_ENGINE selects the default
   */
  constructor(
    private readonly command: readonly string[] | null = null,
    address?: string | null,
  ) {
    super()
    if (address !== undefined) this.#made = Promise.resolve()
    const url = address === null ? undefined : (address ?? server?.urlOf(this.#name))
    this.database = url ?? this.folder.file('anteroom.sqlite')
    this.keyFile = url === undefined ? `${this.database}.key` : this.folder.file('key')
    this.#settings = {
      ANTEROOM_DATABASE: this.database,
      ...(url !== undefined && { ANTEROOM_MASTER_KEY_FILE: this.keyFile }),
    }
  }

  override get settings(): Readonly<Record<string, string>> {
    return this.#settings
  }

  get storage(): Storage {
    return { database: this.database, masterKey: { file: this.keyFile } }
  }

  #provide(): Promise<unknown> {
    this.#made ??= server ? server.run(`CREATE DATABASE ${this.#name} TEMPLATE template0`) : Promise.resolve()
    return this.#made
  }

  override async run(
    args: readonly string[],
    input = '',
    settings: Record<string, string> = {},
  ): Promise<Exit> {
    if (this.command) return this.#runWords([...this.command, ...args], input, settings)
    await this.#provide()
    return super.run(args, input, settings)
  }

  /** Runs a shell command line. `words` follow the name of the program. */
  async runShell(words: string): Promise<Exit> {
    return this.#runWords(['sh', '-c', `"$0" ${words}`, ...(this.command ?? theProgram)])
  }

  async #runWords(words: string[], input = '', settings: Record<string, string> = {}): Promise<Exit> {
    await this.#provide()
    const child = Bun.spawn(words, {
      cwd: this.folder.path,
      env: { ...this.settings, ...settings },
      stdin: Buffer.from(input),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
    await child.exited
    return { code: child.exitCode, signal: child.signalCode, stdout, stderr }
  }

  serve(...flags: string[]): Promise<Served> {
    return this.serveBy(this.command ?? theProgram, ...flags)
  }

  async serveBy(command: readonly string[], ...flags: string[]): Promise<Served> {
    await this.#provide()
    const program = new Served(['serve', '--port', '0', '--base-url', 'https://api.example', ...flags], {
      command,
      cwd: this.folder.path,
      env: { ...this.settings },
    })
    const listens = () => program.stdout.includes('\n') || !program.isRunning
    await eventually('the service to listen', listens).catch(async (error) => {
      await program[Symbol.asyncDispose]()
      throw error
    })
    program.port = Number(/port (\d+)/.exec(program.stdout)?.[1])
    if (!program.port) throw new Error(`the service did not start: ${(await program.exit()).stderr}`)
    return program
  }
}

export type LogLine = Readonly<Record<string, string | number | null>>

/**
 * Parses the complete lines of a log.
 *
 * @throws SyntaxError for a line that is not JSON
 */
export function logLines(stderr: string): LogLine[] {
  return stderr
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

/** The messages of a log, each with its level. Excludes the lines of HTTP requests, and audit heads. */
export function messagesIn(stderr: string): string[] {
  const messages = logLines(stderr).flatMap(({ level, msg }) =>
    msg === undefined ? [] : [`${level}: ${msg}`],
  )
  return messages.filter((line) => !line.startsWith('info: audit head '))
}

export const stopping = ['info: stopping', 'info: stopped']

export class Served extends Program {
  port = 0

  get messages(): string[] {
    return messagesIn(this.stderr)
  }

  get(path: string, token: string): Promise<Answer> {
    return this.#send(path, { headers: { Authorization: `Bearer ${token}` } })
  }

  post(body: unknown, token: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#send('/partners/v1/booking-request/', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}`, ...headers },
      body: JSON.stringify(body),
    })
  }

  async #send(path: string, init: RequestInit): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, init)
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text && JSON.parse(text) }
  }
}
