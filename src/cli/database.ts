import type { Command } from 'commander'
import { readStorageConfig } from '../config'
import { Refusal } from '../domain/errors'
import { isThere } from '../files/durable'
import type { Records } from '../operations/context'
import { backUp } from '../operations/upkeep'
import { keptCopyNote, migrateDatabase } from '../service'
import { type Call, recordsCommand } from './command'
import { finishDatabase, makeDatabase } from './new-database'
import { printLines } from './output'
import { openProduction, storageCommand } from './storage'

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
  if (key !== null) {
    printLines(`Made the master key ${key}: keep a copy of it apart from the database.`)
    printLines('Without it, nothing that is sealed in the database can be read again.')
  }
  printLines(
    '',
    'Next:',
    '  anteroom organization add NAME',
    '  anteroom partner add NAME --organization NAME',
    '  anteroom token issue PARTNER',
    '  anteroom directory load FILE',
    '  anteroom serve --base-url https://…',
  )
}

/** `anteroom backup`: a sound copy of the database, while the service runs. */
export function backupCommand(): Command {
  const description = 'Write a sound copy of the database to a new file, while the service runs'
  return recordsCommand('backup', description, backup).argument('<file>')
}

async function backup({ context, act }: Call<Records>, file: string): Promise<void> {
  await backUp(context, file, act())
  printLines(`Made the backup ${file}. It opens with the same master key, which is not in it.`)
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
