import { isAnyUndone, type RestoreDiff } from '../domain/ports/restore-diff'
import { shellWord } from './shell-word'

/** More records than this are counted and not named. */
const mostNamed = 20

/** The warning before a restore. @param diff null if there is no database to compare with */
export function beforeRestore(madeAt: string | null, diff: RestoreDiff | null, against = ''): string[] {
  if (diff) return [`what was done in ${against} since the backup is not in it:`, ...linesOf(diff)]
  return [
    `what was revoked, deactivated or erased after ${madeAt ?? 'the backup'} is valid or there again`,
    'requests that were moved or declined since, and time off that was entered, are as they were before',
    'to list what becomes valid again, name the database that is replaced: --against FILE',
    'if there is none, read what was exported of its audit log, and your own notes',
  ]
}

/** What to do after a restore. */
export function afterRestore(madeAt: string | null, diff: RestoreDiff | null, against = ''): string[] {
  const moment = madeAt === null ? '' : ` ${madeAt}`
  if (!diff)
    return [
      `What was done since${moment} is not in it: tokens revoked and members erased since are there again.`,
    ]
  if (!isAnyUndone(diff)) return ['Nothing was done since the backup.']
  return [
    'What was done since is not in it:',
    ...linesOf(diff),
    'Do that again: anteroom token revoke, member deactivate, member erase.',
    `The audit log lists the rest: anteroom audit list --after ${diff.heads.backup.id} --database ${shellWord(against)}`,
  ]
}

function linesOf({ heads, counts, tokens, deactivatedMembers, erasedMembers }: RestoreDiff): string[] {
  const tables = Object.keys(counts.backup).filter((name) => counts.backup[name] !== counts.replaced[name])
  return [
    ...tokens.map(({ id, partner }) => `token ${id} of ${partner}: valid again`).slice(0, mostNamed),
    ...more(tokens, 'tokens are valid again'),
    ...deactivatedMembers.map((id) => `member ${id}: active again`).slice(0, mostNamed),
    ...more(deactivatedMembers, 'members are active again'),
    ...erasedMembers.map((id) => `member ${id}: erased, and there again`).slice(0, mostNamed),
    ...more(erasedMembers, 'erased members are there again'),
    ...tables.map((name) => `${name}: ${counts.replaced[name]} before, ${counts.backup[name]} in the backup`),
    `newest audit line: ${heads.replaced.id}:${heads.replaced.hash} before`,
    `newest audit line: ${heads.backup.id}:${heads.backup.hash} in the backup`,
  ].map((line) => `  ${line}`)
}

function more(records: readonly unknown[], what: string): string[] {
  return records.length > mostNamed ? [`${records.length - mostNamed} more ${what}`] : []
}
