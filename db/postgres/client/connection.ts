import { readFileSync } from 'node:fs'
import { type ReservedSQL, SQL } from 'bun'
import type { DatabaseAddress, DatabaseHost } from '../../../src/domain/database-address'
import { Refusal } from '../../../src/domain/errors'
import { DatabaseFailure, toFailure } from './failure'

/** The rows that a statement gave, each as its values: numbers of 8 bytes as texts, bytes as Buffer, json as its value. */
export type Rows = unknown[][]

/** What a connection is opened with. */
export interface Opening {
  readonly address: DatabaseAddress
  readonly host: DatabaseHost
  readonly password: string | null
  readonly deadlineMillis: number
  /** Called once, when the connection has ended for whatever reason. */
  readonly onEnd: (connection: Connection) => void
}

/**
 * What the server, the role or the database may have been set to otherwise, so that the same text means the same everywhere.
 * Behind PgBouncer they would stay with whoever comes next, and each transaction sets them for itself.
 */
const settings = [
  // Before whatever else could take too long.
  'statement_timeout = 0',
  // Before the path, which is noted with it.
  'quote_all_identifiers = off',
  'search_path = public',
  "timezone = 'UTC'",
  "datestyle = 'ISO, YMD'",
  "intervalstyle = 'postgres'",
  "bytea_output = 'hex'",
  'extra_float_digits = 1',
  'standard_conforming_strings = on',
  'client_min_messages = warning',
  // A statement is planned once, for whatever values, while a table may still be small: by an index, even where a few rows
  // are sooner read whole.
  'plan_cache_mode = force_generic_plan',
  'enable_seqscan = off',
  // What is avoided at any price is never worth compiling.
  'jit = off',
  'lock_timeout = 0',
  // For whoever says nothing else: longer than any step takes.
  'idle_in_transaction_session_timeout = 60000',
]

/** The same of a session, for statements that are run alone in it. */
const sessionSettings = [
  "default_transaction_isolation = 'read committed'",
  'default_transaction_read_only = off',
  'default_transaction_deferrable = off',
]

/** What not every server knows, with what of facts about one says that it does. */
const knownBySome = [
  // PostgreSQL 17.
  ["current_setting('server_version_num')::int >= 170000", 'transaction_timeout = 0'],
  // What waits for a lock when its connection was given up waits on else, and takes a place of the server's with it. Told
  // by the socket, which not every system does.
  ["version() ~* 'linux|darwin|bsd'", 'client_connection_check_interval = 500'],
] as const

/**
 * What is acknowledged has been committed, whatever a role was set to for speed. Others than off are left: they say for whom
 * else is waited.
 */
const acknowledging = (isLocal: boolean) =>
  `SELECT set_config('synchronous_commit', 'on', ${isLocal}) WHERE current_setting('synchronous_commit') = 'off'`

/**
 * The last text of a transaction. Once it waits for a standby nothing may cut it short: the server would then answer that it was
 * committed, as it was on that machine alone.
 */
export const committing = `${acknowledging(true)};SET LOCAL statement_timeout = 0;COMMIT`

/**
 * How long a plan is relied on, in ms. The server makes others only once it has counted a table's rows anew (autovacuum): of a
 * new database that takes minutes, in which all indexes of an empty table look equally good.
 */
const planMillis = 5_000

/** One connection to a server, with which nobody else speaks until it is closed. */
export class Connection {
  /** Whether a transaction may be open on it. */
  isOpen = false
  /** Whether it can be used no more. */
  hasEnded = false
  /** When the server last did what it was asked: in ms, as performance.now. */
  answeredAt = -Infinity
  /** Whether something was sent, since the last BEGIN, by which the server may have committed. */
  mayHaveCommitted = false
  /** Answers that the server owes, and when it last gave one, or began to owe, on performance's clock. */
  private owed = 0
  private heardAt = 0

  private beginning = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;'
  /** When it last had no plans, on performance's clock. */
  private plannedAt = performance.now()

  private constructor(
    private readonly client: SQL,
    private readonly reserved: ReservedSQL,
    private readonly opening: Opening,
  ) {}

