import { asc, eq, gt } from 'drizzle-orm'
import type { RequestNote } from '../../src/domain/booking-request'
import { newRecordKey, type Vault } from '../../src/domain/vault'
import { type Drizzle, placeholders } from './drizzle'
import { type RecordTable, recordTable } from './record-table'
import { requestNotes } from './schema'
import { notePlace, openSealedText } from './sealed'

/** Notes that are read at once. */
const chunkSize = 1_000

/** Queries on what staff wrote about requests. */
export function noteQueries(db: Drizzle, vault: Vault) {
  const { id } = placeholders('id')
  const ofRequest = db
    .select()
    .from(requestNotes)
    .where(eq(requestNotes.requestId, id))
    .orderBy(asc(requestNotes.id))
    .prepare()
  const idsOfRequest = db
    .select({ id: requestNotes.id })
    .from(requestNotes)
    .where(eq(requestNotes.requestId, id))
    .prepare()
  const after = db
    .select()
    .from(requestNotes)
    .where(gt(requestNotes.id, id))
    .orderBy(asc(requestNotes.id))
    .limit(chunkSize)
    .prepare()

  return {
    /** The notes of a request, oldest first. */
    listOf: (requestId: number): RequestNote[] =>
      ofRequest.all({ id: requestId }).map(({ recordKey, requestId, sealedText, ...note }) => {
        const place = notePlace({ recordKey, requestId, ...note })
        return { ...note, text: openSealedText(vault, sealedText, place, `note ${note.id}`) }
      }),

    /** The ids of a request's notes, be they such as can be opened or not. */
    idsOf: (requestId: number): number[] => idsOfRequest.all({ id: requestId }).map(({ id }) => id),

    /** The ids of those that cannot be opened. */
    *listUnreadable(): Generator<number> {
      for (let rows = after.all({ id: 0 }); rows.length > 0; rows = after.all({ id: rows.at(-1)?.id })) {
        for (const row of rows) {
          try {
            openSealedText(vault, row.sealedText, notePlace(row), `note ${row.id}`)
          } catch {
            yield row.id
          }
        }
      }
    },
  }
}

export function noteTable(db: Drizzle, vault: Vault): RecordTable<'note'> {
  const table = recordTable<'note'>(db, requestNotes)
  return {
    ...table,
    add({ text, ...facts }) {
      const row = { ...facts, recordKey: newRecordKey() }
      const sealed = vault.seal(Buffer.from(text), notePlace(row))
      return table.add({ ...row, sealedText: Buffer.from(sealed) } as never)
    },
  }
}
