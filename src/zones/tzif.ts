import { Refusal } from '../domain/errors'
import { dayMinutes, minuteMillis } from '../scheduling/calendar'
import type { TimeZone } from '../scheduling/time-zone'
import { parsePosixRule } from './posix-rule'

/** The last year whose clock changes are worked out from a rule without an end, as the built-in data does. */
const lastYear = 2499

/**
 * The zone in a TZif file (RFC 9636), or null where the bytes are no such file. Read from the 64-bit block; what
 * comes after its last transition follows the rule in its footer.
 *
 * @throws Refusal settings_invalid naming the file and what is wrong with it, if it is damaged (a zone that was
 * half read would show wrong hours) or of version 1, which tells no times after 2037
 */
export function readTzif(name: string, bytes: Buffer): TimeZone | null {
  if (bytes.toString('latin1', 0, 4) !== 'TZif') return null
  if (bytes[4] === 0) throw zoneFileFault(name, 'is of version 1, which ends in 2037')
  return readSecondBlock(name, bytes)
}

/** That a file of zone data cannot be used, `fault` saying why. */
export function zoneFileFault(name: string, fault: string): Refusal {
  return new Refusal('settings_invalid', `the zone file ${name} ${fault}`)
}

function readSecondBlock(name: string, bytes: Buffer): TimeZone {
  try {
    const start = blockLength(bytes, 0, 4)
    const [transitionCount, typeCount] = [countAt(bytes, start, 3), countAt(bytes, start, 4)]
    const times = start + headerBytes
    const indexes = times + transitionCount * 8
    const types = indexes + transitionCount
    const offsetOf = (type: number) => {
      if (type >= typeCount) throw new RangeError('there is no such type')
      return Math.round(bytes.readInt32BE(types + type * 6) / 60)
    }
    const transitions: number[] = []
    const offsets = [offsetOf(0)]
    for (let i = 0; i < transitionCount; i++) {
      transitions.push(Math.round(Number(bytes.readBigInt64BE(times + i * 8)) / 60))
      offsets.push(offsetOf(bytes.readUInt8(indexes + i)))
    }
    const rest = bytes.toString('latin1', start + blockLength(bytes, start, 8))
    const footer = /^\n([^\n]*)\n/.exec(rest)?.[1]
    if (footer === undefined) throw new RangeError('there is no footer')
    if (follow(footer, transitions, offsets) && isSound(transitions, offsets)) {
      return { name, transitions, offsets }
    }
  } catch (error) {
    // Reading past the end: the counts promise more than there is.
    if (error instanceof RangeError) throw zoneFileFault(name, 'is cut short')
    throw error
  }
  throw zoneFileFault(name, 'is damaged')
}

function isSound(transitions: readonly number[], offsets: readonly number[]): boolean {
  const ascend = transitions.every((at, index) => index === 0 || (transitions[index - 1] as number) < at)
  return ascend && offsets.every((offset) => Math.abs(offset) < dayMinutes)
}

const headerBytes = 44

/** The nth of the six counts in the header that begins at `start`. */
function countAt(bytes: Buffer, start: number, nth: number): number {
  return bytes.readUInt32BE(start + 20 + nth * 4)
}

/** The length of a header and the block of data behind it, whose times take 4 or 8 bytes. */
function blockLength(bytes: Buffer, start: number, timeBytes: number): number {
  // Of indicators of two kinds, leap seconds, transitions, types and characters.
  const sizes = [1, 1, timeBytes + 4, timeBytes + 1, 6, 1]
  return sizes.reduce((length, size, nth) => length + countAt(bytes, start, nth) * size, headerBytes)
}

/** Adds the clock changes that a footer's rule brings after the last transition told; false if it is no rule. */
function follow(footer: string, transitions: number[], offsets: number[]): boolean {
  if (footer === '') return true
  const rule = parsePosixRule(footer)
  if (!rule) return false
  const last = transitions.at(-1) ?? -Infinity
  const firstYear = Number.isFinite(last) ? new Date(last * minuteMillis).getUTCFullYear() : 1970
  for (let year = firstYear; year <= lastYear; year++) {
    for (const { at, offset } of rule.changesIn(year)) {
      if (at <= last) continue
      // Summer time all year is told as an end and a beginning at one moment, which cancel each other.
      if (at === transitions.at(-1)) {
        transitions.pop()
        offsets.pop()
      }
      if (offset === offsets.at(-1)) continue
      transitions.push(at)
      offsets.push(offset)
    }
  }
  return true
}