  /**
   * Connects to a server that can be written.
   *
   * @throws DatabaseFailure unreachable, denied, full or readOnly; Refusal settings_invalid for a file that cannot be read
   */
  static async open(opening: Opening): Promise<Connection> {
    const { deadlineMillis, onEnd } = opening
    let opened: Connection | undefined
    const client = clientFor(opening, () => {
      if (!opened) return
      opened.hasEnded = true
      onEnd(opened)
    })
    // Bun's own limit begins anew with each step, and counts in whole seconds. A standstill of this process is one look of many.
    let looks = 10
    const timer = setInterval(() => --looks === 0 && close(client), deadlineMillis / looks)
    try {
      const connection = new Connection(client, await client.reserve(), opening)
      opened = connection
      await connection.setUp()
      return connection
    } catch (error) {
      close(client)
      const failure = toFailure(error, 'unreachable')
      const isAsked = opening.password === null && /^(28P01|ERR_POSTGRES_SASL.*)$/.test(failure.code ?? '')
      throw isAsked ? new DatabaseFailure('denied', 'NO_PASSWORD') : failure
    } finally {
      clearInterval(timer)
    }
  }

  private async setUp(): Promise<void> {
    const facts = `SELECT pg_is_in_recovery(), ${knownBySome.map(([fact]) => fact).join(', ')}`
    const [[isStandby, ...known]] = (await this.answersTo(facts)).at(-1) as [boolean[]]
    if (isStandby) throw new DatabaseFailure('readOnly', '25006')
    const all = [...settings, ...knownBySome.filter((_, at) => known[at]).map(([, setting]) => setting)]
    if (this.isPrepared) {
      const set = [...all, ...sessionSettings].map((each) => `SET ${each}`)
      await this.answersTo([...set, acknowledging(false)].join(';'))
    } else this.beginning += all.map((each) => `SET LOCAL ${each};`).join('')
  }

  /** The beginning of each transaction's first text. */
  get begin(): string {
    return this.beginning
  }

  private async answersTo(text: string): Promise<Answer[]> {
    return eachOf(await this.reserved.unsafe(text).simple().values())
  }

  /**
   * Sends one text of one or more statements without parameters, in one message (simple query protocol). Tells the rows of
   * each statement, none for one that gives none. A statement that fails ends the text there.
   *
   * @throws DatabaseFailure
   */
  send(text: string): Promise<Rows[]> {
    return handled(this.sendOne(text))
  }

  private async sendOne(text: string): Promise<Rows[]> {
    const begins = /^\s*BEGIN\b/i.test(text)
    this.note(begins, /\bCOMMIT\b/i.test(text) || !(begins || this.isOpen))
    const wasOpen = this.isOpen
    // Until its answer: what fails in the middle leaves a transaction open.
    if (begins) this.isOpen = true
    const answers = eachOf(await this.answerOf(this.reserved.unsafe(text).simple().values()))
    const ended = answers.map(({ command }) => command).filter((command) => transactional.has(command ?? ''))
    const last = ended.at(-1)
    if (last !== undefined) this.isOpen = last === 'BEGIN' || last === 'START TRANSACTION'
    else this.isOpen = wasOpen
    // The server answers so to the COMMIT of a transaction in which something has failed.
    if (ended.includes('ROLLBACK') && !/\bROLLBACK\b/i.test(text)) throw new DatabaseFailure('retry', '25P02')
    return answers
  }

  /**
   * Runs one statement with parameters, prepared on this connection when it first runs there. Those that are run without
   * waiting go out together, in order. Tells its rows.
   *
   * @throws DatabaseFailure
   */
  run(text: string, params: readonly unknown[]): Promise<Rows> {
    this.note(false, !this.isOpen)
    if (this.isPrepared && performance.now() - this.plannedAt > planMillis) this.planAnew()
    return handled(this.isPrepared || this.isOpen ? this.runOne(text, params) : this.runAlone(text, params))
  }

  private runOne(text: string, params: readonly unknown[]): Promise<Rows> {
    return this.answerOf(this.reserved.unsafe(text, params.map(toParameter)).values())
  }

  /** In a transaction of its own, which sets what it is to mean. Whoever runs another meanwhile comes behind its end. */
  private async runAlone(text: string, params: readonly unknown[]): Promise<Rows> {
    const begun = handled(this.answerOf(this.reserved.unsafe(this.begin + acknowledging(true)).simple()))
    const rows = handled(this.runOne(text, params))
    // Nothing else beside it: where something has failed, this alone is still taken, and rolls back.
    const ended = handled(this.answerOf(this.reserved.unsafe('COMMIT').simple()))
    const told = begun.then(() => rows)
    // Whoever has the connection next is owed nothing of this.
    await Promise.allSettled([told, ended])
    const found = await told
    await ended
    return found
  }

