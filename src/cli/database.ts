import { basename, dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { type Flags, readStorageConfig } from '../config'
import { Refusal } from '../domain/errors'
import { isThere } from '../files/durable'
import { migrateDatabase, upgradeNotes } from '../service'
import { asJson } from './command'
import { finishDatabase, makeDatabase } from './new-database'
import { type CommonFlags, printJson, printLines } from './output'
import { openProduction, storageCommand } from './storage'

/** `anteroom init`: a new database and its master key. */
export function initCommand(): Command {
  const command = asJson(storageCommand('init', 'Make the database and its master key file'))
  return command.action(init)
}

async function init(flags: Flags & CommonFlags): Promise<void> {
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
  if (flags.json) return printJson({ database, masterKeyFile: key })
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

/** `anteroom migrate`: the database of an older version, brought up to date. */
export function migrateCommand(): Command {
  const description = 'Bring the database of an older version up to date, after a copy'
  const command = asJson(storageCommand('migrate', description))
  return command.action(migrate)
}

function migrate(flags: Flags & CommonFlags): void {
  const copy = migrateDatabase({ purpose: 'production', ...readStorageConfig(flags) })
  if (flags.json) printJson({ upgraded: copy !== null, copy })
  else if (copy === null) printLines('The database is up to date.')
  else printLines('The database is up to date now.', ...upgradeNotes(copy))
}
