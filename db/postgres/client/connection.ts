import { readFileSync } from 'node:fs'
import { type ReservedSQL, SQL } from 'bun'
import type { DatabaseAddress, DatabaseHost } from '../../../src/domain/addresses'
import { Refusal } from '../../../src/domain/errors'
import { DatabaseFailure, type Meaning, toFailure } from './failure'
import { Deadline, timeouts } from './timeouts'

/** Each row is an array. The driver returns int8 as text, bytea as Buffer, and json as a parsed value. */
type Rows = unknown[][]

export interface Opening {
  readonly address: DatabaseAddress
  readonly host: DatabaseHost
  readonly password: string | null
  readonly statementMillis: number
  /** Called once, when the connection ends for any reason. */
  readonly onEnd: (connection: Connection) => void
}

/** Default of idle_in_transaction_session_timeout, in ms. A transaction may set another value. */
const idleMillis = 60_000

/** COMMIT must have no timeout. If a COMMIT is canceled while it waits for a standby, the server reports success. */
export const committing = 'SET LOCAL statement_timeout = 0;COMMIT'

export class Connection {
  /** True while a transaction may be open. */
  isOpen = false
  hasEnded = false
  /** True if a statement since the last BEGIN may have been committed. */
  mayHaveCommitted = false
  readonly begin = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;'

  private constructor(
    private readonly client: SQL,
    private readonly reserved: ReservedSQL,
    private statementMillis: number,
  ) {}

  /** @throws DatabaseFailure; Refusal settings_invalid if the certificate file is unusable */
  static async open(opening: Opening): Promise<Connection> {
    let opened: Connection | undefined
    const client = clientFor(opening, () => {
      if (!opened) return
      opened.hasEnded = true
      opening.onEnd(opened)
    })
    using _ = new Deadline(timeouts.connect, () => close(client))
    try {
      const reserved = await client.reserve()
      const [recovery] = eachOf(await reserved.unsafe(firstText(opening)).simple().values())
      if (recovery?.[0]?.[0]) throw new DatabaseFailure('readOnly', '25006')
      opened = new Connection(client, reserved, opening.statementMillis)
      return opened
    } catch (error) {
      close(client)
      const failure = toFailure(error, 'unreachable')
      const isAsked = opening.password === null && /^(28P01|ERR_POSTGRES_SASL.*)$/.test(failure.code ?? '')
      throw isAsked ? new DatabaseFailure('denied', 'NO_PASSWORD') : failure
    }
  }

  /** Raises statement_timeout if necessary. Never lowers it, because that would cost an extra message. */
  async allowStatements(millis: number): Promise<void> {
    if (millis <= this.statementMillis) return
    await this.answerOf(this.reserved.unsafe(`SET statement_timeout = ${millis}`).simple())
    this.statementMillis = millis
  }

  /** Sends statements without parameters in one message. The first failure skips the rest. @throws DatabaseFailure */
  send(text: string): Promise<Rows[]> {
    return handled(this.sendOne(text))
  }

  private async sendOne(text: string): Promise<Rows[]> {
    const begins = /^\s*BEGIN\b/i.test(text)
    if (/\bCOMMIT\b/i.test(text) || !(begins || this.isOpen)) this.mayHaveCommitted = true
    else if (begins) this.mayHaveCommitted = false
    const wasOpen = this.isOpen
    // Set before the response arrives. If a later statement fails, the transaction is still open.
    if (begins) this.isOpen = true
    const answers = eachOf(await this.answerOf(this.reserved.unsafe(text).simple().values()))
    const ended = answers.map(({ command }) => command).filter((command) => transactional.has(command ?? ''))
    const last = ended.at(-1)
    this.isOpen = last === undefined ? wasOpen : last === 'BEGIN' || last === 'START TRANSACTION'
    // The server answers ROLLBACK to the COMMIT of a failed transaction.
    if (ended.includes('ROLLBACK') && !/\bROLLBACK\b/i.test(text)) throw new DatabaseFailure('retry', '25P02')
    return answers
  }

  /** Sends a statement. Several calls in a row, without `await`, are sent together. @throws DatabaseFailure */
  run(text: string, params: readonly unknown[] = []): Promise<Rows> {
    if (!this.isOpen) this.mayHaveCommitted = true
    return handled(this.answerOf(this.reserved.unsafe(text, params.map(toParameter)).values()))
  }

