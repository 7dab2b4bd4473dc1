import type { RequestNote } from '../../src/domain/booking-request'
import { newRecordKey, type Vault } from '../../src/domain/ports/vault'
import type { Records } from '../../src/domain/ports/writes'
import { noteCell, openSealedText, type SealedNote, sealText } from './binding'

interface NoteRow extends SealedNote, Omit<RequestNote, 'text'> {
  readonly kind: RequestNote['kind']
  readonly sealedText: Buffer
}

/** The columns of a new note except the id. */
export function noteColumns(vault: Vault, { text, ...facts }: Records['note']) {
  const row = { ...facts, recordKey: newRecordKey() }
  return { ...row, sealedText: sealText(vault, text, noteCell(row)) }
}

/** @throws Refusal database_unusable if the note cannot be opened */
export function openNote(vault: Vault, { recordKey, requestId, sealedText, ...note }: NoteRow): RequestNote {
  const place = noteCell({ recordKey, requestId, ...note })
  return { ...note, text: openSealedText(vault, sealedText, place, `note ${note.id}`) }
}
