import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { Refusal } from '../domain/errors'
import { printLine } from './output'
import { storageCommand, withContext } from './storage'

/** `anteroom backup`: a sound copy of the database, while the service runs. */
export function backupCommand(): Command {
  return storageCommand('backup', 'Write a sound copy of the database to a new file, while the service runs')
    .argument('<file>')
    .action((file: string, flags: object) =>
      withContext(flags, async ({ store, clock }) => {
        if (existsSync(file)) throw new Refusal('database_unusable', 'there is a file at that path already')
        await store.backUp(file, clock.now())
        printLine(`Made the backup ${file}. It opens with the same master key, which is not in it.`)
      }),
    )
}
