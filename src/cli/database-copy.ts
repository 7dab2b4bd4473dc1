import { Command } from 'commander'
import { type CopyFlags, readCopyConfig } from '../config'
import { isDatabaseAddress } from '../domain/database-address'
import { systemClock } from '../domain/ports/clock'
import type { DatabaseSetting } from '../domain/ports/database'
import { type CopyNote, describeCopy } from '../domain/ports/database-copy'
import type { Records } from '../operations/context'
import { requireCopyNote } from '../operations/find-records'
import { reactivateDatabase } from '../operations/upkeep'
import { type Copied, copyBetween, databaseAt } from '../service'
import { asJson, asking, type Call, commandGroup, recordsCommand } from './command'
import { endCleanly } from './graceful-shutdown'
import {
  type CommonFlags,
  confirm,
  instantText,
  printJson,
  printLines,
  printNotice,
  printRecord,
  printResult,
} from './output'
import { withProgress } from './progress'
import { withSettings } from './storage'

/** `anteroom database`: what is done with a database as a whole, wherever it is. */
export function databaseCommand(): Command {
  return commandGroup('database', 'The database itself: copied to another place, or another engine', [
    copyCommand(),
    reactivateCommand(),
  ])
}

function copyCommand(): Command {
  const description = 'Copy a database to a place where nothing is: from a file to a server, or back'
  const command = new Command('copy')
    .description(description)
    .requiredOption(
      '--from <place>',
      'the database, which is not served from then on: a file, or postgres://user@host/name',
    )
    .requiredOption('--to <place>', 'where it shall be: a new file, or an empty database on a server')
    .option(
      '--while-serving',
      'although a server works with it, and goes on: what that stores from then on is left out',
    )
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
    copyBetween({ ...config, purpose: 'production', whileServing, clock: systemClock }, tell),
  ).catch(async (error) => {
    throw (await databaseAt(config.from)).explain(error)
  })
  if (json) printJson({ from, to, whileServing, ...copied, copiedBefore: presentNote(copied.copiedBefore) })
  else {
    printCopied(from, to, copied)
    printLines('', ...(whileServing ? whileServingLines(from) : nextLines(config.to, from, copied)))
  }
  for (const notice of noticesOf(from, whileServing, copied)) printNotice(notice)
}

/** What a person has to see to, since nothing else does. */
function noticesOf(from: string, whileServing: boolean, { deactivated, copiedBefore }: Copied): string[] {
  const notices: string[] = []
  if (!whileServing && !deactivated)
    notices.push(
      `${from} may not be written, so it does not note that it was copied, and nothing keeps it from being served beside the copy`,
    )
  if (copiedBefore)
    notices.push(
      `${from} was ${describeCopy(copiedBefore)} before: where that is served, this copy must not be`,
    )
  return notices
}

function presentNote(note: CopyNote | null) {
  return note && { to: note.to, at: instantText(note.at) }
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

function nextLines(to: DatabaseSetting, from: string, { deactivated }: Copied): string[] {
  const key = isDatabaseAddress(to.database) ? ', which has to be named there (ANTEROOM_MASTER_KEY_FILE)' : ''
  return [
    `The same master key opens it${key}.`,
    `From now on one of the two is served and never both: start the servers with the copy, and keep ${from} apart, or remove it.`,
    ...(deactivated
      ? [
          `${from} notes that: serve refuses it, and so does all that would change it (anteroom database reactivate).`,
        ]
      : []),
    'Then: anteroom doctor, anteroom status',
  ]
}

function reactivateCommand(): Command {
  const description = 'Go on with a database that was copied to be served elsewhere'
  return asking(asJson(recordsCommand('reactivate', description, reactivate)))
}

async function reactivate({ context, flags, act }: Call<Records>): Promise<void> {
  const note = await requireCopyNote(context)
  const loss = `The database was ${describeCopy(note)}. What that one has stored since is not in this one`
  await confirm(`${loss}, and must be served no more. Go on with this one?`, flags)
  await reactivateDatabase(context, act())
  const line = `The database is active. ${loss}: see that it is served no more.`
  printResult(flags, { active: true, copied: presentNote(note) }, line)
}
