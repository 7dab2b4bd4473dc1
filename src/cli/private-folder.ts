import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Refusal } from '../domain/errors'
import { beginFolder } from '../files/durable'

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
