import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Refusal } from '../domain/errors'
import { beginFolder } from '../files/durable'

/**
 * Works in a temporary folder that its owner alone can enter, below TMPDIR. It goes however the work ends; what a kill
 * leaves goes with the next one, ten minutes later or more.
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
