import { and, asc, eq, gt, lte } from 'drizzle-orm'
import type { Retry } from '../../../src/domain/booking-request'
import type { KeptAnswer } from '../../../src/domain/decisions/submission'
import type { MaybePromise } from '../../../src/domain/ports/store'
import type { Vault } from '../../../src/domain/ports/vault'
import { keyHash, openReceipt, toKeptAnswer } from '../../sealed/requests'
import { placeholders, type QueryEngine, then, unreadable, type Walk } from '../engine'

/** Responses kept for retries with the same Idempotency-Key. */
export function replayQueries({ db, tables: { replays }, prepare }: QueryEngine, vault: Vault) {
  const open = placeholders('id', 'partnerId', 'keyHash', 'until', 'most')
  const isOfKey = and(eq(replays.partnerId, open.partnerId), eq(replays.keyHash, open.keyHash))
  const byKey = prepare(db.select().from(replays).where(isOfKey))
  const submittedBy = prepare(
    db
      .select({ id: replays.id })
      .from(replays)
      .where(lte(replays.submittedAt, open.until))
      .orderBy(asc(replays.submittedAt))
      .limit(open.most),
  )
  const after = prepare(
    db.select().from(replays).where(gt(replays.id, open.id)).orderBy(asc(replays.id)).limit(open.most),
  )

  return {
    /** @throws Refusal database_unusable if the kept response cannot be opened */
    find: (partnerId: number, retry: Retry): MaybePromise<KeptAnswer | null> =>
      then(byKey({ partnerId, keyHash: keyHash(vault, partnerId, retry) }), ([row]) =>
        row ? toKeptAnswer(vault, row, partnerId, retry) : null,
      ),

    /** Returns ids of requests submitted at or before `until` (ms), oldest first. @param most maximum number of ids */
    submittedBy: (until: number, most: number): MaybePromise<number[]> =>
      then(submittedBy({ until, most }), (rows) => rows.map(({ id }) => id)),

    listUnreadable: (walk: Walk) =>
      unreadable(
        walk((id, most) => after({ id, most })),
        (row) => openReceipt(vault, row),
      ),
  }
}
