import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Refusal } from '../../domain/errors'
import { beginFile, beginFolder, removeAbandoned, sync, type UnfinishedFile } from '../../files/durable'
import { fileName } from '../arguments'

/**
 * Works in a temporary folder that only its owner can enter, below TMPDIR. It is removed however the work ends. What a
 * killed process leaves is removed by the next one.
 *
 * @throws Refusal database_unusable if none can be made there
 */
export async function inPrivateFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  using folder = begin(tmpdir())
  return await work(folder.path)
}

function begin(place: string) {
  try {
    return beginFolder(join(place, 'anteroom-backup'))
  } catch {
    throw new Refusal('database_unusable', `no folder can be made in ${place}: have TMPDIR name another`)
  }
}

/** What `--output` may be given. */
export interface OutputFlags {
  readonly output?: string
}

const toStdout = '-'

/** `--output`, for what only its owner may read. */
export const toOutput = [
  '-o, --output <file>',
  'write it to this new file, which its owner alone can read; - is stdout',
  (text: string) => (text === toStdout ? text : fileName(text)),
] as const

/** The path of `--output`; undefined for stdout. */
export function outputPath({ output }: OutputFlags): string | undefined {
  return output === toStdout ? undefined : output
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
