import { CommandLine } from './command-line'
import { isOnPostgres } from './engine'
import { startPostgres } from './postgres'
import { type Exit, eventually, Program, theProgram } from './process'
import type { Answer } from './service'
import type { Storage } from './storage'

// As an operator has it, who is told by doctor where it is not.
const server = isOnPostgres ? await startPostgres({ fsync: true, settings: { max_connections: 200 } }) : null
let operators = 0

/** An operator with the program and a folder: commands run on one production database, made by init. */
export class Operator extends CommandLine {
  readonly #name = `operator_${operators++}`
  /** A file, or on PostgreSQL the address of a database that is there and empty. */
  readonly database: string
  /** Beside the file, where it is found unnamed. */
  readonly keyFile: string
  readonly #settings: Readonly<Record<string, string>>
  #made: Promise<unknown> | undefined

  /**
   * @param command starts the program; null runs commands in this process, and only a service as a program
   * @param address of a database on a server that is there, null for a file; unless given, on the engine that TEST_ENGINE names
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

  /** Which database, and where its key is, for every command. */
  override get settings(): Readonly<Record<string, string>> {
    return this.#settings
  }

  /** What opens the database in this process. */
  get storage(): Storage {
    return { database: this.database, masterKey: { file: this.keyFile } }
  }

  /** On PostgreSQL it is an administrator who makes the database that init fills. */
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

  /** Runs the words of a shell's command line that follow the program's name. */
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

  /** Starts the service on the database, at a free port. */
  serve(...flags: string[]): Promise<Served> {
    return this.serveBy(this.command ?? theProgram, ...flags)
  }

  /** The same by other words than the operator's own. */
  async serveBy(command: readonly string[], ...flags: string[]): Promise<Served> {
    await this.#provide()
    const program = new Served(['serve', '--port', '0', '--base-url', 'https://api.example', ...flags], {
      command,
      cwd: this.folder.path,
      env: { ...this.settings },
    })
    const listens = () => program.stdout.includes('\n') || !program.isRunning
    await eventually('the service to listen', listens).catch(async (error) => {
      // Nobody else could end it.
      await program[Symbol.asyncDispose]()
      throw error
    })
    program.port = Number(/port (\d+)/.exec(program.stdout)?.[1])
    if (!program.port) throw new Error(`the service did not start: ${(await program.exit()).stderr}`)
    return program
  }
}

/** A line of a service's log: a request, or what is told beside them. */
export type LogLine = Readonly<Record<string, string | number | null>>

/** The lines of a service's stderr that are whole. @throws SyntaxError for one that is no JSON */
export function logLines(stderr: string): LogLine[] {
  return stderr
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

/** What a service's stderr tells beside requests, each after its level. */
export function toldIn(stderr: string): string[] {
  return logLines(stderr).flatMap(({ level, msg }) => (msg === undefined ? [] : [`${level}: ${msg}`]))
}

/** What every service tells that is stopped. */
export const stopping = ['info: stopping', 'info: stopped']

/** A running service. */
export class Served extends Program {
  port = 0

  /** What it has told so far beside requests. */
  get told(): string[] {
    return toldIn(this.stderr)
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
