import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** The likely reason why a file cannot be used, worded for an operator. */
export function whyNoAccess(path: string): string {
  const found = statVisible(path)
  if (found === null) return 'a folder on the way to it may not be entered'
  const self = process.geteuid?.()
  if (self !== undefined && found.uid !== self) {
    return `it belongs to user ${found.uid}, and this command was given by user ${self}`
  }
  if (isReadOnlyPlace(path)) return 'it lies where nothing can be written'
  if ((found.mode & 0o600) !== 0o600)
    return `its mode is ${(found.mode & 0o777).toString(8)}, and 600 is needed`
  return 'nothing may be written in its folder'
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
