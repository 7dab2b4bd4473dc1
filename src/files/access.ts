import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Returns the likely reason why a file cannot be used, for an operator. */
export function whyNoAccess(path: string): string {
  const found = statVisible(path)
  if (found === null) return 'a folder in its path cannot be entered'
  const self = process.geteuid?.()
  if (self !== undefined && found.uid !== self) {
    return `it belongs to user ${found.uid}, but this command runs as user ${self}`
  }
  if (isReadOnlyPlace(path)) return 'its file system is read-only'
  if ((found.mode & 0o600) !== 0o600)
    return `its mode is ${(found.mode & 0o777).toString(8)}, but 600 is required`
  return 'its folder is not writable'
}

export function isFolderWritable(path: string): boolean {
  try {
    accessSync(dirname(path), constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

function statVisible(path: string): Stats | null {
  try {
    return statSync(path)
  } catch {
    return null
  }
}

function isReadOnlyPlace(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return false
  } catch (error) {
    return (error as { code?: string }).code === 'EROFS'
  }
}
