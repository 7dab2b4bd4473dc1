import { basename, dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { type CopyFlags, type Flags, readCopyConfig, readStorageConfig } from '../../config'
import { isDatabaseAddress } from '../../domain/addresses'
import { Refusal } from '../../domain/errors'
import { type DatabaseSetting, keptCopyNote } from '../../domain/ports/database'
import { type CopyNote, describeCopy } from '../../domain/ports/database-copy'
import { systemClock } from '../../domain/ports/time'
import type { Records } from '../../operations/context'
import { requireCopyNote } from '../../operations/find-records'
import { reactivateDatabase, rotateMasterKey } from '../../operations/maintenance'
import { type Copied, copyBetween, databaseAt } from '../../service'
import { fileName } from '../arguments'
import {
  type Call,
  commandGroup,
  json,
  plainCommand,
  recordsCommand,
  required,
  storageCommand,
  yes,
} from '../command'
import { openProduction, upgradeProduction } from '../storage'
import {
  type Answer,
  type CommonFlags,
  instantText,
  printAnswer,
  printNotice,
  shellWord,
  type Text,
} from '../terminal/output'
import { withProgress } from '../terminal/progress'
import { confirm } from '../terminal/question'
import { fields } from '../terminal/table'
import { endCleanly } from './serve'

/** `anteroom database`: copying a whole database. */
export function databaseCommand(): Command {
  return commandGroup('database', [copyCommand(), reactivateCommand()])
}

function copyCommand(): Command {
  const description = 'Copy a database to a place where nothing is: from a file to a server, or back'
  return plainCommand({
    name: 'copy',
    description,
    settings: ['settings', 'masterKeyFile', 'masterKeyFd'],
    options: [
      required(
        '--from <place>',
        'the database, which is not served from then on: a file, or postgres://user@host/name',
      ),
      required('--to <place>', 'where it shall be: a new file, or an empty database on a server'),
      [
        '--while-serving',
        'although a server works with it, and goes on: what that stores from then on is left out',
      ],
      json('print what was copied as JSON'),
    ],
    examples: [
      'anteroom database copy --from anteroom.sqlite --to postgres://anteroom@127.0.0.1/anteroom',
      'anteroom database copy --from postgres://anteroom@127.0.0.1/anteroom --to anteroom.sqlite --master-key-file master.key',
    ],
    run: copy,
  })
}

interface CopyingFlags extends CopyFlags, CommonFlags {
  readonly whileServing?: boolean
}

async function copy({ json: _, whileServing = false, ...flags }: CopyingFlags): Promise<Answer> {
  endCleanly()
  const config = readCopyConfig(flags)
  const from = (await databaseAt(config.from)).name
  const to = (await databaseAt(config.to)).name
  const copied = await withProgress(({ progress }) =>
    copyBetween({ ...config, purpose: 'production', whileServing, clock: systemClock }, progress),
  ).catch(async (error) => {
    throw (await databaseAt(config.from)).explain(error)
  })
  for (const notice of noticesOf(from, whileServing, copied)) printNotice(notice)
  const next = whileServing ? whileServingLines(from) : nextLines(config.to, from, copied)
  return {
    json: { from, to, whileServing, ...copied, copiedBefore: presentCopyNote(copied.copiedBefore) },
    text: [copiedText(from, to, copied), '', next],
  }
}

/** Risks that no command checks. */
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

function presentCopyNote(note: CopyNote | null) {
  return note && { to: note.to, at: instantText(note.at) }
}

function copiedText(from: string, to: string, { tables, auditHead }: Copied): Text {
  const counts = Object.entries(tables).filter(([name]) => name !== 'settings')
  return [
    `Copied ${from} to ${to}: the same record by record, as it was read back, with its audit log.`,
    fields({
      records: counts.map(([name, { rows }]) => `${name} ${rows}`).join(', '),
      'audit head': `line ${auditHead.id} ${auditHead.hash}`,
    }),
  ]
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
  return recordsCommand({
    name: 'reactivate',
    description: description,
    options: [json(), yes],
    examples: ['anteroom database reactivate --database anteroom.sqlite'],
    run: reactivate,
  })
}

async function reactivate({ context, flags, act }: Call<Records>): Promise<Answer> {
  const note = await requireCopyNote(context)
  const loss = `The database was ${describeCopy(note)}. What that one has stored since is not in this one`
  await confirm(`${loss}, and must be served no more. Go on with this one?`, flags)
  await reactivateDatabase(context, act())
  const line = `The database is active. ${loss}: see that it is served no more.`
  return { json: { active: true, copied: presentCopyNote(note) }, text: line }
}

/** `anteroom init`: a new database and its master key. */
export function initCommand(): Command {
  return storageCommand({
    name: 'init',
    options: [json()],
    examples: [
      'anteroom init --database /var/lib/anteroom/anteroom.sqlite',
      'anteroom init --database anteroom.sqlite --master-key-file /etc/anteroom/master.key',
    ],
    run: init,
  })
}

async function init(flags: Flags & CommonFlags): Promise<Answer> {
  const config = readStorageConfig(flags)
  const { masterKey } = config
  const key = 'file' in masterKey ? masterKey.file : null
  const place = await databaseAt(config)
  await place.make({
    keyFile: key,
    mustBeNew: true,
    async fill(database, keyFile) {
      const made = { ...config, database, masterKey: key === null ? masterKey : { file: keyFile } }
      await (await openProduction(made, { create: true })).close()
    },
  })
  return {
    json: { database: place.name, masterKeyFile: key },
    text: [`Made the database ${place.name}.`, key === null ? [] : keyLines(key, place.name), nextCommands],
  }
}

const nextCommands = [
  '',
  'Next:',
  '  anteroom organization add NAME',
  '  anteroom partner add NAME --organization NAME',
  '  anteroom token issue PARTNER --output FILE',
  '  anteroom directory load FILE',
  '  anteroom serve --base-url https://…',
]

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
  return storageCommand({
    name: 'migrate',
    options: [json()],
    examples: ['anteroom migrate --database /var/lib/anteroom/anteroom.sqlite'],
    run: migrate,
  })
}

