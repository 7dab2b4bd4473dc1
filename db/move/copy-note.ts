import type { CopyNote } from '../../src/domain/copy-note'

/** The setting that marks a database as copied. It is not copied itself. */
export const copyNoteName = 'copied'

export function parseCopyNote(value: Uint8Array | string | undefined): CopyNote | null {
  return value === undefined ? null : JSON.parse(Buffer.from(value as string).toString())
}
