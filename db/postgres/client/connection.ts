import { readFileSync } from 'node:fs'
import { type ReservedSQL, SQL } from 'bun'
import type { DatabaseAddress, DatabaseHost } from '../../../src/domain/addresses'
import { Refusal } from '../../../src/domain/errors'
import { DatabaseFailure, type Meaning, toFailure } from './failure'
import { Deadline, timeouts } from './timeouts'

/** The rows of a statement, each as its values: int8 as text, bytea as Buffer, json as its value. */
export type Rows = unknown[][]

/** How to open a connection. */
export interface Opening {
  readonly address: DatabaseAddress
  readonly host: DatabaseHost
  readonly password: string | null
  /** The server's limit for one statement. */
  readonly statementMillis: number
  /** Called once, when the connection has ended for any reason. */
  readonly onEnd: (connection: Connection) => void
}

/** The server's limit for a transaction that sets no other, in ms. */
const idleMillis = 60_000

/**
 * The last text of a transaction. A COMMIT that waits for a standby must not be canceled: the server would then report success,
 * although only that machine has stored it.
 */
export const committing = 'SET LOCAL statement_timeout = 0;COMMIT'

/** One connection to a server that can be written. */
export class Connection {
  /** Whether a transaction may be open. */
  isOpen = false
  /** Whether it cannot be used any more. */
  hasEnded = false
  /** Whether something was sent, since the last BEGIN, that the server may have committed. */
  mayHaveCommitted = false
  /** The beginning of the first text of each transaction. */
  readonly begin = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;'

  private constructor(
    private readonly client: SQL,
    private readonly reserved: ReservedSQL,
    private statementMillis: number,
  ) {}

  /**
   * Connects to a host.
   *
   * @throws DatabaseFailure unreachable, denied, full or readOnly; Refusal settings_invalid for a file that cannot be read
   */
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

  /** Raises the server's limit for one statement. It stays: to lower it would cost the next call a message. */
  async allowStatements(millis: number): Promise<void> {
    if (millis <= this.statementMillis) return
    await this.answerOf(this.reserved.unsafe(`SET statement_timeout = ${millis}`).simple())
    this.statementMillis = millis
  }

  /**
   * Sends one text of one or more statements without parameters, in one message (simple query protocol). Returns the rows of
   * each statement. The text ends at a statement that fails.
   *
   * @throws DatabaseFailure
   */
  send(text: string): Promise<Rows[]> {
    return handled(this.sendOne(text))
  }

  private async sendOne(text: string): Promise<Rows[]> {
    const begins = /^\s*BEGIN\b/i.test(text)
    if (/\bCOMMIT\b/i.test(text) || !(begins || this.isOpen)) this.mayHaveCommitted = true
    else if (begins) this.mayHaveCommitted = false
    const wasOpen = this.isOpen
    // Before the answer: a text that fails in the middle leaves a transaction open.
    if (begins) this.isOpen = true
    const answers = eachOf(await this.answerOf(this.reserved.unsafe(text).simple().values()))
    const ended = answers.map(({ command }) => command).filter((command) => transactional.has(command ?? ''))
    const last = ended.at(-1)
    this.isOpen = last === undefined ? wasOpen : last === 'BEGIN' || last === 'START TRANSACTION'
    // The server's answer to the COMMIT of a transaction that has failed.
    if (ended.includes('ROLLBACK') && !/\bROLLBACK\b/i.test(text)) throw new DatabaseFailure('retry', '25P02')
    return answers
  }

  /**
   * Runs one statement with parameters, prepared when it first runs on this connection. Statements that are run without waiting
   * go out together, in order. Returns the rows.
   *
   * @throws DatabaseFailure
   */
  run(text: string, params: readonly unknown[]): Promise<Rows> {
    if (!this.isOpen) this.mayHaveCommitted = true
    return handled(this.answerOf(this.reserved.unsafe(text, params.map(toParameter)).values()))
  }

  /**
   * Commits what was run. Nothing is awaited before: COMMIT goes out with the statements, and the server rolls back if one
   * of them fails.
   *
   * @param pending the statements that were run without waiting
   * @throws DatabaseFailure of the first statement that failed; lost if it is unknown whether it was committed
   */
  async commit(pending: readonly unknown[]): Promise<void> {
    this.mayHaveCommitted = true
    // A COMMIT that waits for a standby must not be canceled, see `committing`.
    const unlimited = this.run("SELECT set_config('statement_timeout', $1, true)", ['0'])
    // A template, because the driver holds back other texts until the statements before it are answered.
    const committed: Promise<Answer> = this.answerOf(this.reserved`COMMIT`.values())
    const results = await Promise.allSettled([...pending, unlimited, committed])
    this.isOpen = false
    const failed = results.find(({ status }) => status === 'rejected')
    if (failed) throw (failed as PromiseRejectedResult).reason
    if ((await committed).command !== 'COMMIT') throw new DatabaseFailure('retry', '25P02')
  }

  /** Ends what was left open; closes the connection if the server does not. */
  async reset(): Promise<void> {
    if (!this.isOpen || this.hasEnded) return
    using _ = new Deadline(timeouts.connect, () => this.close())
    await this.send('ROLLBACK').catch(() => this.close())
  }

  /** Ends it at once. Statements that wait for an answer fail. */
  close(): void {
    this.hasEnded = true
    close(this.client)
  }

  /** What it means if the connection breaks now. */
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
 * Does a work in a transaction of its own. If the work throws, the pool rolls the transaction back.
 *
 * @param first statements of the transaction's first message, after its BEGIN
 * @throws DatabaseFailure lost if it is unknown whether it was committed
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

/** A role may have a schema of its own name, in which tables would be looked for first. */
function firstText({ statementMillis }: Opening): string {
  return `SELECT pg_is_in_recovery(); SET search_path = public; SET statement_timeout = ${statementMillis};
    SET idle_in_transaction_session_timeout = ${idleMillis}`
}

/** Callers that send several at once await one after the other, and none of the rest once one has failed. */
function handled<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => undefined)
  return answer
}

const transactional = new Set(['BEGIN', 'START TRANSACTION', 'COMMIT', 'ROLLBACK'])

type Answer = Rows & { readonly command?: string | null }

/** The answers to the statements of a text: the driver returns a single one as it is. */
function eachOf(answers: Answer | Answer[]): Answer[] {
  return 'command' in answers ? [answers] : (answers as Answer[])
}

/**
 * A number that no column of ours can hold becomes null: it equals nothing, and cannot be stored. What the driver could not encode
 * is refused before COMMIT goes out: the driver would send that without this statement.
 */
function toParameter(value: unknown): unknown {
  const isKnown = value == null || value instanceof Uint8Array || plain.has(typeof value)
  if (!isKnown) throw new TypeError('a parameter is neither a text, a number, a boolean nor bytes')
  return typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER) ? null : value
}

const plain = new Set(['string', 'number', 'boolean'])

/** States every option that Bun would otherwise take from libpq's variables in the environment. */
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
    // Empty options in place of PGOPTIONS.
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
  // Stated, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
  return { rejectUnauthorized: true, ...ca }
}

/** Read for each connection, because authorities expire and are replaced. */
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
