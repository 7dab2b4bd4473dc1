import type { Command } from 'commander'
import { readStorageConfig } from '../config'
import { Refusal } from '../domain/errors'
import { isThere } from '../files/durable'
import { finishDatabase, makeDatabase } from './new-database'
import { printLine } from './output'
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
  printLine(`Made the database ${database}.`)
  if (key !== null) {
    printLine(`Made the master key ${key}: keep a copy of it apart from the database.`)
    printLine('Without it, nothing that is sealed in the database can be read again.')
  }
  printLine('')
  printLine('Next:')
  printLine('  anteroom organization add NAME')
  printLine('  anteroom partner add NAME --organization NAME')
  printLine('  anteroom token issue PARTNER')
  printLine('  anteroom directory load FILE')
  printLine('  anteroom serve --base-url https://…')
}
