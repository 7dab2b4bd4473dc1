import { basename, dirname, resolve } from 'node:path'
import { Command, Option } from 'commander'
import { readMasterKeySource, readStorageConfig } from '../config'
import { Refusal } from '../domain/errors'
import { isThere } from '../files/durable'
import type { Records } from '../operations/context'
import { backUp } from '../operations/upkeep'
import { keptCopyNote, migrateDatabase, restoreBackup } from '../service'
import { fileName } from './arguments'
import { type Call, recordsCommand } from './command'
import { finishDatabase, makeDatabase } from './new-database'
import { printLines } from './output'
import { openProduction, storageCommand, withSettings } from './storage'

/** `anteroom init`: a new database and its master key. */
export function initCommand(): Command {
  return storageCommand('init', 'Make the database and its master key file').action(init)
}

async function init(flags: object): Promise<void> {
  const config = readStorageConfig(flags)
  const { database, masterKey } = config
  const key = 'file' in masterKey ? masterKey.file : null
  if (isThere(database))
    throw new Refusal('database_unusable', 'there is a file at the database path already')
  // An init that was killed at its very end has left a key that is this database's.
  if (!finishDatabase(database, key)) {
    if (key !== null && isThere(key)) {
      throw new Refusal('database_unusable', 'there is a file at the master key path already')
    }
    await makeDatabase(database, key, async (made, madeKey) => {
      const aside = { ...config, database: made, masterKey: key === null ? masterKey : { file: madeKey } }
      await (await openProduction(aside, { create: true })).close()
    })
  }
  printLines(`Made the database ${database}.`)
  if (key !== null) printLines(...keyLines(key, database))
  printLines(
    '',
    'Next:',
    '  anteroom organization add NAME',
    '  anteroom partner add NAME --organization NAME',
    '  anteroom token issue PARTNER --output FILE',
    '  anteroom directory load FILE',
    '  anteroom serve --base-url https://…',
  )
}

/** What to do with a new master key: where it should be, and why. */
function keyLines(key: string, database: string): string[] {
  const made = [
    `Made the master key ${key}: keep a copy of it where no copy of the database is.`,
    'Without it, nothing that is sealed in the database or in a backup can be read again.',
  ]
  if (dirname(resolve(key)) !== dirname(resolve(database))) return made
  const folder = process.getuid?.() === 0 ? '/etc/anteroom' : '~/.config/anteroom'
  const place = `${folder}/${shellWord(basename(key))}`
  return [
    ...made,
    '',
    'It lies beside the database: whoever copies the folder has both, and can read all that is sealed.',
    'Move it before there is anything to protect, as by',
    `  mkdir -p -m 700 ${folder} && mv -n ${shellWord(key)} ${place}`,
    `  export ANTEROOM_MASTER_KEY_FILE=${place}`,
    'or hand it over from a secrets manager (--master-key-fd) or as the systemd credential anteroom-master-key.',
  ]
}

/** A text as one word of a shell's (POSIX sh). */
function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** What opens an encrypted backup beside the master key, or instead of it. */
interface BackupFlags {
  readonly recipient?: string[]
  readonly passphraseFile?: string
  readonly plain?: boolean
}

/** `anteroom backup`: a sound copy of the database, while the service runs. */
export function backupCommand(): Command {
  const description = 'Write a sound copy of the database to a new file, encrypted, while the service runs'
  return recordsCommand('backup', description, backup)
    .argument('<file>', 'the backup: a new file', fileName)
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
}

async function backup({ context, flags, act }: Call<Records, BackupFlags>, file: string): Promise<void> {
  const { recipient: recipients = [], passphraseFile, plain } = flags
  await backUp(context, file, plain ? null : { recipients, passphraseFile }, act())
  const how = plain ? 'It is not encrypted. ' : passphraseFile ? 'It opens with the passphrase. ' : ''
  printLines(`Made the backup ${file}. ${how}Restoring it takes the same master key, which is not in it.`)
}

/** `anteroom restore`: a database again, from a backup. */
export function restoreCommand(): Command {
  const command = new Command('restore').description('Make a new database of a backup')
  return withSettings(command, ['masterKeyFile', 'masterKeyFd'])
    .argument('<backup>')
    .requiredOption('--to <file>', 'the database to make, where nothing is yet', fileName)
    .option('--identity-file <file>', 'open it with the age identities of this file')
    .addOption(
      new Option('--passphrase-file <file>', 'open it with this passphrase').conflicts('identityFile'),
    )
    .action(restore)
}

interface RestoreFlags {
  readonly to: string
  readonly identityFile?: string
  readonly passphraseFile?: string
}

async function restore(backup: string, { to, identityFile, passphraseFile, ...flags }: RestoreFlags) {
  const masterKey = readMasterKeySource(flags, to)
  const restoring = {
    purpose: 'production',
    backup,
    path: to,
    masterKey,
    identityFile,
    passphraseFile,
  } as const
  const isOlder = await restoreBackup(restoring)
  printLines(`Made the database ${to} of the backup ${backup}.`)
  if (isOlder) printLines('It has an older schema: anteroom migrate, or serve, brings it up to date.')
  printLines('What was done since is not in it: tokens revoked and members erased since are there again.')
}

/** `anteroom migrate`: the database of an older version, brought up to date. */
export function migrateCommand(): Command {
  const description = 'Bring the database of an older version up to date, after a copy'
  return storageCommand('migrate', description).action(migrate)
}

function migrate(flags: object): void {
  const copy = migrateDatabase({ purpose: 'production', ...readStorageConfig(flags) })
  if (copy === null) printLines('The database is up to date.')
  else printLines('The database is up to date now.', keptCopyNote(copy))
}
