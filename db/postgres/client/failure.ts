import { DrizzleQueryError } from 'drizzle-orm'
import { Refusal } from '../../../src/domain/errors'

/** What a failure means to whoever asked. */
export type Meaning =
  /** The connection broke, or its deadline passed, when something may have been committed: nobody knows (CAP's indoubt). */
  | 'lost'
  /** Nothing was committed: the same may be tried again, on a new connection. */
  | 'retry'
  /** No connection became free in time, or the pool is closed: nothing was sent. */
  | 'busy'
  /** No server was to be had: nothing was sent. */
  | 'unreachable'
  /** The server has no room: connections, memory or disk. */
  | 'full'
  /** It is a standby, or has become one: another host is to be asked. Nothing was committed. */
  | 'readOnly'
  /** The server does not let us in, or we do not trust it: an operator has to mend it. */
  | 'denied'
  /** A constraint stopped the statement; it is named. */
  | 'constraint'
  /** The server's disk or its data fails. */
  | 'damaged'
  /** Anything else that the server will not do: a defect. */
  | 'refused'

/** A failure of the server's, without its words: they can hold values of rows, and parameters. */
export class DatabaseFailure extends Error {
  override readonly name = 'DatabaseFailure'

  /**
   * @param code the SQLSTATE, or the driver's own name for it; null where neither spoke
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

/** SQLSTATE by its beginning (PostgreSQL, appendix A), the longer ones first. Those of a broken connection are not here. */
const meanings: readonly (readonly [code: RegExp, meaning: Meaning])[] = [
  [/^(40001|40P01|55P03|57014|25P0[234])$/, 'retry'],
  [/^25006$/, 'readOnly'],
  [/^23/, 'constraint'],
  [/^53/, 'full'],
  [/^(28|3D|42501$)/, 'denied'],
  [/^(58|XX00[12]$)/, 'damaged'],
  [
    /^ERR_POSTGRES_(TLS|SSL|AUTH|SASL|PASSWORD|CHANNEL|SERVER_SIGNATURE|UNSUPPORTED_AUTH|UNKNOWN_AUTH)/,
    'denied',
  ],
  [/CERT|ALTNAME|^DEPTH_ZERO|^UNABLE_TO/, 'denied'],
]

/** By which server or driver say that the connection is at its end. */
const broken = /^(08|57P0|ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME)|ECONN|EPIPE|ETIMEDOUT)/

/** Whether a failure says that the connection is at its end. */
export function isBroken({ code, meaning }: DatabaseFailure): boolean {
  return meaning === 'lost' || code === '25P03' || code === '25P04' || (code !== null && broken.test(code))
}

/**
 * What the driver threw, without its words.
 *
 * @param whenBroken what it means if the connection broke
 */
export function toFailure(error: unknown, whenBroken: Meaning): DatabaseFailure {
  if (error instanceof DatabaseFailure) return error
  const { errno, code, constraint } = error as { errno?: unknown; code?: unknown; constraint?: unknown }
  const known = [errno, code].find((each) => typeof each === 'string') as string | undefined
  if (known === undefined) return new DatabaseFailure('refused')
  if (broken.test(known)) return new DatabaseFailure(whenBroken, known)
  const [, meaning] = meanings.find(([pattern]) => pattern.test(known)) ?? []
  return new DatabaseFailure(meaning ?? 'refused', known, typeof constraint === 'string' ? constraint : null)
}

/** The failure itself where Drizzle has wrapped it, whose message holds the statement and its parameters. */
export function unwrapped(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? (error.cause ?? new DatabaseFailure('refused')) : error
}

/** The failure's meaning; null where an error is none of the database's. */
export function meaningOf(error: unknown): Meaning | null {
  const found = unwrapped(error)
  return found instanceof DatabaseFailure ? found.meaning : null
}

const again = new Set<Meaning>(['lost', 'retry', 'busy', 'unreachable', 'readOnly'])

/** What a failure of the database's means to whoever asked; any other error is what it was. */
export function toRefusal(error: unknown): unknown {
  const found = unwrapped(error)
  // A file of its certificates or passwords that is being written anew, say: whoever asks again finds it whole.
  if (found instanceof Refusal && found.kind === 'settings_invalid')
    return new Refusal('storage_failed', found.message, { cause: found })
  if (!(found instanceof DatabaseFailure)) return found
  const { meaning, code } = found
  const isPassing = again.has(meaning) || code === '53300'
  if (isPassing)
    return new Refusal('storage_busy', 'the service is busy; try again', {
      cause: found,
      retryAfterSeconds: 1,
    })
  if (meaning === 'constraint' || meaning === 'refused') return found
  return new Refusal('storage_failed', words[meaning], { cause: found })
}
