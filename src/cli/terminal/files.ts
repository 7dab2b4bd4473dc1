import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Refusal } from '../../domain/errors'
import { beginFile, beginFolder, removeAbandoned, sync, type UnfinishedFile } from '../../files/durable'
import { fileName } from '../arguments'

/** Creates a private folder in TMPDIR, and removes it after `work`. @throws Refusal database_unusable */
export async function inPrivateFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  using folder = begin(tmpdir())
  return await work(folder.path)
}

function begin(place: string) {
  try {
    return beginFolder(join(place, 'anteroom-backup'))
  } catch {
    throw new Refusal('database_unusable', `no folder can be made in ${place}`, {
      action: 'set TMPDIR to another folder',
    })
  }
}

export interface OutputFlags {
  readonly output?: string
}

const toStdout = '-'

/** `--output` for secrets and personal data: only its owner can read the file. */
export const toOutput = [
  '-o, --output <file>',
  'write to this new file, which only its owner can read; - is stdout',
  (text: string) => (text === toStdout ? text : fileName(text)),
] as const

export function outputPath({ output }: OutputFlags): string | undefined {
  return output === toStdout ? undefined : output
}

/** @throws Refusal field_invalid if the file exists */
export function beginOutput(path: string): UnfinishedFile {
  removeAbandoned(path)
  try {
    return beginFile(path)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
    throw new Refusal('field_invalid', '--output: the file already exists', { action: 'choose another path' })
  }
}

/**
 * Writes a secret to a new file before the secret is put in force, so that the secret cannot be lost. If `make` is
 * refused, removes the file.
 *
 * @param make calls its argument with the text of the secret, then puts the secret in force
 * @throws Refusal storage_failed if the secret is in force but not in a file; every error of beginOutput and `make`
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
    const why = `the ${name} is in force, but it could not be written and cannot be shown again`
    throw new Refusal('storage_failed', why, { action: `rotate the ${name}` })
  }
}
