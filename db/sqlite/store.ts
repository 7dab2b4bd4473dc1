import { expiredBy, mostForgottenBeside } from '../../src/domain/decide-replay'
import { conflictAsked, decideSubmission, submitterOf } from '../../src/domain/decide-submission'
import { Refusal } from '../../src/domain/errors'
import type { Store } from '../../src/domain/store'
import { type Change, type Read, storeOver } from '../store'
import { carryOut } from './carry-out'
import { toRefusal } from './constraint'
import type { Queries } from './queries'
import { atOnce } from './query-engine'
import type { Writer } from './writer'

/** The Store on SQLite. */
export function sqliteStore(queries: Queries, writer: Writer): Store {
  const read: Read = async (work) => {
    try {
      return await work(queries)
    } catch (error) {
      throw toRefusal(error)
    }
  }
  // There is one writer at a time, so every change is alone. What this engine is asked, it tells at once.
  const change: Change = (act, ask, decide) =>
    writer.write(() => carryOut(queries, decide(...(ask(queries) as Parameters<typeof decide>)), act))
  return storeOver(read, change, {
    submit: (draft) => submit(queries, writer, draft),
    appendAudit: (entries) => writer.write(() => void queries.audit.append(entries)),
    noteKeyUses: (uses) => writer.write(() => queries.partners.noteUses(uses)),
  })
}

async function submit(
  queries: Queries,
  writer: Writer,
  draft: Parameters<Store['submit']>[0],
): ReturnType<Store['submit']> {
  const { slots, replays, members, changes, audit } = queries
  const answer = await writer.write(() => {
    const { partnerId, externalUserId, slot, retry, submittedAt } = draft
    const member = members.find(partnerId, externalUserId)
    const decision = decideSubmission(draft, {
      since: atOnce(changes.sinceButTaken(draft.version)),
      member,
      emailOwnerId: members.ownerOf(draft.member.email),
      holders: slot ? slots.touching(slot.providerId, slot.startsAt) : [],
      held: slot && member ? slots.heldBy(member.id, submittedAt) : [],
      conflictAt: atOnce(audit.conflictAt(conflictAsked(draft))),
      kept: retry && atOnce(replays.find(partnerId, retry)),
      expired: retry ? atOnce(replays.submittedBy(expiredBy(submittedAt), mostForgottenBeside)) : [],
    })
    return decision === 'stale' ? decision : carryOut(queries, decision, submitterOf(draft))
  })
  // Thrown where its line in the audit log is on disk.
  if (answer instanceof Refusal) throw answer
  return answer
}
