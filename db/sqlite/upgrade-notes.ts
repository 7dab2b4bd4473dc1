import { holdsReadablePeople } from './file/head'

/** What an operator has to know after an upgrade, which left a copy. */
export function upgradeNotes(copy: string): string[] {
  const absences =
    'Time off that staff entered before stands among that of the directory: the next load asks before it takes it back.'
  return [keptCopyNote(copy), absences]
}

/** What an operator has to know of the copy that an upgrade leaves. */
export function keptCopyNote(copy: string): string {
  const why = holdsReadablePeople(copy)
    ? 'names and addresses of people lie readable in it'
    : 'what is erased later stays in it'
  return `The database as it was is kept in ${copy}; ${why}: remove it once all is well.`
}
