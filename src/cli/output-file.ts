import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { Refusal } from '../domain/errors'
import { beginFile, removeAbandoned, sync, type UnfinishedFile } from '../files/durable'
import { fileName } from './arguments'

/** What `--output` may be given. */
export interface OutputFlags {
  readonly output?: string
}

const toStdout = '-'

/** `--output`, for what its owner alone may read; of `-`, which is stdout, a command is told nothing. */
export function toOutput(command: Command): Command {
  const parse = (text: string) => (text === toStdout ? text : fileName(text))
  return command
    .option(
      '-o, --output <file>',
      'write it to this new file, which its owner alone can read; - is stdout',
      parse,
    )
    .hook('preAction', (_, acting) => {
      if (acting.opts<OutputFlags>().output === toStdout) acting.setOptionValue('output', undefined)
    })
}

/** Begins the file of `--output`. @throws Refusal field_invalid if there is a file already */
export function beginOutput(path: string): UnfinishedFile {
  removeAbandoned(path)
  try {
    return beginFile(path)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
    throw new Refusal('field_invalid', '--output: there is a file at that path already')
  }
}

/**
 * Makes a secret and leaves it in a new file: written before it is in force, so that none is made that nobody can
 * read, and named after, so that a refusal leaves no file.
 *
 * @param make gives the secret, as the file shall hold it, to its argument before it puts it in force
 * @throws as beginOutput and `make` do; Refusal storage_failed if the file did not get its name: then it must be known
 */
export async function writeSecret(
  path: string,
  name: string,
  make: (keep: (text: string) => void) => Promise<unknown>,
): Promise<void> {
  using file = beginOutput(path)
  await make((text) => {
    writeFileSync(file.path, `${text}\n`)
    sync(file.path)
  })
  try {
    file.publish()
  } catch {
    const why = `the ${name} was made and could not be written; it can never be shown again: rotate it`
    throw new Refusal('storage_failed', why)
  }
}
