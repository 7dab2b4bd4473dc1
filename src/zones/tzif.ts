import type { TimeZone } from '../scheduling/time-zone'
import { parsePosixRule } from './posix-rule'

/** The last year whose clock changes are worked out from a rule without an end, as the built-in data does. */
const lastYear = 2037

/**
 * The zone in a TZif file (RFC 9636), or null where the bytes are none. Read from the 64-bit block of
 * version 2 and later; what comes after its last transition follows the rule in its footer.
 */
export function readTzif(name: string, bytes: Buffer): TimeZone | null {
  if (bytes.length < 44 || bytes.toString('latin1', 0, 4) !== 'TZif' || bytes[4] === 0) return null
  const start = blockLength(bytes, 0, 4)
  const count = (field: number) => bytes.readUInt32BE(start + 20 + field * 4)
  const [transitionCount, typeCount] = [count(3), count(4)]
  const times = start + 44
  const indexes = times + transitionCount * 8
  const types = indexes + transitionCount
  const offsetOf = (type: number) => Math.round(bytes.readInt32BE(types + type * 6) / 60)
  if (typeCount === 0) return null

  const transitions: number[] = []
  const offsets = [offsetOf(0)]
  for (let i = 0; i < transitionCount; i++) {
    transitions.push(Math.round(Number(bytes.readBigInt64BE(times + i * 8)) / 60))
    offsets.push(offsetOf(bytes[indexes + i] as number))
  }
  const footer = bytes.toString('latin1', start + blockLength(bytes, start, 8)).split('\n')[1]
  if (footer) follow(footer, transitions, offsets)
  return { name, transitions, offsets }
}

/** The length of a header and the block of data behind it, whose times take 4 or 8 bytes. */
function blockLength(bytes: Buffer, start: number, timeBytes: number): number {
  const [isUt, isStd, leap, time, type, chars] = [0, 1, 2, 3, 4, 5].map((field) =>
    bytes.readUInt32BE(start + 20 + field * 4),
  ) as [number, number, number, number, number, number]
  return 44 + time * (timeBytes + 1) + type * 6 + chars + leap * (timeBytes + 4) + isStd + isUt
}

/** Adds the clock changes that a footer's rule brings after the last transition told. */
function follow(footer: string, transitions: number[], offsets: number[]): void {
  const rule = parsePosixRule(footer)
  if (!rule) return
  const last = transitions.at(-1) ?? -Infinity
  const firstYear = Number.isFinite(last) ? new Date(last * 60_000).getUTCFullYear() : 1970
  for (let year = firstYear; year <= lastYear; year++) {
    for (const { at, offset } of rule.changesIn(year)) {
      if (at > last && offset !== offsets.at(-1)) {
        transitions.push(at)
        offsets.push(offset)
      }
    }
  }
}
