import type { TakenSlot } from '../../src/domain/directory-feed'
import { type Changed, keptChanges } from '../queries/changes'

/**
 * The statement that adds changes. If there are more than are kept, it removes all others: the next look reads everything.
 */
export function addingChanges(changed: readonly Changed[]): string {
  const isMany = changed.length > keptChanges
  const added = isMany ? changed.slice(-1) : changed
  const rows = added.map(([noun, recordId, booked]) => {
    return `('${noun}', ${Math.trunc(recordId)}, ${booked ? numbersOf(booked) : 'NULL, NULL, NULL, NULL'})`
  })
  const insert = `INSERT INTO changes (noun, record_id, request_id, starts_at, ends_at, local_offset_minutes) VALUES ${rows.join()}`
  return isMany ? `DELETE FROM changes; ${insert}` : insert
}

function numbersOf({ requestId, startsAt, endsAt, localOffsetMinutes }: TakenSlot): string {
  return [requestId, startsAt, endsAt, localOffsetMinutes].map(Math.trunc).join()
}
