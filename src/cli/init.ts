import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { readStorageConfig } from '../config'
import { Refusal } from '../domain/errors'
import { printLine } from './output'
import { openProduction, storageCommand } from './storage'

/** `anteroom init`: a new database and its master key. */
export function initCommand(): Command {
  return storageCommand('init', 'Make the database and its master key file').action(init)
}

async function init(flags: object): Promise<void> {
  const config = readStorageConfig(flags)
  const { database, masterKey } = config
  if (existsSync(database)) {
    throw new Refusal('database_unusable', 'there is a file at the database path already')
  }
  if ('file' in masterKey && existsSync(masterKey.file)) {
    throw new Refusal('database_unusable', 'there is a file at the master key path already')
  }
  const service = await openProduction(config, true)
  await service.close()
  printLine(`Made the database ${database}.`)
  if ('file' in masterKey) {
    printLine(`Made the master key ${masterKey.file}: keep a copy of it apart from the database.`)
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
