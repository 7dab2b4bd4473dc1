import type { Refusal } from '../../src/domain/errors'
import { unusable } from './unusable'

/** What keeps a file from being written at a path, in the operator's words; any other error is what it was. */
export function fileFault(error: unknown, path: string): unknown {
  const { code } = error as { code?: string }
  if (code === 'EEXIST') return unusable('there is a file at that path already')
  return /^(ENOSPC|EDQUOT|EFBIG|ENOTDIR)$/.test(code ?? '') ? noRoomAt(path) : error
}

/** A backup takes room in several folders: which of them is full? */
export function noRoomAt(path: string): Refusal {
  return unusable(`no sound copy could be made at ${path}; is there room for it?`)
}
