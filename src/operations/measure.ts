import type { LastBackups } from '../domain/upkeep'
import type { Records } from './context'
import type { Waiting } from './status'

/** What is to be asked of the records to be measured: in counts and instants (ms) alone. */
export interface RecordMeasures extends LastBackups, Pick<Waiting, 'intakes' | 'oldestIntakeAt'> {}

/** How old the last backup is, and what waits for staff: read among what waits, whatever else is stored. */
export async function measureRecords({ store, upkeep }: Records): Promise<RecordMeasures> {
  const { count, oldestAt } = await store.read(({ requests }) =>
    requests.countWaiting({ state: 'unassigned' }),
  )
  return { ...(await upkeep.findLastBackups()), intakes: count, oldestIntakeAt: oldestAt }
}
