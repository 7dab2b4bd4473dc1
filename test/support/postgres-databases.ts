import { describe, test } from 'bun:test'
import { onceInRun } from './once-in-run'
import { type Postgres, startPostgres } from './postgres'
import { whyNoPostgres } from './postgres-programs'

const why = whyNoPostgres()
if (why !== null) {
  onceInRun('without-postgres', () =>
    console.log(`SKIPPED: all tests on PostgreSQL, for want of one: ${why}`),
  )
}

/** Whether a PostgreSQL can be started here. */
export const hasPostgres = why === null

/** Describes what holds on PostgreSQL; it is skipped where none can be started. */
export const describeOnPostgres = describe.skipIf(!hasPostgres)

export const testOnPostgres = test.skipIf(!hasPostgres)

let shared: Promise<Postgres> | undefined

/**
 * The server of this process's tests, started when it is first needed. It ends with the process, or with the file of
 * tests where each file is isolated. Whoever stops or halts a server starts one with startPostgres.
 */
export function sharedPostgres(): Promise<Postgres> {
  shared ??= startPostgres({ settings: { max_connections: 200 } })
  return shared
}

/** What databases begin with, made once for a process. */
export interface Template {
  /** Of a-z and _. */
  readonly name: string
  /** Fills the database of a URL, and leaves no connection to it. */
  readonly fill: (url: string) => Promise<void>
}

/** A database of one's own on the shared server. Leaving its scope drops it. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string
  /** Drops it, whoever is connected. */
  drop(): Promise<void>
}

/** Makes a database that is empty, or as the template's. */
export async function newDatabase(template?: Template): Promise<TestDatabase> {
  const server = await sharedPostgres()
  const source = template ? await filled(server, template) : 'template0'
  const name = await (spares.get(source) ?? create(server, source))
  // The next one is created while the test runs.
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
