import type { Act } from '../../src/domain/audit'
import { Refusal } from '../../src/domain/errors'
import { type Decision, linesOf, type Noun, type Write, withIds } from '../../src/domain/writes'
import { changesOf } from '../queries/changes'
import type { Queries } from './queries'
import type { RecordTable } from './record-table'

/**
 * Writes what was decided, inside the transaction in which it was decided.
 *
 * @throws Refusal, if that is the decision
 */
export function carryOut<Answer>(queries: Queries, decision: Decision<Answer>, act: Act | null): Answer {
  if (decision instanceof Refusal) throw decision
  const ids: number[] = []
  const added = new Map<Noun, number>()
  for (const write of decision.writes) ids.push(apply(queries, write, added))
  for (const changed of changesOf(decision, ids)) queries.changes.add(changed)
  if (act) queries.audit.append(linesOf(decision, act, ids[0]))
  return decision.answer(ids)
}

/** @param added the ids of what the writes before it have added */
function apply({ tables }: Queries, write: Write, added: Map<Noun, number>): number {
  if ('add' in write) {
    const table = tables[write.add] as RecordTable<never>
    const id = table.add(withIds(write.row, added) as never)
    added.set(write.add, id)
    return id
  }
  if ('set' in write) {
    const table = tables[write.set] as RecordTable<never>
    table.set(write.id, write.to as never)
    return write.id
  }
  tables[write.remove].remove(write.id)
  return write.id
}
