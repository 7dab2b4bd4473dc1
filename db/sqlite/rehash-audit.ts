import {
  type AuditHead,
  type AuditLine,
  type AuditState,
  addLine,
  auditStart,
  emptyAudit,
  formatState,
} from '../../src/domain/audit'
import { auditHashes } from '../audit/hashes'
import { auditStateName, chunkSize } from '../audit/verification'
import { bindDataKey } from './data-key'
import type { Upgrading } from './reseal'

/**
 * Brings the lines of a log without a key over to one with keyed hashes. They are held to their old hashes first: a log
 * that is not as it was written is brought over as it stands, with a line that tells where the first fault is, since
 * the new hashes would hide it.
 */
export function rehashAudit({ database, purpose, masterKey }: Upgrading): void {
  const hashes = auditHashes(bindDataKey(database, purpose, masterKey))
  const some = database.query<AuditLine, [after: number]>(
    `SELECT id, at, actor, action, record, outcome, hash FROM unkeyed_audit WHERE id > ? ORDER BY id LIMIT ${chunkSize}`,
  )
  const insert = database.query(
    'INSERT INTO audit (id, at, actor, action, record, outcome, hash) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  let state: AuditState = emptyAudit
  let [last, fault]: [AuditHead, number | null] = [auditStart, null]
  const add = (id: number, entry: Omit<AuditLine, 'id' | 'hash'>) => {
    const added = addLine(hashes, state, id, entry)
    const { at, actor, action, record, outcome, hash } = added.line
    insert.run(id, at, actor, action, record, outcome, hash)
    state = added.state
  }
  for (let lines = some.all(-Number.MAX_VALUE); lines.length > 0; lines = some.all(last.id)) {
    for (const line of lines) {
      if (fault === null && line.id !== last.id + 1) fault = last.id + 1
      if (fault === null && line.hash !== unkeyedHash(last.hash, line)) fault = line.id
      add(line.id, line)
      last = line
    }
  }
  // Ids are never given again: one that was given and is not there was cut off.
  const given = database.query<{ seq: number }, []>(
    "SELECT seq FROM sqlite_sequence WHERE name = 'unkeyed_audit'",
  )
  const newestId = Math.max(last.id, given.get()?.seq ?? 0)
  if (fault === null && newestId > last.id) fault = last.id + 1
  if (fault !== null) {
    const found = { at: Date.now(), actor: 'upgrade', action: 'audit.found-broken' as const }
    add(newestId + 1, { ...found, record: `line ${fault}`, outcome: 'done' })
  }
  database.run('DROP TABLE unkeyed_audit')
  database
    .query('INSERT INTO settings (name, value) VALUES (?, ?)')
    .run(auditStateName, Buffer.from(formatState(hashes, state)))
}

/** As releases hashed a line that had no key for it: SHA-256, in hex. */
function unkeyedHash(previousHash: string, { id, at, actor, action, record, outcome }: AuditLine): string {
  const text = JSON.stringify([previousHash, id, at, actor, action, record, outcome])
  return new Bun.CryptoHasher('sha256').update(text).digest('hex')
}