async function migrate(flags: Flags & CommonFlags): Promise<Answer> {
  const upgraded = await upgradeProduction(readStorageConfig(flags))
  if (!upgraded) return { json: { upgraded: false, copy: null }, text: 'The database is up to date.' }
  const { copy } = upgraded
  return {
    json: { upgraded: true, copy: copy ?? null },
    text: ['The database is up to date now.', copy ? keptCopyNote(copy) : []],
  }
}

/** `anteroom key`: the master key. */
export function keyCommand(): Command {
  const description = 'Put a new master key in the place of the one in force, while the service runs'
  return commandGroup('key', [
    recordsCommand({
      name: 'rotate',
      description: description,
      options: [
        ['--new-key-file <file>', 'leave the new key in this file, and the old one where it is', fileName],
        yes,
        json(),
      ],
      examples: ['anteroom key rotate', 'anteroom key rotate --new-key-file /etc/anteroom/new.key --yes'],
      run: rotate,
    }),
  ])
}

interface RotateFlags {
  readonly newKeyFile?: string
}

const kept =
  'Backups made until now open with the old master key alone: keep a copy of it for as long as them'

async function rotate({ context, flags, act }: Call<Records, RotateFlags>): Promise<Answer | undefined> {
  // Before the rotation: it overwrites the old key.
  const loss = flags.newKeyFile === undefined ? '; it is written over' : ''
  if (!context.keyring.hasRotated) await confirm(`${kept}${loss}. Put a new one in its place?`, flags)
  const { path, isPurged } = await rotateMasterKey(context, flags.newKeyFile, act())
  const answer = {
    json: { masterKeyFile: path, resumed: path === null, purged: isPurged },
    text: rotatedText(path, flags),
  }
  if (isPurged) return answer
  printAnswer(flags, answer)
  const why =
    'the database may still hold what the old master key opens, since another program kept reading or the storage failed'
  const goes = 'it goes once no program has it open that had it open now, and the storage is mended'
  throw new Refusal('storage_busy', `${why}: ${goes}`)
}

function rotatedText(path: string | null, { newKeyFile }: RotateFlags): Text {
  return [
    path === null ? 'The rotation that was cut short is finished.' : `The new master key is in ${path}.`,
    newKeyFile === undefined ? [] : 'Put it where the old one is: the next start takes it.',
    'A server that is running goes on; the next start takes the new key: give it to each machine that has the old one.',
    `${kept}, or make a new one now.`,
  ]
}
