import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { executables } from '../../src/pinned-bun.json'

/** A platform of which the Bun is pinned. */
export type PinnedPlatform = keyof typeof executables

/** Whether the Bun of a platform is pinned, as Node tells of one: its system and its processor. */
export function isPinned(platform: string): platform is PinnedPlatform {
  return Object.hasOwn(executables, platform)
}

/** @throws Error where a file is not the Bun that is pinned for a platform */
export function requirePinned(file: string, platform: PinnedPlatform): void {
  const found = hashOf(file, 'sha512')
  if (found === executables[platform].sha512) return
  throw new Error(`${file} is not what src/pinned-bun.json pins: its SHA-512 is ${found}`)
}

/** A file's hash, in hexadecimal. */
export function hashOf(file: string, algorithm: string): string {
  return createHash(algorithm).update(readFileSync(file)).digest('hex')
}
