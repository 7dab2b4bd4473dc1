import type { OnConnection } from '../../../db/postgres/client/pool'
import { timeouts } from '../../../db/postgres/client/timeouts'
import { type OpenedDatabase, type Opening, openDatabase } from '../../../db/postgres/open'
import { shownAddress } from '../../../src/domain/addresses'
import { Refusal } from '../../../src/domain/errors'
import { masterKeyOf } from '../../../src/vault/vault'
import { newDatabase } from '../../support/postgres-databases'
import { testKey } from '../place'
import { TestPool } from './pools'

/** Connections to the database of a URL. Disposing closes them. */
export interface TestConnections extends AsyncDisposable {
  readonly url: string
  readonly on: OnConnection
}

export function connectTo(url: string, size = 4): TestConnections {
  const pool = new TestPool(url, size, timeouts.call)
  const on: OnConnection = (work, deadlineMillis) => pool.use(work, deadlineMillis)
  return { url, on, [Symbol.asyncDispose]: () => pool.close() }
}

/** An empty database, and connections to it. Disposing drops it. */
export async function newConnections(): Promise<TestConnections> {
  const database = await newDatabase()
  const connections = connectTo(database.url)
  return {
    ...connections,
    async [Symbol.asyncDispose]() {
      await connections[Symbol.asyncDispose]()
      await database.drop()
    },
  }
}

export const openingOf = (url: string, different: Partial<Opening> = {}): Opening => ({
  name: shownAddress(url),
  purpose: 'sandbox',
  takeKey: async () => masterKeyOf(testKey),
  create: true,
  upgrade: false,
  alone: false,
  ...different,
})

/** A database with the current schema of the program. */
export async function newTestDatabase(): Promise<TestConnections & { readonly opened: OpenedDatabase }> {
  const made = await newConnections()
  return { ...made, opened: await openDatabase(made.on, openingOf(made.url)) }
}

export async function refusalOf(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    if (error instanceof Refusal) return `${error.kind}: ${error.message}`
    throw error
  }
  return 'nothing'
}
