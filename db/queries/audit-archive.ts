import type { AuditHashes } from '../../src/domain/audit'
import { auditArchives } from '../audit/archive'
import type { WalkedLog } from '../audit/verification'
import type { AuditQueries } from './audit'
import { type MaybePromise, then } from './engine'

/** Runs work with the log on a connection, and returns its result. */
export type WithLog = <T>(work: (audit: AuditQueries) => MaybePromise<T>) => Promise<T>

/** A log whose parts are read one by one: no connection and no snapshot is kept between two of them. */
export function logOver(hashes: AuditHashes, read: WithLog): WalkedLog {
  return {
    hashes,
    stand: () => read(({ walked }) => walked.stand()),
    linesAfter: (after, limit) => read(({ walked }) => walked.linesAfter(after, limit)),
  }
}

/** Archives of pruned lines. @param act runs its work in a transaction that may append to the log */
export function archivesOf(log: WalkedLog, act: WithLog) {
  return auditArchives(log, (chain, upTo, entries) =>
    act((audit) =>
      then(audit.removeUpTo(chain, upTo), (removed) =>
        removed > 0 ? then(audit.append(entries), () => removed) : removed,
      ),
    ),
  )
}
