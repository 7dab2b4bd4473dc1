import type { Act } from '../../src/domain/audit'
import { requireActive } from '../../src/domain/copy-note'
import { Refusal } from '../../src/domain/errors'
import { type Decision, linesOf, type Noun, shownAs, type Write, withIds } from '../../src/domain/writes'
import type { Queries } from './queries'
import type { RecordTable } from './record-table'

/**
 * Writes what was decided, inside the transaction in which it was decided.
 *
 * @throws Refusal, if that is the decision; storage_failed for a change of a database that was left for its copy
 */
export function carryOut<Answer>(queries: Queries, decision: Decision<Answer>, act: Act | null): Answer {
  if (decision instanceof Refusal) throw decision
  if (decision.writes.length > 0) requireActive(queries.copyNote.find())
  const ids: number[] = []
  const added = new Map<Noun, number>()
  for (const write of decision.writes) {
    const { noun, id } = apply(queries, write, added)
    const shown = shownAs[noun]
    if (shown) queries.changes.add(shown, id)
    ids.push(id)
  }
  for (const providerId of decision.taken) queries.changes.add('taken', providerId)
  if (act) queries.audit.append(linesOf(decision, act, ids[0]))
  return decision.answer(ids)
}

/** @param added the ids of what the writes before it have added */
function apply({ tables }: Queries, write: Write, added: Map<Noun, number>) {
  if ('add' in write) {
    const table = tables[write.add] as RecordTable<never>
    const id = table.add(withIds(write.row, added) as never)
    added.set(write.add, id)
    return { noun: write.add, id }
  }
  if ('set' in write) {
    const table = tables[write.set] as RecordTable<never>
    table.set(write.id, write.to as never)
    return { noun: write.set, id: write.id }
  }
  tables[write.remove].remove(write.id)
  return { noun: write.remove, id: write.id }
}
