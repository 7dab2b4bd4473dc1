import type { AuditEntry } from '../domain/audit'
import type { Records } from './context'

/** How many lines are written in one transaction, and how long others may write before the next. */
const [notedAtOnce, pauseMillis] = [500, 25]

/**
 * Notes in the audit log what somebody is about to be shown: some lines at a time, so that bookings are stored in between.
 * Who is stopped meanwhile has been shown nothing.
 */
export async function noteReadings(
  { store }: Pick<Records, 'store'>,
  lines: readonly AuditEntry[],
): Promise<void> {
  for (let start = 0; start < lines.length; start += notedAtOnce) {
    if (start > 0) await new Promise((resolve) => setTimeout(resolve, pauseMillis))
    await store.appendAudit(lines.slice(start, start + notedAtOnce))
  }
}
