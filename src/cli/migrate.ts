import type { Command } from 'commander'
import { readStorageConfig } from '../config'
import { migrateDatabase } from '../service'
import { printLines } from './output'
import { storageCommand } from './storage'

/** `anteroom migrate`: the database of an older version, brought up to date. */
export function migrateCommand(): Command {
  return storageCommand('migrate', 'Bring the database of an older version up to date, after a copy').action(
    (flags: object) => {
      const copy = migrateDatabase({ purpose: 'production', ...readStorageConfig(flags) })
      if (copy === null) printLines('The database is up to date.')
      else printLines(`The database is up to date now. As it was, it is kept in ${copy}.`)
    },
  )
}