  /**
   * Sends COMMIT together with the pending statements. If one statement fails, the server rolls back.
   * @throws DatabaseFailure of the first failed statement; `lost` if the outcome is unknown
   */
  async commit(pending: readonly unknown[]): Promise<void> {
    this.mayHaveCommitted = true
    // COMMIT must have no timeout (see `committing`).
    const unlimited = this.run("SELECT set_config('statement_timeout', $1, true)", ['0'])
    // The driver sends a tagged template at once. A COMMIT in another form would wait for all answers.
    const committed: Promise<Answer> = this.answerOf(this.reserved`COMMIT`.values())
    const results = await Promise.allSettled([...pending, unlimited, committed])
    this.isOpen = false
    const failed = results.find(({ status }) => status === 'rejected')
    if (failed) throw (failed as PromiseRejectedResult).reason
    if ((await committed).command !== 'COMMIT') throw new DatabaseFailure('retry', '25P02')
  }

  async reset(): Promise<void> {
    if (!this.isOpen || this.hasEnded) return
    using _ = new Deadline(timeouts.connect, () => this.close())
    await this.send('ROLLBACK').catch(() => this.close())
  }

  close(): void {
    this.hasEnded = true
    close(this.client)
  }

  get whenBroken(): Meaning {
    return this.mayHaveCommitted ? 'lost' : 'retry'
  }

  private async answerOf<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (error) {
      throw toFailure(error, this.whenBroken)
    }
  }
}

/**
 * Runs work in a transaction. If the work throws, the pool rolls back.
 * @throws DatabaseFailure `lost` if the outcome is unknown
 */
export async function inTransaction<T>(
  connection: Connection,
  first: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  await connection.send(connection.begin + first.join(';'))
  const done = await work()
  await connection.send(committing)
  return done
}

/** Sets search_path. By default, the server would first search a schema with the role's name. */
function firstText({ statementMillis }: Opening): string {
  return `SELECT pg_is_in_recovery(); SET search_path = public; SET statement_timeout = ${statementMillis};
    SET idle_in_transaction_session_timeout = ${idleMillis}`
}

/** Prevents an unhandled rejection if the caller stops at the failure of an earlier statement. */
function handled<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => undefined)
  return answer
}

const transactional = new Set(['BEGIN', 'START TRANSACTION', 'COMMIT', 'ROLLBACK'])

type Answer = Rows & { readonly command?: string | null }

/** Returns one answer per statement. For a single statement, the driver returns an answer without an array. */
function eachOf(answers: Answer | Answer[]): Answer[] {
  return 'command' in answers ? [answers] : (answers as Answer[])
}

/**
 * A number that is not a safe integer becomes null, which matches no row. A value of an unknown type throws before
 * COMMIT: the driver would skip the statement and still commit.
 */
function toParameter(value: unknown): unknown {
  const isKnown = value == null || value instanceof Uint8Array || plain.has(typeof value)
  if (!isKnown) throw new TypeError('a parameter is neither a text, a number, a boolean nor bytes')
  return typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER) ? null : value
}

const plain = new Set(['string', 'number', 'boolean'])

/** Sets all options, because Bun would read missing options from libpq's environment variables. */
function clientFor({ address, host, password }: Opening, onclose: () => void): SQL {
  const isSocket = host.host.startsWith('/')
  return new SQL({
    adapter: 'postgres',
    ...(isSocket ? { path: host.host } : { hostname: host.host }),
    port: host.port,
    username: address.user,
    password: password ?? '',
    database: address.database,
    tls: isSocket ? 'disable' : tlsFor(address),
    channelBinding: address.sslMode === 'disable' ? 'disable' : 'prefer',
    connection: { application_name: 'anteroom', options: '' },
    prepare: true,
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
  // NODE_TLS_REJECT_UNAUTHORIZED must have no effect.
  return { rejectUnauthorized: true, ...ca }
}

/** Reads the file for each new connection, because certificates expire and are replaced. */
function readAuthorities(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    throw new Refusal('settings_invalid', `the sslrootcert file ${path} cannot be read`)
  }
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  throw new Refusal('settings_invalid', `the sslrootcert file ${path} contains no PEM certificate`)
}

function close(client: SQL): void {
  client.close({ timeout: 0 }).catch(() => undefined)
}
