import { readFileSync } from 'node:fs'
import { type ReservedSQL, SQL } from 'bun'
import { auditHashes } from '../../../db/audit/verification'
import { queryEngine } from '../../../db/postgres/session'
import { auditQueries } from '../../../db/queries/audit'
import { type AuditHashes, type AuditLine, emptyAudit, formatState } from '../../../src/domain/audit'
import { createVault } from '../../../src/vault/vault'
import { runSql } from '../../support/postgres'
import { newDatabase, type Template } from '../../support/postgres-databases'

const vault = createVault(Buffer.alloc(32, 65))
export const hashes: AuditHashes = auditHashes(vault)

const template: Template = {
  name: 'audit',
  async fill(url) {
    const migration = new URL('../../../db/postgres/migrations/0001-schema.sql', import.meta.url)
    await runSql(url, readFileSync(migration, 'utf8'))
    const state = formatState(hashes, emptyAudit)
    await runSql(url, `INSERT INTO settings VALUES ('audit', convert_to('${state}', 'UTF8'))`)
  },
}

export type Audit = ReturnType<typeof auditQueries>

export interface Node {
  readonly connection: ReservedSQL
  readonly audit: Audit
  readonly asked: string[]
}

/** A database with an empty audit log. Disposing it drops the database. */
export async function openAuditPlace() {
  const database = await newDatabase(template)
  const client = new SQL(database.url, { max: 8 })
  const node = async (): Promise<Node> => {
    const connection = await client.reserve()
    const asked: string[] = []
    const engine = queryEngine((text, params) => {
      asked.push(text)
      return connection.unsafe(text, [...params]).values()
    })
    return { connection, audit: auditQueries(engine, vault), asked }
  }
  const first = await node()
  /** Runs `work` in a transaction that holds the lock of the audit log. */
  const act = async <T>(
    work: (audit: Audit) => T | Promise<T>,
    { connection, audit } = first,
  ): Promise<T> => {
    await connection.unsafe('BEGIN; SELECT pg_advisory_xact_lock(1)').simple()
    try {
      const result = await work(audit)
      await connection.unsafe('COMMIT').simple()
      return result
    } catch (error) {
      await connection.unsafe('ROLLBACK').simple()
      throw error
    }
  }
  return {
    ...first,
    url: database.url,
    node,
    act,
    append: (entries: Parameters<Audit['append']>[0]): Promise<readonly AuditLine[]> =>
      act((audit) => audit.append(entries)),
    beginBooking,
    /** Commits one submission from the given node. Returns the id of its request. */
    async book(one = first): Promise<number> {
      const group = await beginBooking(one)
      await group.commit()
      return group.id
    },
    /** Changes rows as a superuser. Triggers do not run. */
    attack: (...statements: string[]) =>
      runSql(database.url, ['SET session_replication_role = replica', ...statements].join(';')),
    async [Symbol.asyncDispose]() {
      await client.close({ timeout: 0 })
      await database[Symbol.asyncDispose]()
    },
  }
}

export type AuditPlace = Awaited<ReturnType<typeof openAuditPlace>>

/** Writes a submission and leaves its transaction open. */
async function beginBooking({ connection }: Node) {
  await connection.unsafe('BEGIN').simple()
  const [[id]] = (await connection
    .unsafe(
      `INSERT INTO booking_requests (record_key, is_intake, state, submitted_at)
       VALUES (gen_random_uuid()::text, true, 'unassigned', 0) RETURNING id`,
    )
    .values()) as [[string]]
  return {
    id: Number(id),
    commit: () => connection.unsafe('COMMIT').simple(),
    rollBack: () => connection.unsafe('ROLLBACK').simple(),
  }
}
