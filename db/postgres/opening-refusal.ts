import { Refusal } from '../../src/domain/errors'
import { DatabaseFailure } from './client/failure'

/** What lies with the server, and passes: another try may find it mended. */
const passing: Readonly<Record<string, string>> = {
  unreachable: 'no server answers there: is it running, and are its name and its port right?',
  readOnly: 'it is a standby, which cannot be written: name the primary too, as host1,host2',
  full: 'the server has no room',
}

/** What an operator has to mend, by SQLSTATE or the driver's own name. */
const denied: readonly (readonly [code: RegExp, words: string])[] = [
  [
    /^NO_PASSWORD$/,
    'the server asks for a password, and none was found: neither the address nor PGPASSWORD has one, and the password file (PGPASSFILE, else ~/.pgpass) is not there, or has no line for this host, port, database and user',
  ],
  [/^28P01$/, 'the server does not take the password, or knows no such role'],
  [
    /^28000$/,
    'the server does not let this role in from here (its pg_hba.conf), or not as this user of the machine (peer), or knows no such role',
  ],
  [
    /^08P01$/,
    'it does not speak as PostgreSQL does; for PgBouncer in transaction mode the address says prepare=false',
  ],
  [/^3D000$/, 'the server has no such database: have it made there (createdb), then give the command again'],
  [/^42501$/, 'the role has no right to the tables: use the one that made them, or have them granted to it'],
  [/TLS_NOT_AVAILABLE$/, 'the server speaks no TLS, which sslmode=verify-full asks for'],
  [/ALTNAME/, "the server's certificate is for another name than the address has"],
  [/EXPIRED/, "the server's certificate has expired"],
  [
    /^(UNABLE_TO|DEPTH_ZERO|SELF_SIGNED)/,
    "the server's certificate is signed by nobody who is trusted: name its authority by sslrootcert=FILE",
  ],
]

/**
 * What a failure on the way means to whoever opens a database; any other error is what it was.
 *
 * @param name its address, as it may be shown
 */
export function openingRefusal(error: unknown, name: string): unknown {
  if (!(error instanceof DatabaseFailure)) return error
  const { meaning, code } = error
  if (meaning === 'retry' || meaning === 'busy' || meaning === 'lost')
    return new Refusal('storage_busy', 'the database is busy; try again', { cause: error })
  const toMend = denied.find(([pattern]) => pattern.test(code ?? ''))?.[1]
  const passes = toMend === undefined && passing[meaning]
  const [place] = name.split('?')
  // Without the failure as its cause: these words say more than the failure's own.
  return passes
    ? new Refusal('storage_busy', `${place}: ${passes}`)
    : new Refusal('database_unusable', `${place}: ${toMend ?? error.message}`)
}
