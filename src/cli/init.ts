import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { readStorageConfig } from '../config'
import { systemClock } from '../domain/clock'
import { Refusal } from '../domain/errors'
import { openService } from '../service'
import { printLine } from './output'
import { storageCommand } from './storage'

/** `anteroom init`: a new database and its master key. */
export function initCommand(): Command {
  return storageCommand('init', 'Make the database and its master key file').action(init)
}

async function init(flags: object): Promise<void> {
  const { database, masterKey, zoneFolder } = readStorageConfig(flags)
  if (existsSync(database))
    throw new Refusal('database_unusable', 'there is a file at the database path already')
  if ('file' in masterKey && existsSync(masterKey.file)) {
    throw new Refusal('database_unusable', 'there is a file at the master key path already')
  }
  const service = await openService({
    purpose: 'production',
    database,
    masterKey,
    create: true,
    zoneFolder,
    clock: systemClock,
    actor: 'init',
  })
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
