import type { Command } from 'commander'
import { Refusal } from '../domain/errors'
import type { Records } from '../operations/context'
import { rotateMasterKey } from '../operations/upkeep'
import { fileName } from './arguments'
import { asJson, asking, type Call, commandGroup, recordsCommand } from './command'
import { confirm, printJson, printLines } from './output'

/** `anteroom key`: the master key. */
export function keyCommand(): Command {
  const description = 'Put a new master key in the place of the one in force, while the service runs'
  return commandGroup('key', 'The master key', [
    asJson(
      asking(
        recordsCommand('rotate', description, rotate).option(
          '--new-key-file <file>',
          'leave the new key in this file, and the old one where it is',
          fileName,
        ),
      ),
    ),
  ])
}

interface Flags {
  readonly newKeyFile?: string
}

const kept =
  'Backups made until now open with the old master key alone: keep a copy of it for as long as them'

async function rotate({ context, flags, act }: Call<Records, Flags>): Promise<void> {
  // Afterwards there is nothing left to copy.
  const loss = flags.newKeyFile === undefined ? '; it is written over' : ''
  if (!context.custody.hasRotated) await confirm(`${kept}${loss}. Put a new one in its place?`, flags)
  const { path, isPurged } = await rotateMasterKey(context, flags.newKeyFile, act())
  if (flags.json) printJson({ masterKeyFile: path, resumed: path === null, purged: isPurged })
  else tellRotated(path, flags)
  if (isPurged) return
  const why =
    'the database may still hold what the old master key opens, since another program kept reading or the storage failed'
  const goes = 'it goes once no program has it open that had it open now, and the storage is mended'
  throw new Refusal('storage_busy', `${why}: ${goes}`)
}

function tellRotated(path: string | null, { newKeyFile }: Flags): void {
  if (path === null) printLines('The rotation that was cut short is finished.')
  else printLines(`The new master key is in ${path}.`)
  if (newKeyFile !== undefined) printLines('Put it where the old one is: the next start takes it.')
  printLines(
    'A server that is running goes on; the next start takes the new key: give it to each machine that has the old one.',
    `${kept}, or make a new one now.`,
  )
}
