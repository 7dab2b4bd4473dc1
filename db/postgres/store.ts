import { Refusal } from '../../src/domain/errors'
import type { Store } from '../../src/domain/store'
import { verifyLog, type WalkedLog } from '../audit/verification'
import { type Read, storeOver } from '../store'
import type { Acts } from './acts'
import type { Submissions } from './submit'

/** What the service notes of itself has no answer, and changes nothing that the directory shows. */
const noted = { answer: undefined, lines: [], changed: [] } as const

/** The Store on PostgreSQL. @param read how facts are read outside of a transaction */
export function postgresStore(read: Read, acts: Acts, submissions: Submissions, log: WalkedLog): Store {
  const store = storeOver(read, acts.change, {
    async submit(draft) {
      const answer = await submissions.submit(draft)
      // Thrown where its line in the audit log is stored.
      if (answer instanceof Refusal) throw answer
      return answer
    },
    appendAudit: (lines) => acts.run(async () => ({ ...noted, lines })),
    noteKeyUses: (uses) =>
      acts.run(async ({ partners }) => {
        await partners.noteUses(uses)
        return noted
      }),
  })
  return {
    ...store,
    // No connection is held for as long as it takes.
    verifyAudit: (noted) => verifyLog(log, noted),
    async forgetReplays(at, most) {
      const count = await store.forgetReplays(at, most)
      // Beside it: whoever is further behind than what is kept of changes reads everything.
      await acts.run(async ({ changes }) => {
        await changes.forget()
        return noted
      })
      return count
    },
  }
}
