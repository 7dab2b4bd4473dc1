import { basename, dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { type Flags, readStorageConfig } from '../config'
import { keptCopyNote } from '../domain/ports/database'
import { databaseAt } from '../service'
import { asJson } from './command'
import { type CommonFlags, printJson, printLines } from './output'
import { shellWord } from './shell-word'
import { openProduction, storageCommand, upgradeProduction } from './storage'

/** `anteroom init`: a new database and its master key. */
export function initCommand(): Command {
  const command = asJson(storageCommand('init', 'Make the database and its master key file'))
  return command.action(init)
}

async function init(flags: Flags & CommonFlags): Promise<void> {
  const config = readStorageConfig(flags)
  const { masterKey } = config
  const key = 'file' in masterKey ? masterKey.file : null
  const place = await databaseAt(config)
  await place.make({
    keyFile: key,
    anew: true,
    async furnish(database, keyFile) {
      const made = { ...config, database, masterKey: key === null ? masterKey : { file: keyFile } }
      await (await openProduction(made, { create: true })).close()
    },
  })
  if (flags.json) return printJson({ database: place.name, masterKeyFile: key })
  printLines(`Made the database ${place.name}.`)
  if (key !== null) printLines(...keyLines(key, place.name))
  printLines(
    '',
    'Next:',
    '  anteroom organization add NAME',
    '  anteroom partner add NAME --organization NAME',
    '  anteroom token issue PARTNER --output FILE',
    '  anteroom directory load FILE',
    '  anteroom serve --base-url https://…',
  )
}

/** What to do with a new master key: where it should be, and why. */
function keyLines(key: string, database: string): string[] {
  const made = [
    `Made the master key ${key}: keep a copy of it where no copy of the database is.`,
    'Without it, nothing that is sealed in the database or in a backup can be read again.',
  ]
  if (dirname(resolve(key)) !== dirname(resolve(database))) return made
  const folder = process.getuid?.() === 0 ? '/etc/anteroom' : '~/.config/anteroom'
  const place = `${folder}/${shellWord(basename(key))}`
  return [
    ...made,
    '',
    'It lies beside the database: whoever copies the folder has both, and can read all that is sealed.',
    'Move it before there is anything to protect, as by',
    `  mkdir -p -m 700 ${folder} && mv -n ${shellWord(key)} ${place}`,
    `  export ANTEROOM_MASTER_KEY_FILE=${place}`,
    'or hand it over from a secrets manager (--master-key-fd) or as the systemd credential anteroom-master-key.',
  ]
}

/** `anteroom migrate`: the database of an older version, brought up to date. */
export function migrateCommand(): Command {
  const description = 'Bring the database of an older version up to date, after a copy'
  const command = asJson(storageCommand('migrate', description))
  return command.action(migrate)
}

async function migrate(flags: Flags & CommonFlags): Promise<void> {
  const upgraded = await upgradeProduction(readStorageConfig(flags))
  if (flags.json) printJson({ upgraded: upgraded !== null, copy: upgraded?.copy ?? null })
  else if (upgraded === null) printLines('The database is up to date.')
  else printLines('The database is up to date now.', ...(upgraded.copy ? [keptCopyNote(upgraded.copy)] : []))
}
