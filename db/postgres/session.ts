import type { Vault } from '../../src/domain/vault'
import { whenNeeded } from '../queries/engine'
import { prepareQueries } from '../queries/queries'
import type { Connection } from './client/connection'
import { queryEngine } from './query-engine'
import { submissionQueries } from './submission-facts'

/** All queries on one connection, inside whatever transaction is open on it. @param vaultOf as prepareQueries has it */
export function openSession(connection: Connection, vaultOf: () => Vault) {
  const engine = queryEngine((text, params) => connection.run(text, params))
  return {
    connection,
    ...prepareQueries(engine, vaultOf),
    submissions: whenNeeded(() => submissionQueries(connection, vaultOf())),
  }
}

export type Session = ReturnType<typeof openSession>
