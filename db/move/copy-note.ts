import type { CopyNote } from '../../src/domain/copy-note'

/** Under which name the settings note where the database was copied to: in no copy, since that name is not copied. */
export const copyNoteName = 'copied_to'

export function formatCopyNote({ to, at }: CopyNote): string {
  return JSON.stringify({ to, at })
}

/** The note as a setting has it; null where there is none. */
export function parseCopyNote(value: Uint8Array | string | undefined): CopyNote | null {
  return value === undefined ? null : JSON.parse(Buffer.from(value as string).toString())
}
