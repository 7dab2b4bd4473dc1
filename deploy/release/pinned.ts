import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { executables } from '../../src/pinned-bun.json'

export type PinnedPlatform = keyof typeof executables

/** @param platform Node's `${process.platform}-${process.arch}` */
export function isPinned(platform: string): platform is PinnedPlatform {
  return Object.hasOwn(executables, platform)
}

/** @throws Error if the file does not have the hash that is pinned for the platform */
export function requirePinned(file: string, platform: PinnedPlatform): void {
  const found = hashOf(file, 'sha512')
  if (found === executables[platform].sha512) return
  throw new Error(`${file} does not match its hash in src/pinned-bun.json: its SHA-512 is ${found}`)
}

/** Returns a file's hash in hexadecimal. */
export function hashOf(file: string, algorithm: string): string {
  return createHash(algorithm).update(readFileSync(file)).digest('hex')
}
