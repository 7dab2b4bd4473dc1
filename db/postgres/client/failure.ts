import { DrizzleQueryError } from 'drizzle-orm'
import { Refusal } from '../../../src/domain/errors'

const messages = {
  /** The connection broke or timed out, and something may have been committed. */
  lost: 'the connection to the database broke, and nobody knows what was stored',
  retry: 'the database could not do it at this moment; nothing was stored',
  /** No connection became free in time, or the pool is closed. */
  busy: 'the database server did not come to it in time; nothing was stored',
  unreachable: 'the database server cannot be reached',
  /** The server lacks connections, memory or disk space. */
  full: 'the database server has no room',
  /** Another host may be the primary. Nothing was committed. */
  readOnly: 'the database server is a standby, which cannot be written',
  denied: 'the database server does not let this program in, or cannot be trusted',
  constraint: 'a constraint of the database forbids it',
  damaged: 'the disk of the database server, or its data, fails',
  /** Anything else: a defect. */
  refused: 'the database server does not do what it was told',
}

export type Meaning = keyof typeof messages

/** A failure without the server's message, which can contain values of rows and parameters. */
export class DatabaseFailure extends Error {
  override readonly name = 'DatabaseFailure'

  /** @param code the SQLSTATE or the driver's code */
  constructor(
    readonly meaning: Meaning,
    readonly code: string | null = null,
    readonly constraint: string | null = null,
  ) {
    super(code === null ? messages[meaning] : `${messages[meaning]} (${code})`)
  }
}

/** `ends`: the connection has ended. The caller decides between lost, retry and unreachable. */
type Row = readonly [code: RegExp, meaning: Meaning | 'ends', whenOpening?: string]

/** SQLSTATE (PostgreSQL, appendix A) and driver codes; the first match counts. The remedy is for opening. */
const codes: readonly Row[] = [
  [/^(40001|40P01|55P03|57014|25P0[234])$/, 'retry'],
  [/^25006$/, 'readOnly'],
  [/^23/, 'constraint'],
  [/^53/, 'full'],
  [
    /^NO_PASSWORD$/,
    'denied',
    'the server asks for a password, and none was found: neither the address nor PGPASSWORD has one, and the password file (PGPASSFILE, else ~/.pgpass) is not there, or has no line for this host, port, database and user',
  ],
  [/^28P01$/, 'denied', 'the server does not take the password, or knows no such role'],
  [
    /^28000$/,
    'denied',
    'the server does not let this role in from here (its pg_hba.conf), or not as this user of the machine (peer), or knows no such role',
  ],
  [
    /^08P01$/,
    'ends',
    'it does not speak as PostgreSQL does; PgBouncer must be 1.21 or newer, with max_prepared_statements',
  ],
  [
    /^3D000$/,
    'denied',
    'the server has no such database: have it made there (createdb), then give the command again',
  ],
  [
    /^42501$/,
    'denied',
    'the role lacks a right: use the owner of the database and its tables, or have an administrator run, in this database, ' +
      'CREATE EXTENSION btree_gist and GRANT CREATE ON SCHEMA public TO the role',
  ],
  [
    /^0A000$/,
    'refused',
    "the server has no extension btree_gist: have its administrator install PostgreSQL's contrib package",
  ],
  [/TLS_NOT_AVAILABLE$/, 'denied', 'the server speaks no TLS, which sslmode=verify-full asks for'],
  [/ALTNAME/, 'denied', "the server's certificate is for another name than the address has"],
  [/EXPIRED/, 'denied', "the server's certificate has expired"],
  [
    /^(UNABLE_TO|DEPTH_ZERO|SELF_SIGNED)/,
    'denied',
    "the server's certificate is signed by nobody who is trusted: name its authority by sslrootcert=FILE",
  ],
  [
    /^28|CERT|^ERR_POSTGRES_(TLS|SSL|AUTH|SASL|PASSWORD|CHANNEL|SERVER_SIGNATURE|UN(SUPPORTED|KNOWN)_AUTH)/,
    'denied',
  ],
  [/^(58|XX00[12]$)/, 'damaged'],
  [/^(08|57P0|ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME)|ECONN|EPIPE|ETIMEDOUT)/, 'ends'],
]

/** Remedies for failures that may pass without a change of settings. */
const passing: Partial<Record<Meaning, string>> = {
  unreachable: 'no server answers there: is it running, and are its name and its port right?',
  readOnly: 'it is a standby, which cannot be written: name the primary too, as host1,host2',
  full: 'the server has no room',
}

function rowOf(code: string | null): Row | undefined {
  return code === null ? undefined : codes.find(([pattern]) => pattern.test(code))
}

/** True if the connection has ended. The server also ends one that was idle in a transaction for too long. */
export function isBroken({ code, meaning }: DatabaseFailure): boolean {
  return meaning === 'lost' || /^25P0[34]$/.test(code ?? '') || rowOf(code)?.[1] === 'ends'
}

/** A driver error without its message. @param whenEnded the meaning if the connection has ended */
export function toFailure(error: unknown, whenEnded: Meaning): DatabaseFailure {
  if (error instanceof DatabaseFailure) return error
  const { errno, code, constraint } = error as Record<string, unknown>
  const given = [errno, code].find((each) => typeof each === 'string') as string | undefined
  const meaning = rowOf(given ?? null)?.[1] ?? 'refused'
  if (meaning === 'ends') return new DatabaseFailure(whenEnded, given)
  return new DatabaseFailure(meaning, given, typeof constraint === 'string' ? constraint : null)
}

/** The original failure. The message of Drizzle's wrapper contains the statement and its parameters. */
export function unwrapped(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? (error.cause ?? new DatabaseFailure('refused')) : error
}

const mayPass = new Set<Meaning>(['lost', 'retry', 'busy', 'unreachable', 'readOnly'])

/** The failure as clients see it. Returns any other error unchanged. */
export function toRefusal(error: unknown): unknown {
  const failure = unwrapped(error)
  // For example a certificate file that is being rewritten.
  if (failure instanceof Refusal && failure.kind === 'settings_invalid')
    return new Refusal('storage_failed', failure.message, { cause: failure })
  if (!(failure instanceof DatabaseFailure)) return failure
  const { meaning, code } = failure
  if (mayPass.has(meaning) || code === '53300') {
    const how = { cause: failure, retryAfterSeconds: 1 }
    return new Refusal('storage_busy', 'the service is busy; try again', how)
  }
  if (meaning === 'constraint' || meaning === 'refused') return failure
  return new Refusal('storage_failed', messages[meaning], { cause: failure })
}

/** The failure as the operator sees it at opening. @param name the address without its password */
export function openingRefusal(error: unknown, name: string): unknown {
  if (!(error instanceof DatabaseFailure)) return error
  const { meaning, code } = error
  if (meaning === 'retry' || meaning === 'busy' || meaning === 'lost')
    return new Refusal('storage_busy', 'the database is busy; try again', { cause: error })
  const [place] = name.split('?')
  const remedy = rowOf(code)?.[2]
  const passes = passing[meaning]
  // No cause: these messages say more than the failure's own.
  return remedy === undefined && passes !== undefined
    ? new Refusal('storage_busy', `${place}: ${passes}`)
    : new Refusal('database_unusable', `${place}: ${remedy ?? error.message}`)
}
