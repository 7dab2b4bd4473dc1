import { type Command, Option } from 'commander'
import { type Flags, readMasterKeySource } from '../../config'
import { isAnyUndone, type RestoreDiff } from '../../domain/ports/database-copy'
import type { Manifest } from '../../domain/ports/maintenance'
import type { Records } from '../../operations/context'
import { backUp } from '../../operations/maintenance'
import { formatInstant } from '../../scheduling/calendar'
import { type Restoring, restoreBackup } from '../../service'
import { databaseFile, fileName } from '../arguments'
import { type Call, json, plainCommand, recordsCommand, required, serviceCommand, yes } from '../command'
import { type Answer, type CommonFlags, printNotice, shellWord } from '../terminal/output'
import { withProgress } from '../terminal/progress'
import { confirm } from '../terminal/question'
import { drill } from './drill'
import { endCleanly } from './serve'

/** Further records are counted, not named. */
const mostNamed = 20

/** The warning before a restore. @param diff null if there is no database to compare with */
export function beforeRestore(madeAt: string | null, diff: RestoreDiff | null, against = ''): string[] {
  if (diff) return [`what was done in ${against} since the backup is not in it:`, ...diffLines(diff)]
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
    ...diffLines(diff),
    'Do that again: anteroom token revoke, member deactivate, member erase.',
    `The audit log lists the rest: anteroom audit list --after ${diff.heads.backup.id} --database ${shellWord(against)}`,
  ]
}

function diffLines({ heads, counts, tokens, deactivatedMembers, erasedMembers }: RestoreDiff): string[] {
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

interface BackupFlags {
  readonly recipient?: string[]
  readonly passphraseFile?: string
  readonly plain?: boolean
}

/** `anteroom backup`: a consistent copy of the database, while the service runs. */
export function backupCommand(): Command {
  return recordsCommand({
    name: 'backup',
    words: [['<file>', 'the backup: a new file; ./verify or ./drill for one of that name', fileName]],
    options: [
      json('print what was made as JSON'),
      new Option(
        '--recipient <age1…>',
        'let the owner of this age key open it too; may be given again',
      ).argParser((word: string, words: string[] = []) => [...words, word]),
      new Option(
        '--passphrase-file <file>',
        'encrypt it under this passphrase, and not for the master key',
      ).conflicts('recipient'),
      new Option(
        '--plain',
        'leave it as it is: what is not sealed in the database can be read in it',
      ).conflicts(['recipient', 'passphraseFile']),
    ],
    run: backup,
  })
    .enablePositionalOptions()
    .addCommand(drillCommand())
}

async function backup({ context, flags, act }: Call<Records, BackupFlags>, file: string): Promise<Answer> {
  const { recipient: recipients = [], passphraseFile, plain } = flags
  endCleanly()
  const manifest = await withProgress(({ progress }) =>
    backUp(context, file, plain ? null : { recipients, passphraseFile }, act(), { progress }),
  )
  const how = plain ? 'It is not encrypted. ' : passphraseFile ? 'It opens with the passphrase. ' : ''
  const line = `Made the backup ${file}. ${how}Restoring it takes the same master key, which is not in it.`
  return { json: { backup: file, encrypted: !plain, manifest: presentManifest(manifest) }, text: line }
}

interface OpeningFlags extends Flags {
  readonly identityFile?: string
  readonly passphraseFile?: string
}

function presentManifest({ madeAt, ...manifest }: Manifest) {
  return { madeAt: formatInstant(madeAt), ...manifest }
}

const olderNote = 'It has an older schema: anteroom migrate, or serve, brings it up to date.'

function drillCommand(): Command {
  const description = 'Make a backup, restore it, serve it, compare what it answers, and remove it'
  return serviceCommand({
    name: 'drill',
    description: description,
    options: [json()],
    examples: ['anteroom backup drill'],
    run: drill,
  })
}

/** `anteroom restore`: a new database from a backup. */
export function restoreCommand(): Command {
  return plainCommand({
    name: 'restore',
    words: [['<backup>']],
    settings: ['masterKeyFile', 'masterKeyFd'],
    options: [
      ['--identity-file <file>', 'open it with the age identities of this file'],
      new Option('--passphrase-file <file>', 'open it with this passphrase').conflicts('identityFile'),
      required('--to <file>', 'the database to make, where nothing is yet', fileName),
      [
        '--against <file>',
        'the database that it replaces, to list tokens and members that become valid again',
        databaseFile,
      ],
      yes,
      json(),
    ],
    examples: ['anteroom restore day.age --identity-file key.txt --to new.sqlite'],
    run: restore,
  })
}

interface RestoreFlags extends OpeningFlags, CommonFlags {
  readonly to: string
  readonly against?: string
}

async function restore(
  backup: string,
  { to, against, yes = false, ...flags }: RestoreFlags,
): Promise<Answer> {
  endCleanly()
  let known: RestoreDiff | null = null
  const { isOlder, manifest } = await withProgress(({ progress, end }) => {
    const agree = async (manifest: Manifest | null, diff: RestoreDiff | null) => {
      known = diff
      end()
      // With --yes, it is printed afterwards.
      if (yes || (diff && !isAnyUndone(diff))) return
      printNotice(beforeRestore(manifest && formatInstant(manifest.madeAt), diff, against).join('\n'))
      await confirm(`Make the database ${to} of the backup all the same?`, { yes })
    }
    return restoreBackup({ ...restoringOf(backup, to, flags, to), against, agree }, progress)
  })
  const madeAt = manifest && formatInstant(manifest.madeAt)
  return {
    json: { database: to, backup, madeAt, older: isOlder, undone: known },
    text: [
      `Made the database ${to} of the backup ${backup}.`,
      isOlder ? olderNote : [],
      afterRestore(madeAt, known, against),
    ],
  }
}

/** @param companion the master key is `<companion>.key` if the settings name neither a key nor a database */
function restoringOf(
  backup: string,
  path: string,
  { identityFile, passphraseFile, ...flags }: OpeningFlags,
  companion: string,
): Restoring {
  const masterKey = readMasterKeySource(flags, companion)
  return { purpose: 'production', backup, path, masterKey, identityFile, passphraseFile }
}
