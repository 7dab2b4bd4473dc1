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

/** The warning names at most this many records. Further records are only counted. */
const mostNamed = 20

/** Returns the warning before a restore. @param diff null if the backup is not compared with a database */
function beforeRestore(madeAt: string | null, diff: RestoreDiff | null, against = ''): string[] {
  if (diff) return [`changes in ${against} since the backup are not in it:`, ...diffLines(diff)]
  return [
    `revocations, deactivations and erasures after ${madeAt ?? 'the backup'} are undone`,
    'changes to requests and time off since then are undone too',
    'to list them, give the database of before the restore: --against FILE',
    'if that database is lost, check its exported audit log and your own notes',
  ]
}

function afterRestore(madeAt: string | null, diff: RestoreDiff | null, against = ''): string[] {
  if (!diff)
    return [
      `Changes after ${madeAt ?? 'the backup'} are not in it: tokens revoked and members erased since then are back.`,
    ]
  if (!isAnyUndone(diff)) return ['Nothing was changed since the backup.']
  return [
    'Changes since the backup are not in it:',
    ...diffLines(diff),
    'Repeat them with anteroom token revoke, member deactivate and member erase.',
    `For the other changes, read the audit log: anteroom audit list --after ${diff.heads.backup.id} --database ${shellWord(against)}`,
  ]
}

function diffLines({ heads, counts, tokens, deactivatedMembers, erasedMembers }: RestoreDiff): string[] {
  const tables = Object.keys(counts.backup).filter((name) => counts.backup[name] !== counts.replaced[name])
  return [
    ...tokens.map(({ id, partner }) => `token ${id} of ${partner}: valid again`).slice(0, mostNamed),
    ...more(tokens, 'tokens are valid again'),
    ...deactivatedMembers.map((id) => `member ${id}: active again`).slice(0, mostNamed),
    ...more(deactivatedMembers, 'members are active again'),
    ...erasedMembers.map((id) => `member ${id}: erased, and present again`).slice(0, mostNamed),
    ...more(erasedMembers, 'erased members are present again'),
    ...tables.map(
      (name) =>
        `${name}: ${counts.replaced[name]} in the replaced database, ${counts.backup[name]} in the backup`,
    ),
    `newest audit line in the replaced database: ${heads.replaced.id}:${heads.replaced.hash}`,
    `newest audit line in the backup: ${heads.backup.id}:${heads.backup.hash}`,
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

export function backupCommand(): Command {
  return recordsCommand({
    name: 'backup',
    words: [['<file>', 'the backup file to create; write ./drill for a file named drill', fileName]],
    options: [
      json(),
      new Option(
        '--recipient <age1…>',
        'the public age key of another reader of the backup; repeatable',
      ).argParser((word: string, words: string[] = []) => [...words, word]),
      new Option(
        '--passphrase-file <file>',
        'a file with the passphrase to encrypt the backup with, instead of the master key',
      ).conflicts('recipient'),
      new Option(
        '--plain',
        'do not encrypt the backup; only data that is sealed in the database stays unreadable',
      ).conflicts(['recipient', 'passphraseFile']),
    ],
    run: backup,
  })
    .enablePositionalOptions()
    .addCommand(
      serviceCommand({
        name: 'drill',
        description:
          'Test a restore: make a backup, restore it, serve it, compare its answers, and remove it',
        options: [json()],
        examples: ['anteroom backup drill'],
        run: drill,
      }),
    )
}

async function backup({ context, flags, act }: Call<Records, BackupFlags>, file: string): Promise<Answer> {
  const { recipient: recipients = [], passphraseFile, plain } = flags
  endCleanly()
  const manifest = await withProgress(({ progress }) =>
    backUp(context, file, plain ? null : { recipients, passphraseFile }, act(), { progress }),
  )
  const how = plain ? 'It is not encrypted. ' : passphraseFile ? 'It is encrypted with the passphrase. ' : ''
  const line = `Created the backup ${file}. ${how}A restore also needs the master key, which the backup does not contain.`
  const { madeAt, ...rest } = manifest
  const shown = { madeAt: formatInstant(madeAt), ...rest }
  return { json: { backup: file, encrypted: !plain, manifest: shown }, text: line }
}

interface OpeningFlags extends Flags {
  readonly identityFile?: string
  readonly passphraseFile?: string
}

const olderNote = 'It has an older schema. Upgrade it with anteroom migrate, or start anteroom serve.'

export function restoreCommand(): Command {
  return plainCommand({
    name: 'restore',
    words: [['<backup>']],
    settings: ['masterKeyFile', 'masterKeyFd'],
    options: [
      ['--identity-file <file>', 'a file with the age identities to decrypt the backup with'],
      new Option('--passphrase-file <file>', 'a file that contains the passphrase of the backup').conflicts(
        'identityFile',
      ),
      required('--to <file>', 'the database file to create', fileName),
      ['--against <file>', 'the replaced database file, to list the changes that are undone', databaseFile],
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

async function restore(backup: string, { to, against, yes = false, ...flags }: RestoreFlags) {
  endCleanly()
  let known: RestoreDiff | null = null
  const { isOlder, manifest } = await withProgress(({ progress, end }) => {
    const agree = async (manifest: Manifest | null, diff: RestoreDiff | null) => {
      known = diff
      end()
      // With --yes, the warning is printed after the restore instead.
      if (yes || (diff && !isAnyUndone(diff))) return
      printNotice(beforeRestore(manifest && formatInstant(manifest.madeAt), diff, against).join('\n'))
      await confirm(`Create the database ${to} from the backup anyway?`, { yes })
    }
    return restoreBackup({ ...restoringOf(backup, to, flags, to), against, agree }, progress)
  })
  const madeAt = manifest && formatInstant(manifest.madeAt)
  return {
    json: { database: to, backup, madeAt, older: isOlder, undone: known },
    text: [
      `Created the database ${to} from the backup ${backup}.`,
      isOlder ? olderNote : [],
      afterRestore(madeAt, known, against),
    ],
  }
}

/** @param companion if no key and no database is set, the master key file is `<companion>.key` */
function restoringOf(
  backup: string,
  path: string,
  { identityFile, passphraseFile, ...flags }: OpeningFlags,
  companion: string,
): Restoring {
  const masterKey = readMasterKeySource(flags, companion)
  return { purpose: 'production', backup, path, masterKey, identityFile, passphraseFile }
}
