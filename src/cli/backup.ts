import type { Command } from 'commander'
import { backUp } from '../operations/upkeep'
import { printLine } from './output'
import { storageCommand, withRecords } from './storage'

/** `anteroom backup`: a sound copy of the database, while the service runs. */
export function backupCommand(): Command {
  return storageCommand('backup', 'Write a sound copy of the database to a new file, while the service runs')
    .argument('<file>')
    .action((file: string, flags: object) =>
      withRecords(flags, async (records, act) => {
        await backUp(records, file, act())
        printLine(`Made the backup ${file}. It opens with the same master key, which is not in it.`)
      }),
    )
}
