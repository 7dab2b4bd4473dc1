import { and, asc, eq, gt, lte } from 'drizzle-orm'
import type { Receipt, Retry } from '../../src/domain/booking-request'
import type { KeptAnswer } from '../../src/domain/decide-replay'
import type { Vault } from '../../src/domain/vault'
import { type Drizzle, placeholders } from './drizzle'
import { type RecordTable, recordTable } from './record-table'
import { replays } from './schema'
import { openSealedText, receiptPlace } from './sealed'

/** Answers that are read at once. */
const chunkSize = 1_000

/** Queries on what is kept for retries. */
export function replayQueries(db: Drizzle, vault: Vault) {
  const open = placeholders('id', 'partnerId', 'keyHash', 'until', 'most')
  const byKey = db
    .select()
    .from(replays)
    .where(and(eq(replays.partnerId, open.partnerId), eq(replays.keyHash, open.keyHash)))
    .prepare()
  const submittedBy = db
    .select({ id: replays.id })
    .from(replays)
    .where(lte(replays.submittedAt, open.until))
    .orderBy(asc(replays.submittedAt))
    .limit(open.most)
    .prepare()
  const after = db
    .select()
    .from(replays)
    .where(gt(replays.id, open.id))
    .orderBy(asc(replays.id))
    .limit(chunkSize)
    .prepare()

  return {
    /** @throws Refusal database_unusable for one that cannot be opened */
    find(partnerId: number, retry: Retry): KeptAnswer | null {
      const row = byKey.get({ partnerId, keyHash: keyHash(vault, partnerId, retry) })
      if (!row) return null
      const isSame = row.bodyHash.equals(bodyHash(vault, partnerId, retry))
      return {
        requestId: row.id,
        submittedAt: row.submittedAt,
        receipt: isSame ? openReceipt(vault, row) : null,
      }
    },

    /** The requests whose answers were kept at an instant (ms) or before, the oldest, at most so many. */
    submittedBy: (until: number, most: number): number[] =>
      submittedBy.all({ until, most }).map(({ id }) => id),

    /** The requests whose answers cannot be opened. */
    *listUnreadable(): Generator<number> {
      const some = (id: number) => after.all({ id })
      for (let rows = some(0); rows.length > 0; rows = some(rows.at(-1)?.id ?? 0)) {
        for (const row of rows) if (!isReadable(vault, row)) yield row.id
      }
    },
  }
}

export function replayTable(db: Drizzle, vault: Vault): RecordTable<'replay'> {
  const table = recordTable<'replay'>(db, replays)
  return {
    ...table,
    add({ partnerId, retry, requestId, memberId, request, profile, submittedAt }) {
      const id = requestId as number
      const receipt: Receipt = { ...request, id, member: { id: memberId as number, profile } }
      const row = {
        ...{ id, partnerId, submittedAt },
        keyHash: keyHash(vault, partnerId, retry),
        bodyHash: bodyHash(vault, partnerId, retry),
      }
      const sealed = vault.seal(Buffer.from(JSON.stringify(receipt)), receiptPlace(row))
      return table.add({ ...row, sealedReceipt: Buffer.from(sealed) } as never)
    },
  }
}

/** By which a retry is known: two partners' equal keys have hashes that tell nothing of each other. */
function keyHash(vault: Vault, partnerId: number, { key }: Retry): Buffer {
  return Buffer.from(vault.keyedHash('idempotency key', JSON.stringify([partnerId, key])))
}

/** By which it is known that the same was sent: equal bodies under two keys have hashes that tell nothing of each other. */
function bodyHash(vault: Vault, partnerId: number, { key, body }: Retry): Buffer {
  return Buffer.from(vault.keyedHash('request body', JSON.stringify([partnerId, key, body])))
}

function openReceipt(vault: Vault, row: typeof replays.$inferSelect): Receipt {
  const record = `the answer to request ${row.id}`
  return JSON.parse(openSealedText(vault, row.sealedReceipt, receiptPlace(row), record))
}

function isReadable(vault: Vault, row: typeof replays.$inferSelect): boolean {
  try {
    openReceipt(vault, row)
    return true
  } catch {
    return false
  }
}
