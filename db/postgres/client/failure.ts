import { DrizzleQueryError } from 'drizzle-orm'
import { Refusal } from '../../../src/domain/errors'

/** What a failure means to the caller. */
export type Meaning =
  /** The connection broke, or the call was late, when something may have been committed: the outcome is unknown. */
  | 'lost'
  /** Nothing was committed: the same can be tried again. */
  | 'retry'
  /** No connection became free in time, or the pool is closed: nothing was sent. */
  | 'busy'
  /** No server answered: nothing was sent. */
  | 'unreachable'
  /** The server has no room: connections, memory or disk. */
  | 'full'
  /** The server is a standby, or has become one: another host is to be tried. Nothing was committed. */
  | 'readOnly'
  /** The server rejects us, or we do not trust it: an operator has to change something. */
  | 'denied'
  /** A constraint stopped the statement; it is named. */
  | 'constraint'
  /** The server's disk or its data fails. */
  | 'damaged'
  /** Anything else: a defect. */
  | 'refused'

/** A failure without the server's words, which can hold values of rows and parameters. */
export class DatabaseFailure extends Error {
  override readonly name = 'DatabaseFailure'

  /**
   * @param code the SQLSTATE, or the driver's own name for it; null if there is neither
   * @param constraint the one that stopped the statement
   */
  constructor(
    readonly meaning: Meaning,
    readonly code: string | null = null,
    readonly constraint: string | null = null,
  ) {
    super(code === null ? words[meaning] : `${words[meaning]} (${code})`)
  }
}

const words: Record<Meaning, string> = {
  lost: 'the connection to the database broke, and nobody knows what was stored',
  retry: 'the database could not do it at this moment; nothing was stored',
  busy: 'the database server did not come to it in time; nothing was stored',
  unreachable: 'the database server cannot be reached',
  full: 'the database server has no room',
  readOnly: 'the database server is a standby, which cannot be written',
  denied: 'the database server does not let this program in, or cannot be trusted',
  constraint: 'a constraint of the database forbids it',
  damaged: 'the disk of the database server, or its data, fails',
  refused: 'the database server does not do what it was told',
}

/** What passes by itself, and what to look at meanwhile. */
const passing: Partial<Record<Meaning, string>> = {
  unreachable: 'no server answers there: is it running, and are its name and its port right?',
  readOnly: 'it is a standby, which cannot be written: name the primary too, as host1,host2',
  full: 'the server has no room',
}

/** As a meaning: the connection has ended, which is unknown, unreachable or worth a retry by when it ended. */
type Known = readonly [code: RegExp, meaning: Meaning | 'broken', whenOpening?: string]

/** SQLSTATE (PostgreSQL, appendix A) and the driver's own codes, by the first that fits, with what an operator can do. */
const known: readonly Known[] = [
  [/^25P0[34]$/, 'retry'],
  [/^(40001|40P01|55P03|57014|25P02)$/, 'retry'],
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
    'broken',
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
  [/^(28|ERR_POSTGRES_(AUTH|SASL|PASSWORD|CHANNEL|SERVER_SIGNATURE|UN(SUPPORTED|KNOWN)_AUTH))/, 'denied'],
  [/TLS_NOT_AVAILABLE$/, 'denied', 'the server speaks no TLS, which sslmode=verify-full asks for'],
  [/^ERR_POSTGRES_(TLS|SSL)/, 'denied'],
  [/ALTNAME/, 'denied', "the server's certificate is for another name than the address has"],
  [/EXPIRED/, 'denied', "the server's certificate has expired"],
  [
    /^(UNABLE_TO|DEPTH_ZERO|SELF_SIGNED)/,
    'denied',
    "the server's certificate is signed by nobody who is trusted: name its authority by sslrootcert=FILE",
  ],
  [/CERT/, 'denied'],
  [/^(58|XX00[12]$)/, 'damaged'],
  [/^(08|57P0|ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME)|ECONN|EPIPE|ETIMEDOUT)/, 'broken'],
]

function find(code: string | null): Known | undefined {
  return code === null ? undefined : known.find(([pattern]) => pattern.test(code))
}

/** Whether a failure says that the connection is at its end. */
export function isBroken({ code, meaning }: DatabaseFailure): boolean {
  // A transaction that the server ended for having waited too long ends with its connection.
  return meaning === 'lost' || /^25P0[34]$/.test(code ?? '') || find(code)?.[1] === 'broken'
}

/**
 * What the driver threw, without its words.
 *
 * @param whenBroken what it means if the connection broke
 */
export function toFailure(error: unknown, whenBroken: Meaning): DatabaseFailure {
  if (error instanceof DatabaseFailure) return error
  const { errno, code, constraint } = error as { errno?: unknown; code?: unknown; constraint?: unknown }
  const given = [errno, code].find((each) => typeof each === 'string') as string | undefined
  const meaning = find(given ?? null)?.[1] ?? 'refused'
  if (meaning === 'broken') return new DatabaseFailure(whenBroken, given)
  return new DatabaseFailure(meaning, given, typeof constraint === 'string' ? constraint : null)
}

/** The failure itself, if Drizzle has wrapped it: the wrapper's message holds the statement and its parameters. */
export function unwrapped(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? (error.cause ?? new DatabaseFailure('refused')) : error
}

/** The failure's meaning; null for an error of another kind. */
export function meaningOf(error: unknown): Meaning | null {
  const found = unwrapped(error)
  return found instanceof DatabaseFailure ? found.meaning : null
}

const again = new Set<Meaning>(['lost', 'retry', 'busy', 'unreachable', 'readOnly'])

/** A failure as a caller gets it; any other error is returned as it is. */
export function toRefusal(error: unknown): unknown {
  const found = unwrapped(error)
  // For example a file of certificates that is being rewritten: the next try may find it whole.
  if (found instanceof Refusal && found.kind === 'settings_invalid')
    return new Refusal('storage_failed', found.message, { cause: found })
  if (!(found instanceof DatabaseFailure)) return found
  const { meaning, code } = found
  if (again.has(meaning) || code === '53300')
    return new Refusal('storage_busy', 'the service is busy; try again', {
      cause: found,
      retryAfterSeconds: 1,
    })
  if (meaning === 'constraint' || meaning === 'refused') return found
  return new Refusal('storage_failed', words[meaning], { cause: found })
}

/**
 * A failure as it is reported when a database is opened; any other error is returned as it is.
 *
 * @param name the database's address without its password
 */
export function openingRefusal(error: unknown, name: string): unknown {
  if (!(error instanceof DatabaseFailure)) return error
  const { meaning, code } = error
  if (meaning === 'retry' || meaning === 'busy' || meaning === 'lost')
    return new Refusal('storage_busy', 'the database is busy; try again', { cause: error })
  const remedy = find(code)?.[2]
  const passes = remedy === undefined && passing[meaning]
  const [place] = name.split('?')
  // Without the failure as its cause: these words say more than the failure's own.
  return passes
    ? new Refusal('storage_busy', `${place}: ${passes}`)
    : new Refusal('database_unusable', `${place}: ${remedy ?? error.message}`)
}
