import type { AuditHashes } from '../../src/domain/audit'
import { auditArchives } from '../audit/archive'
import type { WalkedLog } from '../audit/verification'
import type { AuditQueries } from './audit'

/** Does work with the log on some connection, and tells its answer. */
export type WithLog = <T>(work: (audit: AuditQueries) => Promise<T>) => Promise<T>

/** The log as it is walked for as long as that takes: no connection and no snapshot is held between two chunks. */
export function logOver(hashes: AuditHashes, read: WithLog): WalkedLog {
  return {
    hashes,
    stand: () => read(async ({ walked }) => walked.stand()),
    linesAfter: (after, limit) => read(async ({ walked }) => walked.linesAfter(after, limit)),
  }
}

/**
 * Archives of lines that are pruned from the log of a database.
 *
 * @param act does its work in a transaction that holds the lock of the log
 */
export function archivesOf(log: WalkedLog, act: WithLog) {
  return auditArchives(log, (chain, upTo, told) =>
    act(async (audit) => {
      const removed = await audit.removeUpTo(chain, upTo)
      if (removed > 0) await audit.append(told)
      return removed
    }),
  )
}