  /** Where this fails, whatever is sent next does. */
  private planAnew(): void {
    this.plannedAt = performance.now()
    handled(this.answerOf(this.reserved.unsafe('DISCARD PLANS').simple()))
  }

  /** Ends it at once, whatever is under way on it: whoever waits for an answer gets a failure. */
  close(): void {
    this.hasEnded = true
    close(this.client)
  }

  private get isPrepared(): boolean {
    return this.opening.address.isPrepared
  }

  /** Whether the server answers somebody else: what it was asked here may take its time. */
  async isServerThere(deadlineMillis: number): Promise<boolean> {
    try {
      const other = await Connection.open({ ...this.opening, deadlineMillis, onEnd: () => {} })
      other.close()
      return true
    } catch (error) {
      return !(error instanceof DatabaseFailure && error.meaning === 'unreachable')
    }
  }

  /** How long the server has answered nothing of what it was asked, in ms. */
  get silentMillis(): number {
    return this.owed > 0 ? performance.now() - this.heardAt : 0
  }

  private note(begins: boolean, commits: boolean): void {
    if (commits) this.mayHaveCommitted = true
    else if (begins) this.mayHaveCommitted = false
  }

  private async answerOf<T>(answer: Promise<T>): Promise<T> {
    if (this.owed === 0) this.heardAt = performance.now()
    this.owed += 1
    try {
      const answered = await answer
      this.answeredAt = performance.now()
      return answered
    } catch (error) {
      throw toFailure(error, this.mayHaveCommitted ? 'lost' : 'retry')
    } finally {
      this.owed -= 1
      this.heardAt = performance.now()
    }
  }
}

/** Whoever sends several at once waits for one after the other, and for none of the rest once one has failed. */
function handled<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => undefined)
  return answer
}

const transactional = new Set(['BEGIN', 'START TRANSACTION', 'COMMIT', 'ROLLBACK'])

type Answer = Rows & { readonly command?: string | null }

/** What each statement of a text has answered: the driver gives that of a single one as it is. */
function eachOf(answers: Answer | Answer[]): Answer[] {
  return 'command' in answers ? [answers] : (answers as Answer[])
}

/** A number that no column of ours can hold is no value: it is equal to nothing, and cannot be stored. */
function toParameter(value: unknown): unknown {
  return typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER) ? null : value
}

/** Says all that Bun would otherwise take from libpq's variables in the environment. */
function clientFor({ address, host, password }: Opening, onclose: () => void): SQL {
  const { user, database, isPrepared } = address
  const isSocket = host.host.startsWith('/')
  return new SQL({
    adapter: 'postgres',
    ...(isSocket ? { path: host.host } : { hostname: host.host }),
    port: host.port,
    username: user,
    password: password ?? '',
    database,
    tls: isSocket ? 'disable' : tlsFor(address),
    channelBinding: address.sslMode === 'disable' ? 'disable' : 'prefer',
    // An empty text instead of PGOPTIONS; PgBouncer bears no options at all.
    connection: { application_name: 'anteroom', ...(isPrepared && { options: '' }) },
    prepare: isPrepared,
    max: 1,
    idleTimeout: 0,
    maxLifetime: 0,
    connectionTimeout: 0,
    onclose,
  })
}

function tlsFor({ sslMode, sslRootCert }: DatabaseAddress) {
  if (sslMode === 'disable') return 'disable'
  const ca = sslRootCert === null ? {} : { ca: readAuthorities(sslRootCert) }
  // Said, so that NODE_TLS_REJECT_UNAUTHORIZED has no word in it.
  return { rejectUnauthorized: true, ...ca }
}

/** Anew for each connection, since authorities end and are replaced. */
function readAuthorities(path: string): string {
  const text = textOf(path)
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  throw new Refusal('settings_invalid', `the file of sslrootcert, ${path}, has no certificate (PEM)`)
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new Refusal('settings_invalid', `the file of sslrootcert, ${path}, cannot be read`)
  }
}

function close(client: SQL): void {
  client.close({ timeout: 0 }).catch(() => undefined)
}
