import type { Act, AuditEntry } from '../../src/domain/audit'
import { decideSubmission, emailConflictQuery, submitterOf } from '../../src/domain/decisions/submission'
import { Refusal } from '../../src/domain/errors'
import type { DirectoryFeed } from '../../src/domain/ports/directory-feed'
import type { Store } from '../../src/domain/ports/store'
import { type Decision, linesOf } from '../../src/domain/ports/writes'
import { changesOf } from '../queries/changes'
import { directoryFeed as feedOver } from '../queries/feed'
import { replacedIn } from '../queries/requests/partner-requests'
import { type Queries, refuseDuplicate, toRefusal } from './query-engine'
import type { Writer } from './writer'

export function sqliteStore(queries: Queries, writer: Writer): Store {
  // Appends the audit lines of all submissions in the transaction at once, because each append updates the seal of the log.
  const lines: AuditEntry[] = []
  writer.group = {
    begin: () => void lines.splice(0),
    end: () => void queries.audit.append(lines),
  }
  return {
    async read(work) {
      try {
        return await work(queries)
      } catch (error) {
        throw toRefusal(error)
      }
    },
    change: (act, ask, decide) =>
      writer.write(() => carryOut(queries, decide(...(ask(queries) as Parameters<typeof decide>)), act)),
    submit: (draft) => submit(queries, writer, draft, lines),
    appendAudit: (entries) => writer.write(() => void queries.audit.append(entries)),
    noteKeyUses: (uses) => writer.write(() => queries.partners.noteUses(uses)),
  }
}

async function submit(
  queries: Queries,
  writer: Writer,
  draft: Parameters<Store['submit']>[0],
  lines: AuditEntry[],
): ReturnType<Store['submit']> {
  const { slots, replays, requests, members, changes, audit } = queries
  const answer = await writer.write(() => {
    const { partnerId, externalUserId, slot, retry, submittedAt } = draft
    const member = members.find(partnerId, externalUserId)
    const decision = decideSubmission(draft, {
      since: changes.sinceExceptTaken(draft.version),
      member,
      emailOwnerId: members.ownerOf(draft.member.email),
      holders: slot ? slots.touching(slot.providerId, slot.startsAt) : [],
      held: slot && member ? slots.heldBy(member.id, submittedAt) : [],
      openIntakes: !slot && member && draft.limits.openIntakes ? requests.openIntakesOf(member.id) : 0,
      conflictAt: audit.conflictAt(emailConflictQuery(draft)),
      kept: retry && replays.find(partnerId, retry),
    })
    if (decision === 'stale') return decision
    // The next refusal of the transaction counts the line of a refusal.
    const isRefusal = !(decision instanceof Refusal) && decision.writes.length === 0
    return carryOut(queries, decision, submitterOf(draft), isRefusal ? undefined : lines)
  })
  // Thrown only after COMMIT, because a rollback would remove the audit line of the refusal.
  if (answer instanceof Refusal) throw answer
  return answer
}

/** Writes a decision in the open transaction. If the decision is a Refusal, throws it. */
function carryOut<Answer>(
  queries: Queries,
  decision: Decision<Answer>,
  act: Act | null,
  lines?: AuditEntry[],
): Answer {
  if (decision instanceof Refusal) throw decision
  // The unique index is the last check against double booking.
  const { ids } = refuseDuplicate(
    () => queries.records.write(decision.writes),
    () => new Refusal('slot_unavailable', 'the slot is not available'),
  )
  for (const id of replacedIn(decision, ids)) queries.requests.place(id)
  for (const changed of changesOf(decision, ids)) queries.changes.add(changed)
  const noted = act ? linesOf(decision, act, ids[0]) : []
  if (lines) lines.push(...noted)
  else queries.audit.append(noted)
  return decision.answer(ids)
}

/** @param stamp returns a number that differs after each commit */
export function directoryFeed(
  queries: Queries,
  stamp: () => number | null,
  noteUnread: (error: unknown) => void,
): DirectoryFeed {
  const feed = feedOver(async (work, isLarge) => {
    const found = await work(queries)
    // Other requests can run between the parts of a large read.
    if (isLarge) await new Promise(setImmediate)
    return found
  })
  return {
    stamp,
    changesSince: (version, after) =>
      feed.changesSince(version, after).catch((error) => {
        noteUnread(error)
        throw toRefusal(error)
      }),
  }
}
