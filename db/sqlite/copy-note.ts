import { eq } from 'drizzle-orm'
import { copyNoteName, parseCopyNote } from '../move/copy-note'
import type { Drizzle } from './drizzle'
import { settings } from './schema'

/** What the database notes of its copy: asked for by each write. */
export function copyNoteQuery(db: Drizzle) {
  const select = db
    .select({ value: settings.value })
    .from(settings)
    .where(eq(settings.name, copyNoteName))
    .prepare()
  return { find: () => parseCopyNote(select.get()?.value) }
}
