import { Command, Option } from 'commander'
import { type Flags, readMasterKeySource } from '../config'
import { isAnyUndone, type RestoreDiff } from '../domain/ports/restore-diff'
import type { Manifest } from '../domain/ports/upkeep'
import type { Records } from '../operations/context'
import { backUp } from '../operations/upkeep'
import { formatInstant } from '../scheduling/calendar'
import { type Restoring, restoreBackup } from '../service'
import { databaseFile, fileName } from './arguments'
import { asJson, asking, type Call, recordsCommand, serviceCommand } from './command'
import { drill } from './drill'
import { endCleanly } from './graceful-shutdown'
import { type CommonFlags, confirm, printJson, printLines, printNotice, printResult } from './output'
import { withProgress } from './progress'
import { afterRestore, beforeRestore } from './restore-text'
import { withSettings } from './storage'

/** What opens an encrypted backup beside the master key, or instead of it. */
interface BackupFlags {
  readonly recipient?: string[]
  readonly passphraseFile?: string
  readonly plain?: boolean
}

/** `anteroom backup`: a sound copy of the database, while the service runs. */
export function backupCommand(): Command {
  const description = 'Write a sound copy of the database to a new file, encrypted, while the service runs'
  return asJson(recordsCommand('backup', description, backup), 'print what was made as JSON')
    .argument('<file>', 'the backup: a new file; ./verify or ./drill for one of that name', fileName)
    .addOption(
      new Option(
        '--recipient <age1…>',
        'let the owner of this age key open it too; may be given again',
      ).argParser((word: string, words: string[] = []) => [...words, word]),
    )
    .addOption(
      new Option(
        '--passphrase-file <file>',
        'encrypt it under this passphrase, and not for the master key',
      ).conflicts('recipient'),
    )
    .addOption(
      new Option(
        '--plain',
        'leave it as it is: what is not sealed in the database can be read in it',
      ).conflicts(['recipient', 'passphraseFile']),
    )
    .enablePositionalOptions()
    .addCommand(drillCommand())
}

async function backup({ context, flags, act }: Call<Records, BackupFlags>, file: string): Promise<void> {
  const { recipient: recipients = [], passphraseFile, plain } = flags
  endCleanly()
  const manifest = await withProgress(({ tell }) =>
    backUp(context, file, plain ? null : { recipients, passphraseFile }, act(), { tell }),
  )
  const how = plain ? 'It is not encrypted. ' : passphraseFile ? 'It opens with the passphrase. ' : ''
  const line = `Made the backup ${file}. ${how}Restoring it takes the same master key, which is not in it.`
  printResult(flags, { backup: file, encrypted: !plain, manifest: presentManifest(manifest) }, line)
}

interface OpeningFlags extends Flags {
  readonly identityFile?: string
  readonly passphraseFile?: string
}

function presentManifest({ madeAt, ...manifest }: Manifest) {
  return { madeAt: formatInstant(madeAt), ...manifest }
}

const olderNote = 'It has an older schema: anteroom migrate, or serve, brings it up to date.'

/** `anteroom backup drill`: a backup is made, restored, served and compared. */
function drillCommand(): Command {
  const description = 'Make a backup, restore it, serve it, compare what it answers, and remove it'
  return asJson(serviceCommand('drill', description, drill))
}

/** `anteroom restore`: a database again, from a backup. */
export function restoreCommand(): Command {
  const command = new Command('restore').description('Make a new database of a backup')
  const opening = openingCommand(command)
    .requiredOption('--to <file>', 'the database to make, where nothing is yet', fileName)
    .option(
      '--against <file>',
      'the database that it replaces, to list tokens and members that become valid again',
      databaseFile,
    )
  return asJson(asking(opening)).action(restore)
}

/** Gives a command the backup that it opens, and what opens it. */
function openingCommand(command: Command): Command {
  return withSettings(command, ['masterKeyFile', 'masterKeyFd'])
    .argument('<backup>')
    .option('--identity-file <file>', 'open it with the age identities of this file')
    .addOption(
      new Option('--passphrase-file <file>', 'open it with this passphrase').conflicts('identityFile'),
    )
}

interface RestoreFlags extends OpeningFlags, CommonFlags {
  readonly to: string
  readonly against?: string
}

async function restore(
  backup: string,
  { to, against, json = false, yes = false, ...flags }: RestoreFlags,
): Promise<void> {
  endCleanly()
  let known: RestoreDiff | null = null
  const { isOlder, manifest } = await withProgress(({ tell, end }) => {
    const agree = async (manifest: Manifest | null, diff: RestoreDiff | null) => {
      known = diff
      // What follows is for a person to read, and to answer.
      end()
      // With --yes, it is printed afterwards.
      if (yes || (diff && !isAnyUndone(diff))) return
      printNotice(beforeRestore(manifest && formatInstant(manifest.madeAt), diff, against).join('\n'))
      await confirm(`Make the database ${to} of the backup all the same?`, { yes })
    }
    return restoreBackup({ ...restoringOf(backup, to, flags, to), against, agree }, tell)
  })
  const madeAt = manifest && formatInstant(manifest.madeAt)
  if (json) return printJson({ database: to, backup, madeAt, older: isOlder, undone: known })
  printLines(`Made the database ${to} of the backup ${backup}.`)
  if (isOlder) printLines(olderNote)
  printLines(...afterRestore(madeAt, known, against))
}

/** @param companion beside which the master key is, where the settings name neither it nor a database */
function restoringOf(
  backup: string,
  path: string,
  { identityFile, passphraseFile, ...flags }: OpeningFlags,
  companion: string,
): Restoring {
  const masterKey = readMasterKeySource(flags, companion)
  return { purpose: 'production', backup, path, masterKey, identityFile, passphraseFile }
}
