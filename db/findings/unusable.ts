import { Refusal } from '../../src/domain/errors'

/** The refusal of a database, or of a copy of one. @param message the reason, for the operator */
export function unusable(message: string): Refusal {
  return new Refusal('database_unusable', message)
}

/** The refusal of a file that cannot be written at a path; any other error is returned as it is. */
export function fileFault(error: unknown, path: string): unknown {
  const { code } = error as { code?: string }
  if (code === 'EEXIST') return unusable('there is a file at that path already')
  return /^(ENOSPC|EDQUOT|EFBIG|ENOTDIR)$/.test(code ?? '') ? noRoomAt(path) : error
}

/** A backup takes room in several folders, and the error does not say in which. */
export function noRoomAt(path: string): Refusal {
  return unusable(`no sound copy could be made at ${path}; is there room for it?`)
}
