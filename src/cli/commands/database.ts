import { basename, dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { type CopyFlags, type Flags, readCopyConfig, readStorageConfig } from '../../config'
import { isDatabaseAddress } from '../../domain/addresses'
import { Refusal } from '../../domain/errors'
import { type DatabaseSetting, keptCopyNote } from '../../domain/ports/database'
import { type CopyNote, describeCopy, requireCopied } from '../../domain/ports/database-copy'
import { systemClock } from '../../domain/ports/time'
import type { Records } from '../../operations/context'
import { rotateMasterKey } from '../../operations/maintenance'
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

export function databaseCommand(): Command {
  return commandGroup('database', [
    plainCommand({
      name: 'copy',
      description: 'Copy a database from a file to a database server, or back',
      settings: ['settings', 'masterKeyFile', 'masterKeyFd'],
      options: [
        required(
          '--from <place>',
          'the source, a file or postgres://user@host/name; serve refuses to use it afterwards',
        ),
        required('--to <place>', 'the place of the copy: a new file, or an empty database on a server'),
        ['--while-serving', 'copy even if a server uses the database; its later changes are not copied'],
        json(),
      ],
      examples: [
        'anteroom database copy --from anteroom.sqlite --to postgres://anteroom@127.0.0.1/anteroom',
        'anteroom database copy --from postgres://anteroom@127.0.0.1/anteroom --to anteroom.sqlite --master-key-file master.key',
      ],
      run: copy,
    }),
    recordsCommand({
      name: 'reactivate',
      description: 'Use a database again that was marked as copied',
      options: [json(), yes],
      examples: ['anteroom database reactivate --database anteroom.sqlite'],
      async run({ context, flags, act }) {
        const note = requireCopied(await context.maintenance.findCopyNote())
        const loss = `The database was ${describeCopy(note)}. Later changes to the copy are not in this database.`
        await confirm(`${loss} Stop serving the copy. Use this database again?`, flags)
        await context.maintenance.reactivate(act())
        const line = `The database is active. ${loss} Make sure that no server uses the copy.`
        return { json: { active: true, copied: presentCopyNote(note) }, text: line }
      },
    }),
  ])
}

type Copying = CopyFlags & CommonFlags & { readonly whileServing?: boolean }

async function copy({ json: _, whileServing = false, ...flags }: Copying): Promise<Answer> {
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

function noticesOf(from: string, whileServing: boolean, { deactivated, copiedBefore }: Copied): string[] {
  const notices: string[] = []
  if (!whileServing && !deactivated)
    notices.push(
      `${from} cannot be written, so it is not marked as copied: make sure that no server uses it any more`,
    )
  if (copiedBefore)
    notices.push(
      `${from} was ${describeCopy(copiedBefore)} before: if a server uses that copy, do not serve the new copy`,
    )
  return notices
}

function presentCopyNote(note: CopyNote | null) {
  return note && { to: note.to, at: instantText(note.at) }
}

function copiedText(from: string, to: string, { tables, auditHead }: Copied): Text {
  const counts = Object.entries(tables).filter(([name]) => name !== 'settings')
  return [
    `Copied ${from} to ${to}, with its audit log. Every record was read back and is identical.`,
    fields({
      records: counts.map(([name, { rows }]) => `${name} ${rows}`).join(', '),
      'audit head': `line ${auditHead.id} ${auditHead.hash}`,
    }),
  ]
}

function whileServingLines(from: string): string[] {
  return [
    `A server may still use ${from}: bookings and changes there from now on are not in the copy.`,
    'To switch to the copy, stop the server, remove this copy, and copy again.',
  ]
}

function nextLines(to: DatabaseSetting, from: string, { deactivated }: Copied): string[] {
  const key = isDatabaseAddress(to.database) ? ' Set ANTEROOM_MASTER_KEY_FILE on each server.' : ''
  return [
    `The copy needs the same master key.${key}`,
    `From now on, serve only one of the two: start the servers with the copy, and put ${from} aside or remove it.`,
    ...(deactivated
      ? [
          `${from} is marked as copied: serve and all commands that change data refuse it (to use it again: anteroom database reactivate).`,
        ]
      : []),
    'Then run anteroom doctor and anteroom status.',
  ]
}

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
    text: [
      `Created the database ${place.name}.`,
      key === null ? [] : keyLines(key, place.name),
      nextCommands,
    ],
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
    `Created the master key ${key}. Keep a copy of it, apart from every copy of the database.`,
    'Without it, sealed data in the database and in backups is lost.',
  ]
  if (dirname(resolve(key)) !== dirname(resolve(database))) return made
  const folder = process.getuid?.() === 0 ? '/etc/anteroom' : '~/.config/anteroom'
  const place = `${folder}/${shellWord(basename(key))}`
  return [
    ...made,
    '',
    'The key file is in the same folder as the database. A copy of that folder is enough to read all sealed data.',
    'Move the key file before you store any data, for example with',
    `  mkdir -p -m 700 ${folder} && mv -n ${shellWord(key)} ${place}`,
    `  export ANTEROOM_MASTER_KEY_FILE=${place}`,
    'or pass it from a secrets manager (--master-key-fd) or as the systemd credential anteroom-master-key.',
  ]
}

export function migrateCommand(): Command {
  return storageCommand({
    name: 'migrate',
    options: [json()],
    examples: ['anteroom migrate --database /var/lib/anteroom/anteroom.sqlite'],
    async run(flags: Flags & CommonFlags) {
      const upgraded = await upgradeProduction(readStorageConfig(flags))
      if (!upgraded) return { json: { upgraded: false, copy: null }, text: 'The database is up to date.' }
      const { copy } = upgraded
      return {
        json: { upgraded: true, copy: copy ?? null },
        text: ['The database was upgraded and is up to date.', copy ? keptCopyNote(copy) : []],
      }
    },
  })
}

export function keyCommand(): Command {
  const description = 'Replace the master key while the service runs'
  return commandGroup('key', [
    recordsCommand({
      name: 'rotate',
      description: description,
      options: [
        ['--new-key-file <file>', 'the file to create for the new key (default: the old key file)', fileName],
        yes,
        json(),
      ],
      examples: ['anteroom key rotate', 'anteroom key rotate --new-key-file /etc/anteroom/new.key --yes'],
      run: rotate,
    }),
  ])
}

const kept =
  'Existing backups need the old master key: keep a copy of the key as long as you keep the backups'

async function rotate({ context, flags, act }: Call<Records, { newKeyFile?: string }>) {
  const loss = flags.newKeyFile === undefined ? '. Its file will be overwritten' : ''
  if (!context.keyring.hasRotated) await confirm(`${kept}${loss}. Replace the master key?`, flags)
  const { path, isPurged } = await rotateMasterKey(context, flags.newKeyFile, act())
  const answer = {
    json: { masterKeyFile: path, resumed: path === null, purged: isPurged },
    text: rotatedText(path, flags.newKeyFile),
  }
  if (isPurged) return answer
  printAnswer(flags, answer)
  const why =
    'the database file may still have data that the old master key opens, because another program kept reading or the storage failed'
  const goes = 'it is removed when those programs have closed the database and the storage works again'
  throw new Refusal('storage_busy', `${why}: ${goes}`)
}

function rotatedText(path: string | null, newKeyFile: string | undefined): Text {
  return [
    path === null ? 'The interrupted rotation is finished.' : `The new master key is in ${path}.`,
    newKeyFile === undefined ? [] : 'Replace the old key file with the new file before the next start.',
    'Running servers continue, but the next start needs the new key. Copy the new key to each machine that has the old key.',
    `${kept}, or make a new backup now.`,
  ]
}
