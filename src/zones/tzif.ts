import { Refusal } from '../domain/errors'
import { dayMinutes, minuteMillis } from '../scheduling/calendar'
import type { TimeZone } from '../scheduling/time-zone'
import { parsePosixRule } from './posix-rule'

/** Clock changes are computed up to this year, as in the built-in data. */
const lastYear = 2499

/**
 * Reads the zone from the 64-bit block and the footer of a TZif file (RFC 9636). Returns null for other files.
 * @throws Refusal settings_invalid with the file name if the file is damaged or of version 1, which ends in 2037
 */
export function readTzif(name: string, bytes: Buffer): TimeZone | null {
  if (bytes.toString('latin1', 0, 4) !== 'TZif') return null
  if (bytes[4] === 0) throw zoneFileFault(name, 'has format version 1, which ends in 2037')
  return readSecondBlock(name, bytes)
}

export function zoneFileFault(name: string, fault: string): Refusal {
  return new Refusal(
    'settings_invalid',
    `the zone file ${name} ${fault}: install the zone data again, or leave --zones out`,
  )
}

function readSecondBlock(name: string, bytes: Buffer): TimeZone {
  try {
    const start = blockLength(bytes, 0, 4)
    const [transitionCount, typeCount] = [countAt(bytes, start, 3), countAt(bytes, start, 4)]
    const times = start + headerBytes
    const indexes = times + transitionCount * 8
    const types = indexes + transitionCount
    const offsetOf = (type: number) => {
      if (type >= typeCount) throw new RangeError('a transition has an unknown type')
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
    if (footer === undefined) throw new RangeError('the footer is missing')
    if (follow(footer, transitions, offsets) && isSound(transitions, offsets)) {
      return { name, transitions, offsets }
    }
  } catch (error) {
    // The read went past the end of the file, because the header declares more data than the file has.
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

function countAt(bytes: Buffer, start: number, nth: number): number {
  return bytes.readUInt32BE(start + 20 + nth * 4)
}

/** Returns the length of a header and its data block. Times take 4 or 8 bytes. */
function blockLength(bytes: Buffer, start: number, timeBytes: number): number {
  // Bytes per UT indicator, standard indicator, leap second, transition, type and character (RFC 9636 §3.1).
  const sizes = [1, 1, timeBytes + 4, timeBytes + 1, 6, 1]
  return sizes.reduce((length, size, nth) => length + countAt(bytes, start, nth) * size, headerBytes)
}

/** Appends a footer's clock changes to the transitions. Returns false for an invalid footer. */
function follow(footer: string, transitions: number[], offsets: number[]): boolean {
  if (footer === '') return true
  const rule = parsePosixRule(footer)
  if (!rule) return false
  const last = transitions.at(-1) ?? -Infinity
  const firstYear = Number.isFinite(last) ? new Date(last * minuteMillis).getUTCFullYear() : 1970
  for (let year = firstYear; year <= lastYear; year++) {
    for (const { at, offset } of rule.changesIn(year)) {
      if (at <= last) continue
      // Year-round summer time is written as an end and a start at the same instant, which cancel out.
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
