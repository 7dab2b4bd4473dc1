import { Database } from 'bun:sqlite'
import { SQL } from 'bun'
import { serverDatabase } from '../../db/postgres/database'
import { taking } from '../../db/postgres/locks'
import type { MasterKeySource } from '../../src/config'
import type { Purpose } from '../../src/domain/ports/database-copy'
import { masterKeyOf } from '../../src/vault/vault'
import { isOnPostgres } from './engine'
import { Folder } from './folder'
import { newDatabase } from './postgres-databases'

export interface Storage {
  /** A file path or a PostgreSQL URL. */
  readonly database: string
  readonly masterKey: MasterKeySource
}

export interface NewStorage extends AsyncDisposable {
  readonly storage: Storage
}

const masterKey = Buffer.alloc(32, 7)

/** A new database on the engine of TEST_ENGINE. Disposing removes it. */
export function newStorage(purpose: Purpose = 'sandbox'): Promise<NewStorage> {
  return isOnPostgres ? newStorageOnPostgres(purpose) : newStorageInFile()
}

async function newStorageInFile(): Promise<NewStorage> {
  const folder = new Folder()
  const database = folder.file('test.sqlite')
  return {
    storage: { database, masterKey: { file: `${database}.key` } },
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
}

export async function newStorageOnPostgres(purpose: Purpose = 'sandbox'): Promise<NewStorage> {
  const fill = async (url: string) => {
    const opening = { purpose, create: true, upgrade: false, alone: false }
    const place = serverDatabase(url, { password: null, passFile: null })
    await (await place.open({ ...opening, takeKey: async () => masterKeyOf(masterKey) })).close()
  }
  const database = await newDatabase({ name: `storage_${purpose}`, fill })
  return {
    storage: { database: database.url, masterKey: { base64: masterKey.toString('base64') } },
    [Symbol.asyncDispose]: () => database.drop(),
  }
}

/** A separate connection, which sees only committed data. */
export interface SeparateConnection extends AsyncDisposable {
  ask<Row>(query: string): Promise<Row[]>
}

export function openSeparateConnection({ database }: Storage): SeparateConnection {
  if (!isAddress(database)) {
    const file = new Database(database, { readonly: true })
    return {
      ask: async <Row>(query: string) => file.query<Row, []>(query).all(),
      [Symbol.asyncDispose]: async () => file.close(),
    }
  }
  const sql = new SQL(database, { max: 1 })
  return {
    ask: async <Row>(query: string) => {
      const rows: Record<string, unknown>[] = await sql.unsafe(query).simple()
      return rows.map(withNumbers) as Row[]
    },
    [Symbol.asyncDispose]: () => sql.close(),
  }
}

/** PostgreSQL returns 64-bit integers as text. */
function withNumbers(row: Record<string, unknown>): Record<string, unknown> {
  const isInteger = (value: unknown) => typeof value === 'string' && /^-?\d{1,15}$/.test(value)
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, isInteger(value) ? Number(value) : value]),
  )
}

export async function ask<Row>(storage: Storage, query: string): Promise<Row[]> {
  await using onlooker = openSeparateConnection(storage)
  return await onlooker.ask<Row>(query)
}

export async function countRows(storage: Storage, from: string): Promise<number> {
  const [row] = await ask<{ count: number }>(storage, `SELECT count(*) AS count FROM ${from}`)
  return row?.count ?? 0
}

/** A transaction that blocks all writes. Disposing rolls it back. */
export interface Holding extends AsyncDisposable {
  run(statement: string): Promise<void>
  commit(): Promise<void>
}

export async function blockWrites({ database }: Storage): Promise<Holding> {
  if (!isAddress(database)) return holdFile(database)
  const sql = new SQL(database, { max: 1 })
  const run = async (statements: string) => void (await sql.unsafe(statements).simple())
  // Takes the locks that block writes by staff. The lock on `nodes` blocks heartbeats.
  await run(`BEGIN; LOCK TABLE nodes IN EXCLUSIVE MODE; ${taking('audit')}; ${taking('directory')}`)
  const end = async (word: string) => {
    await run(word)
    await sql.close()
  }
  return holding(run, end)
}

function holdFile(path: string): Holding {
  const file = new Database(path)
  file.run('BEGIN IMMEDIATE')
  const end = async (word: string) => {
    file.run(word)
    file.close()
  }
  return holding(async (statement) => void file.run(statement), end)
}

function holding(run: Holding['run'], end: (word: string) => Promise<void>): Holding {
  let hasEnded = false
  const endOnce = async (word: string) => {
    if (hasEnded) return
    hasEnded = true
    await end(word)
  }
  return {
    run,
    commit: () => endOnce('COMMIT'),
    [Symbol.asyncDispose]: () => endOnce('ROLLBACK'),
  }
}

const isAddress = (database: string) => database.startsWith('postgres://')
