import { describe, test } from 'bun:test'
import { onceInRun } from './once-in-run'
import { type Postgres, startPostgres } from './postgres'
import { whyNoPostgres } from './postgres-programs'

const why = whyNoPostgres()
if (why !== null) {
  onceInRun('without-postgres', () =>
    console.log(`SKIPPED: all tests on PostgreSQL, because none can be started: ${why}`),
  )
}

export const hasPostgres = why === null

export const describeOnPostgres = describe.skipIf(!hasPostgres)

export const testOnPostgres = test.skipIf(!hasPostgres)

let shared: Promise<Postgres> | undefined

/** The server that tests of this process share. Tests that stop or pause a server use `startPostgres`. */
export function sharedPostgres(): Promise<Postgres> {
  shared ??= startPostgres({ settings: { max_connections: 200 } })
  return shared
}

export interface Template {
  /** Letters a-z and _ only. */
  readonly name: string
  /** Fills a database and leaves no connection open. */
  readonly fill: (url: string) => Promise<void>
}

/** A database on the shared server. Disposing drops it. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string
  /** Drops the database even if clients are connected. */
  drop(): Promise<void>
}

export async function newDatabase(template?: Template): Promise<TestDatabase> {
  const server = await sharedPostgres()
  const source = template ? await filled(server, template) : 'template0'
  const name = await (spares.get(source) ?? create(server, source))
  const spare = create(server, source)
  spare.catch(() => {})
  spares.set(source, spare)
  const drop = async () => {
    await server.run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  }
  return { url: server.urlOf(name), drop, [Symbol.asyncDispose]: drop }
}

let count = 0
const spares = new Map<string, Promise<string>>()

async function create(server: Postgres, source: string): Promise<string> {
  const name = `test_${count++}`
  await server.run(`CREATE DATABASE ${name} TEMPLATE ${source} STRATEGY file_copy`)
  return name
}

const filledTemplates = new Map<string, Promise<string>>()

function filled(server: Postgres, { name, fill }: Template): Promise<string> {
  const earlier = filledTemplates.get(name)
  if (earlier) return earlier
  const make = async () => {
    await server.run(`CREATE DATABASE ${name} TEMPLATE template0`)
    await fill(server.urlOf(name))
    return name
  }
  const made = make()
  filledTemplates.set(name, made)
  return made
}
