import type { Act } from '../../src/domain/audit'
import { Refusal } from '../../src/domain/errors'
import { type Decision, linesOf, shownAs, type Write } from '../../src/domain/writes'
import type { Queries } from './queries'
import type { RecordTable } from './record-table'

/** Writes what was decided, inside the transaction in which it was decided. @throws Refusal, if that is the decision */
export function carryOut<Answer>(queries: Queries, decision: Decision<Answer>, act: Act | null): Answer {
  if (decision instanceof Refusal) throw decision
  const ids: number[] = []
  for (const write of decision.writes) {
    const { noun, id } = apply(queries, write, ids.at(-1))
    const shown = shownAs[noun]
    if (shown) queries.changes.add(shown, id)
    ids.push(id)
  }
  for (const providerId of decision.taken) queries.changes.add('taken', providerId)
  if (act) queries.audit.append(linesOf(decision, act, ids[0]))
  return decision.answer(ids)
}

function apply({ tables }: Queries, write: Write, addedId: number | undefined) {
  if ('add' in write) {
    const table = tables[write.add] as RecordTable<never>
    const ofAdded = write.add === 'request' && write.row.memberId === 'added'
    const row = ofAdded ? { ...write.row, memberId: addedId } : write.row
    return { noun: write.add, id: table.add(row as never) }
  }
  if ('set' in write) {
    const table = tables[write.set] as RecordTable<never>
    table.set(write.id, write.to as never)
    return { noun: write.set, id: write.id }
  }
  tables[write.remove].remove(write.id)
  return { noun: write.remove, id: write.id }
}
