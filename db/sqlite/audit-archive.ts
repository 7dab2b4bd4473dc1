import type { Act, AuditHead } from '../../src/domain/audit'
import type { AuditPrune } from '../../src/domain/upkeep'
import { auditArchives } from '../audit/archive'
import { whenNeeded } from '../queries/lazy'
import { toUnusable } from './file/copy'
import type { Queries } from './queries'
import type { Writer } from './writer'

/** Archives of lines that are pruned from the log of a database. */
export function archivesOf(audit: Queries['audit'], writer: Writer) {
  const archives = whenNeeded(() =>
    auditArchives(audit.walked, (chain, upTo, told) =>
      writer.write(() => {
        const removed = audit.removeUpTo(chain, upTo)
        if (removed > 0) audit.append(told)
        return removed
      }),
    ),
  )
  return {
    check: (path: string, noted: AuditHead | null) => archives.check(path, noted),
    prune: (prune: AuditPrune, act: Act) =>
      archives.prune(prune, act).catch((error) => {
        throw toUnusable(error, prune.target)
      }),
  }
}
