import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beginFolder } from '../files/durable'

/**
 * Works in a temporary folder that its owner alone can enter, below TMPDIR. It goes however the work ends; what a kill
 * leaves goes with the next one, ten minutes later or more.
 */
export async function inPrivateFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  using folder = beginFolder(join(tmpdir(), 'anteroom-backup'))
  return await work(folder.path)
}
