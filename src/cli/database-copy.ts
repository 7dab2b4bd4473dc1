import { Command } from 'commander'
import { type CopyFlags, readCopyConfig } from '../config'
import type { DatabaseSetting } from '../domain/database'
import { isDatabaseAddress } from '../domain/database-address'
import { type Copied, copyBetween, databaseAt } from '../service'
import { asJson, commandGroup } from './command'
import { endCleanly } from './graceful-shutdown'
import { type CommonFlags, printJson, printLines, printRecord } from './output'
import { withProgress } from './progress'
import { withSettings } from './storage'

/** `anteroom database`: what is done with a database as a whole, wherever it is. */
export function databaseCommand(): Command {
  return commandGroup('database', 'The database itself: copied to another place, or another engine', [
    copyCommand(),
  ])
}

function copyCommand(): Command {
  const description = 'Copy a database to a place where nothing is: from a file to a server, or back'
  const command = new Command('copy')
    .description(description)
    .requiredOption(
      '--from <place>',
      'the database, which stays as it is: a file, or postgres://user@host/name',
    )
    .requiredOption('--to <place>', 'where it shall be: a new file, or an empty database on a server')
    .option('--while-serving', 'although a server works with it: what that stores from then on is left out')
  return asJson(
    withSettings(command, ['settings', 'masterKeyFile', 'masterKeyFd']),
    'print what was copied as JSON',
  ).action(copy)
}

interface Flags extends CopyFlags, CommonFlags {
  readonly whileServing?: boolean
}

async function copy({ json = false, whileServing = false, ...flags }: Flags): Promise<void> {
  endCleanly()
  const config = readCopyConfig(flags)
  const from = (await databaseAt(config.from)).name
  const to = (await databaseAt(config.to)).name
  const copied = await withProgress(({ tell }) =>
    copyBetween({ ...config, purpose: 'production', whileServing }, tell),
  )
  if (json) return printJson({ from, to, whileServing, ...copied })
  printCopied(from, to, copied)
  printLines('', ...(whileServing ? whileServingLines(from) : nextLines(config.to, from)))
}

function printCopied(from: string, to: string, { tables, auditHead }: Copied): void {
  printLines(`Copied ${from} to ${to}: the same record by record, as it was read back, with its audit log.`)
  const counts = Object.entries(tables).filter(([name]) => name !== 'settings')
  printRecord({
    records: counts.map(([name, { rows }]) => `${name} ${rows}`).join(', '),
    'audit head': `line ${auditHead.id} ${auditHead.hash}`,
  })
}

function whileServingLines(from: string): string[] {
  return [
    `A server may work with ${from}: what is booked or changed there from now on is not in the copy.`,
    'To move for good, stop it, remove this copy, and copy again.',
  ]
}

function nextLines(to: DatabaseSetting, from: string): string[] {
  const key = isDatabaseAddress(to.database) ? ', which has to be named there (ANTEROOM_MASTER_KEY_FILE)' : ''
  return [
    `The same master key opens it${key}.`,
    `From now on one of the two is served and never both: start the servers with the copy, and keep ${from} apart, or remove it.`,
    'Then: anteroom doctor, anteroom status',
  ]
}
