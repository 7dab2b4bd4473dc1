import type { Command } from 'commander'
import type { Records } from '../operations/context'
import { backUp } from '../operations/upkeep'
import { type Call, recordsCommand } from './command'
import { printLines } from './output'

/** `anteroom backup`: a sound copy of the database, while the service runs. */
export function backupCommand(): Command {
  const description = 'Write a sound copy of the database to a new file, while the service runs'
  return recordsCommand('backup', description, backup).argument('<file>')
}

async function backup({ context, act }: Call<Records>, file: string): Promise<void> {
  await backUp(context, file, act())
  printLines(`Made the backup ${file}. It opens with the same master key, which is not in it.`)
}
