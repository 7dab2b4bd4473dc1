import type { DatabaseLogin, DatabasePlace } from '../../src/domain/database'
import { parseDatabaseAddress, shownAddress } from '../../src/domain/database-address'
import { Refusal } from '../../src/domain/errors'
import { unusable } from '../findings/unusable'
import { readOffers } from '../queries/offers'
import { settingsOver } from '../settings'
import type { Connection } from './client/connection'
import { DatabaseFailure, openingRefusal } from './client/failure'
import { passwordFor } from './client/password'
import { type OnConnection, Pool } from './client/pool'
import { commandMillis, openEngine, type Server } from './engine'
import { makeTarget, readSource } from './move'
import { recognize } from './server/recognize'

const restoreWay =
  'a backup of this program is a file, and restored to one: anteroom restore --to FILE, then anteroom database copy --from FILE ' +
  '--to the address; a backup that the server made of itself is restored there'

/**
 * The place of a database on a PostgreSQL server.
 *
 * @param text the address, with its password, where it has one
 * @throws Refusal settings_invalid for an address that is none, and for a password file that others can read
 */
export function serverDatabase(text: string, login: DatabaseLogin): DatabasePlace {
  const address = parseDatabaseAddress(text)
  if (typeof address === 'string') throw new Refusal('settings_invalid', `the database's address ${address}`)
  const name = shownAddress(text)
  const server: Server = { name, address, password: (host) => passwordFor(address, host, login) }
  const once = <T>(work: (on: OnConnection) => Promise<T>) => onceConnected(server, work)
  const find = async () => ((await once((on) => on(recognize))) ? { owner: undefined } : null)
  return {
    name,
    fullName: name,
    find,
    isSealedUnder: (purpose, masterKey) =>
      once((on) =>
        on((connection) =>
          Promise.resolve(settingsOver(connection).isSealedUnder(purpose, masterKey)).catch(() => false),
        ),
      ),
    open: (opening) => openEngine(server, opening),
    async make({ keyFile, anew, furnish }) {
      if (anew && (await find())) throw unusable(`there is a database at ${name} already`)
      await furnish(text, keyFile ?? '')
    },
    restore: () => Promise.reject(unusable(restoreWay)),
    readSource: (reading, use) => once((on) => readSource(on, name, reading, use)),
    makeTarget: (making) => once((on) => makeTarget(on, name, making)),
    listOffers: (offered, begin) =>
      once((on) =>
        on((connection) => readOffers((text, values) => connection.run(text, values), offered, begin)),
      ),
    explain,
  }
}

/** Connects for one work, and a look beside it. @throws Refusal database_unusable */
async function onceConnected<T>(server: Server, work: (on: OnConnection) => Promise<T>): Promise<T> {
  const make = (connection: Connection) => connection
  const pool = new Pool<Connection>({ ...server, size: 2, make, deadlineMillis: commandMillis })
  try {
    return await work((use, deadlineMillis) => pool.use(use, deadlineMillis))
  } catch (error) {
    throw openingRefusal(error, server.name)
  } finally {
    await pool.close()
  }
}

/** Partners are told that the service is busy; whoever gives a command, why. */
function explain(error: unknown): unknown {
  const { cause } = (error ?? {}) as { cause?: unknown }
  if (!(error instanceof Refusal && cause instanceof DatabaseFailure)) return error
  const remedy = cause.meaning === 'lost' ? ': look whether it was, before you give the command again' : ''
  return new Refusal(error.kind, cause.message + remedy, { cause })
}
