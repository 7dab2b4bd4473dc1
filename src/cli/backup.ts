import type { Command } from 'commander'
import { printLine } from './output'
import { operator, storageCommand, withContext } from './storage'

/** `anteroom backup`: a sound copy of the database, while the service runs. */
export function backupCommand(): Command {
  return storageCommand('backup', 'Write a sound copy of the database to a new file, while the service runs')
    .argument('<file>')
    .action((file: string, flags: object) =>
      withContext(flags, async ({ upkeep, clock }) => {
        await upkeep.backUp(file, { actor: operator(), at: clock.now() })
        printLine(`Made the backup ${file}. It opens with the same master key, which is not in it.`)
      }),
    )
}
