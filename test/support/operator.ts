import { isOnPostgres } from './engine'
import { startPostgres } from './postgres'
import { type Exit, eventually, Folder, Program, theProgram } from './process'
import type { Answer } from './service'
import type { Storage } from './storage'

// As an operator has it, who is told by doctor where it is not.
const server = isOnPostgres ? await startPostgres({ fsync: true, settings: { max_connections: 200 } }) : null
let operators = 0

/** An operator with the program and a folder: commands run on one production database, made by init. */
export class Operator implements Disposable {
  readonly folder = new Folder()
  readonly #name = `operator_${operators++}`
  /** A file, or on PostgreSQL the address of a database that is there and empty. */
  readonly database: string
  /** Beside the file, where it is found unnamed. */
  readonly keyFile: string
  /** Which database, and where its key is, for every command. */
  readonly settings: Readonly<Record<string, string>>
  #made: Promise<unknown> | undefined

  /** @param address of a database on a server that is there, null for a file; unless given, on the engine that TEST_ENGINE names */
  constructor(
    private readonly command: readonly string[] = theProgram,
    address?: string | null,
  ) {
    if (address !== undefined) this.#made = Promise.resolve()
    const url = address === null ? undefined : (address ?? server?.urlOf(this.#name))
    this.database = url ?? this.folder.file('anteroom.sqlite')
    this.keyFile = url === undefined ? `${this.database}.key` : this.folder.file('key')
    this.settings = {
      ANTEROOM_DATABASE: this.database,
      ...(url !== undefined && { ANTEROOM_MASTER_KEY_FILE: this.keyFile }),
    }
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

  /** Runs a command to its end, with `input` on its stdin. */
  async run(args: readonly string[], input = '', settings: Record<string, string> = {}): Promise<Exit> {
    return this.#runWords([...this.command, ...args], input, settings)
  }

  /** Runs the words of a shell's command line that follow the program's name. */
  async runShell(words: string): Promise<Exit> {
    return this.#runWords(['sh', '-c', `"$0" ${words}`, ...this.command])
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

  /** Runs a command that must succeed, and tells what it printed. */
  async do(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(args)
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
    return stdout
  }

  /** The same for a command that prints JSON. */
  async ask<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.do(...args, '--json')) as T
  }

  /** Adds a partner of a new organization, and tells the token that it is issued. */
  async onboard(partner: string, organization: string): Promise<string> {
    await this.do('organization', 'add', organization)
    await this.do('partner', 'add', partner, '--organization', organization)
    return (await this.do('token', 'issue', partner)).trim()
  }

  /** Starts the service on the database, at a free port. */
  serve(...flags: string[]): Promise<Served> {
    return this.serveBy(this.command, ...flags)
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

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]()
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
