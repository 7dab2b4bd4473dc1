import { DrizzleQueryError } from 'drizzle-orm'
import { Refusal, splitAction } from '../../../src/domain/errors'

const messages = {
  /** The connection broke or timed out, and something may have been committed. */
  lost: 'the connection to the database was lost, and it is unknown if the change was stored',
  retry: 'the database could not process this now, so nothing was stored',
  /** Also used for calls on a closed pool. */
  busy: 'no connection to the database server became free in time, so nothing was stored',
  unreachable: 'the database server cannot be reached',
  full: 'the database server is out of connections, memory or disk space',
  /** Nothing was committed. Another host may be the primary. */
  readOnly: 'the database server is a read-only standby',
  denied: 'the database server rejects this program, or is not trusted',
  constraint: 'the change violates a constraint of the database',
  damaged: 'the disk of the database server fails, or its data is damaged',
  /** Any other failure, which is a defect of this program. */
  refused: 'the database server rejected a statement; report it',
}

export type Meaning = keyof typeof messages

/** A failure without the server's message, because that message may contain values of rows and parameters. */
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

/** `ends` means that the connection has ended. The caller then chooses `lost`, `retry` or `unreachable`. */
type Row = readonly [code: RegExp, meaning: Meaning | 'ends', whenOpening?: string]

/** SQLSTATEs (PostgreSQL, appendix A) and codes of the driver. The first matching row counts. */
const codes: readonly Row[] = [
  [/^(40001|40P01|55P03|57014|25P0[234])$/, 'retry'],
  [/^25006$/, 'readOnly'],
  [/^23/, 'constraint'],
  [/^53/, 'full'],
  [
    /^NO_PASSWORD$/,
    'denied',
    'the server requires a password; set it in the address, in PGPASSWORD or in the password file (PGPASSFILE or ~/.pgpass). The line in that file must match the host, port, database and user',
  ],
  [/^28P01$/, 'denied', 'the server rejects the password, or the role does not exist'],
  [
    /^28000$/,
    'denied',
    "the role does not exist, or the server's pg_hba.conf does not allow this connection; ask the administrator of the server",
  ],
  [
    /^08P01$/,
    'ends',
    "the server does not follow PostgreSQL's protocol; for PgBouncer, use 1.21 or newer with max_prepared_statements above 0",
  ],
  [
    /^3D000$/,
    'denied',
    'the server has no such database; create it there (createdb), then run the command again',
  ],
  [
    /^42501$/,
    'denied',
    'the role lacks a privilege; connect as the owner of the database and its tables, or have an administrator run in this database: ' +
      'CREATE EXTENSION btree_gist and GRANT CREATE ON SCHEMA public TO the role',
  ],
  [
    /^0A000$/,
    'refused',
    "the server has no extension btree_gist; have its administrator install PostgreSQL's contrib package",
  ],
  [/TLS_NOT_AVAILABLE$/, 'denied', 'the server does not support TLS, which sslmode=verify-full requires'],
  [/ALTNAME/, 'denied', "the server's certificate is for another host name than the address"],
  [/EXPIRED/, 'denied', "the server's certificate has expired"],
  [
    /^(UNABLE_TO|DEPTH_ZERO|SELF_SIGNED)/,
    'denied',
    "the server's certificate is not signed by a trusted authority; pass the certificate of its authority with sslrootcert=FILE",
  ],
  [
    /^28|CERT|^ERR_POSTGRES_(TLS|SSL|AUTH|SASL|PASSWORD|CHANNEL|SERVER_SIGNATURE|UN(SUPPORTED|KNOWN)_AUTH)/,
    'denied',
  ],
  [/^(58|XX00[12]$)/, 'damaged'],
  [/^(08|57P0|ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME)|ECONN|EPIPE|ETIMEDOUT)/, 'ends'],
]

/** Messages for failures that may pass without a change of settings. */
const passing: Partial<Record<Meaning, string>> = {
  unreachable: 'no server answers; check that it runs, and check its host name and port',
  readOnly: 'the server is a read-only standby; name the primary too, as in host1,host2',
  full: 'the server is out of connections, memory or disk space',
}

function rowOf(code: string | null): Row | undefined {
  return code === null ? undefined : codes.find(([pattern]) => pattern.test(code))
}

/** True if the connection has ended, for example because it was idle in a transaction for too long. */
export function isBroken({ code, meaning }: DatabaseFailure): boolean {
  return meaning === 'lost' || /^25P0[34]$/.test(code ?? '') || rowOf(code)?.[1] === 'ends'
}

/** Converts a driver error. @param whenEnded the meaning if the connection has ended */
export function toFailure(error: unknown, whenEnded: Meaning): DatabaseFailure {
  if (error instanceof DatabaseFailure) return error
  const { errno, code, constraint } = error as Record<string, unknown>
  const given = [errno, code].find((each) => typeof each === 'string') as string | undefined
  const meaning = rowOf(given ?? null)?.[1] ?? 'refused'
  if (meaning === 'ends') return new DatabaseFailure(whenEnded, given)
  return new DatabaseFailure(meaning, given, typeof constraint === 'string' ? constraint : null)
}

/** Removes Drizzle's wrapper, whose message contains the statement and its parameters. */
export function unwrapped(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? (error.cause ?? new DatabaseFailure('refused')) : error
}

const mayPass = new Set<Meaning>(['lost', 'retry', 'busy', 'unreachable', 'readOnly'])

/** Returns the refusal that clients see, and any other error unchanged. */
export function toRefusal(error: unknown): unknown {
  const failure = unwrapped(error)
  // The certificate file may be incomplete while it is being replaced.
  if (failure instanceof Refusal && failure.kind === 'settings_invalid')
    return new Refusal('storage_failed', failure.message, { cause: failure })
  if (!(failure instanceof DatabaseFailure)) return failure
  const { meaning, code } = failure
  if (mayPass.has(meaning) || code === '53300') {
    const how = { action: 'try again', cause: failure, retryAfterSeconds: 1 }
    return new Refusal('storage_busy', 'the service is busy', how)
  }
  if (meaning === 'constraint' || meaning === 'refused') return failure
  return new Refusal('storage_failed', messages[meaning], { cause: failure })
}

/** Returns the refusal that the operator sees on opening. @param name the address without its password */
export function openingRefusal(error: unknown, name: string): unknown {
  if (!(error instanceof DatabaseFailure)) return error
  const { meaning, code } = error
  if (meaning === 'retry' || meaning === 'busy' || meaning === 'lost')
    return new Refusal('storage_busy', 'the database is busy', { action: 'try again', cause: error })
  const [place] = name.split('?')
  const remedy = rowOf(code)?.[2]
  const passes = passing[meaning]
  // Without a cause, because the message of the cause says less.
  const isPassing = remedy === undefined && passes !== undefined
  const [fault, options] = splitAction(isPassing ? passes : (remedy ?? error.message))
  return new Refusal(isPassing ? 'storage_busy' : 'database_unusable', `${place}: ${fault}`, options)
}
