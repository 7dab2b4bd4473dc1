import { appendFileSync, closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { makeCertificate } from './certificates'
import { eventually } from './eventually'
import { Folder } from './folder'
import { isAlive } from './once-in-run'
import { giveToServer, postgresPrograms, serverUser } from './postgres-programs'
import { Watchdog } from './postgres-watchdog'

export interface PostgresOptions {
  /** Syncs commits to disk, as in production. */
  readonly fsync?: boolean
  /** Requires this password over TCP (SCRAM-SHA-256). */
  readonly password?: string
  /** Requires TLS over TCP. The URL names the certificate. */
  readonly tls?: boolean
  readonly settings?: Readonly<Record<string, string | number | boolean>>
}

/** Long enough for the recovery after a kill on a busy machine. */
const timeoutMillis = 60_000

/** A PostgreSQL server in a temporary folder. Disposing ends it and removes the folder. */
export class Postgres implements AsyncDisposable {
  readonly folder = new Folder()
  readonly #watchdog = new Watchdog(this.folder.path)
  readonly #programs = postgresPrograms()
  readonly #tls: { readonly certificate: string; readonly key: string } | undefined
  readonly #password: string | undefined
  #port = freePort()
  #hasStarted = false
  #child: Bun.Subprocess | undefined
  #paused: readonly number[] = []

  constructor({ fsync = false, password, tls = false, settings = {} }: PostgresOptions = {}) {
    this.#password = password
    giveToServer(this.folder.path)
    const cp = ['cp', '-R', this.#programs.data, this.data]
    const { exitCode, stderr } = Bun.spawnSync(cp, { ...serverUser, cwd: '/', stderr: 'pipe' })
    if (exitCode !== 0) throw new Error(`the data could not be copied: ${stderr}`)
    this.#tls = tls ? makeCertificate(this.folder, 'server') : undefined
    if (this.#tls) giveToServer(this.#tls.key)
    this.#configure(fsync, settings)
    if (password !== undefined) this.#setPassword(password)
  }

  #configure(fsync: boolean, settings: Readonly<Record<string, string | number | boolean>>): void {
    const { certificate, key } = this.#tls ?? {}
    const all = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: this.folder.path,
      // Shared memory is in files of the data folder. A killed server leaves nothing elsewhere.
      dynamic_shared_memory_type: 'mmap',
      // An unusual zone. Code that assumes UTC fails.
      timezone: 'America/St_Johns',
      ...(!fsync && { fsync, full_page_writes: false }),
      ...(certificate && key && { ssl: true, ssl_cert_file: certificate, ssl_key_file: key }),
      ...settings,
    }
    const lines = Object.entries(all).map(([name, value]) => `${name} = ${quoted(`${value}`)}\n`)
    appendFileSync(join(this.data, 'postgresql.conf'), lines.join(''))
    const [type, method] = [
      this.#tls ? 'hostssl' : 'host',
      this.#password === undefined ? 'trust' : 'scram-sha-256',
    ]
    const over = (database: string) =>
      `local ${database} all trust\n${type} ${database} all 127.0.0.1/32 ${method}\n`
    writeFileSync(join(this.data, 'pg_hba.conf'), over('all') + over('replication'))
  }

  #setPassword(password: string): void {
    const command = [join(this.#programs.bin, 'postgres'), '--single', '-D', this.data, 'postgres']
    const stdin = Buffer.from(`ALTER ROLE postgres PASSWORD ${quoted(password)}\n`)
    const options = { ...serverUser, cwd: '/', env: {}, stdin, stderr: 'pipe' } as const
    const { exitCode, stderr } = Bun.spawnSync([...command], options)
    if (exitCode !== 0) throw new Error(`the password could not be set: ${stderr}`)
  }

  get data(): string {
    return this.folder.file('data')
  }

  get port(): number {
    return this.#port
  }

  get url(): string {
    return this.urlOf('postgres')
  }

  urlOf(database: string): string {
    const url = new URL(`postgres://postgres@127.0.0.1:${this.port}/${database}`)
    if (this.#password !== undefined) url.password = encodeURIComponent(this.#password)
    if (this.#tls) url.search = `sslmode=verify-full&sslrootcert=${this.#tls.certificate}`
    return url.href
  }

  get pid(): number {
    if (!this.#child) throw new Error('the server was not started')
    return this.#child.pid
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  get log(): string {
    return readFileSync(this.folder.file('log'), 'utf8')
  }

  /**
   * Starts the server and waits until it is ready.
   *
   * @throws Error with its log
   */
  async start(): Promise<void> {
    let logged: number | undefined
    const isReady = () => {
      if (!this.isRunning) {
        if (logged !== undefined) this.#requirePassing(this.log.slice(logged))
        logged = this.#launch()
      }
      return this.#isReady()
    }
    await eventually('PostgreSQL to be ready', isReady, timeoutMillis)
    this.#hasStarted = true
  }

  /** Stops the server and waits for its end. SIGINT is a fast shutdown, SIGQUIT an immediate one, SIGKILL a crash. */
  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    this.kill(signal)
    this.resume()
    await this.#child?.exited
    this.#watchdog.watch(null)
  }

  kill(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** Suspends all processes of the server. Connections stay open, but the server does not answer. */
  pause(): void {
    // Suspends the postmaster first, so that it starts no further process.
    process.kill(this.pid, 'SIGSTOP')
    this.#paused = [this.pid, ...childrenOf(this.pid)]
    for (const pid of this.#paused) signalTo(pid, 'SIGSTOP')
  }

  resume(): void {
    for (const pid of this.#paused) signalTo(pid, 'SIGCONT')
    this.#paused = []
  }

  /** Runs SQL on a new connection. Returns the rows of the last statement. */
  async run<Row = Record<string, unknown>>(text: string, database = 'postgres'): Promise<Row[]> {
    return await runSql<Row>(this.urlOf(database), text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGQUIT')
    await this.#watchdog.end()
  }

  #launch(): number {
    const log = openSync(this.folder.file('log'), 'a')
    const logged = this.log.length
    const command = [join(this.#programs.bin, 'postgres'), '-D', this.data, '-p', `${this.port}`]
    const output = { stdin: 'ignore', stdout: log, stderr: log } as const
    this.#child = Bun.spawn(command, { ...serverUser, ...output, cwd: '/', env: {} })
    this.#child.unref()
    this.#watchdog.watch(this.#child.pid)
    closeSync(log)
    return logged
  }

  #requirePassing(logged: string): void {
    const isPortTaken = /could not bind/.test(logged)
    if (isPortTaken && !this.#hasStarted) this.#port = freePort()
    else if (!isPortTaken && !/pre-existing shared memory|lock file .* already exists/.test(logged))
      throw new Error(`PostgreSQL cannot start: ${logged}`)
  }

  #isReady(): boolean {
    const file = join(this.data, 'postmaster.pid')
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
    return Number(lines[0]) === this.pid && /^(ready|standby)/.test(lines[7] ?? '')
  }
}

export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const server = new Postgres(options)
  try {
    await server.start()
    return server
  } catch (error) {
    await server[Symbol.asyncDispose]()
    throw error
  }
}

export async function runSql<Row = Record<string, unknown>>(url: string, text: string): Promise<Row[]> {
  await using sql = new SQL(url, { max: 1 })
  const answer: Row[] | Row[][] = await sql.unsafe(text).simple()
  return Array.isArray(answer[0]) ? ((answer.at(-1) ?? []) as Row[]) : ([...answer] as Row[])
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

function freePort(): number {
  using listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  return listener.port
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  if (isAlive(pid)) process.kill(pid, signal)
}

function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  const listed = existsSync(file)
    ? readFileSync(file, 'utf8')
    : Bun.spawnSync(['pgrep', '-P', `${pid}`]).stdout.toString()
  return listed.split(/\s+/).filter(Boolean).map(Number)
}
