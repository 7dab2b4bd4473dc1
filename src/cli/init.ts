import type { Command } from 'commander'
import { readStorageConfig } from '../config'
import { Refusal } from '../domain/errors'
import { isThere } from '../files/durable'
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
  printLines('')
  printLines('Next:')
  printLines('  anteroom organization add NAME')
  printLines('  anteroom partner add NAME --organization NAME')
  printLines('  anteroom token issue PARTNER')
  printLines('  anteroom directory load FILE')
  printLines('  anteroom serve --base-url https://…')
}
