export interface TzifSource {
  /** 1 to 4 (default: 2). */
  readonly version?: number
  /** Offsets in seconds east of UTC. The first offset applies before the first change. */
  readonly types: readonly number[]
  /** `at` is in seconds since 1970-01-01T00:00Z. `type` is an index into `types`. */
  readonly changes?: readonly (readonly [at: number, type: number])[]
  /** The POSIX rule for the time after the last change (default: empty). */
  readonly footer?: string
  /** The content of the 32-bit block, if not empty. Readers of version 2 skip it. */
  readonly legacy?: {
    readonly types: readonly number[]
    readonly changes: readonly (readonly [number, number])[]
  }
  /** The number of leap second records. */
  readonly leapSeconds?: number
  readonly indicators?: boolean
}

/** Returns the bytes of a TZif file (RFC 9636). */
export function writeTzif(source: TzifSource): Buffer {
  const { version = 2, footer = '' } = source
  if (version === 1) return block('\0', source, 4)
  const first = source.legacy ?? { types: [0], changes: [] }
  return Buffer.concat([
    block(String(version), { ...source, ...first }, 4),
    block(String(version), source, 8),
    Buffer.from(`\n${footer}\n`, 'latin1'),
  ])
}

function block(version: string, source: TzifSource, timeBytes: 4 | 8): Buffer {
  const { types, changes = [], leapSeconds = 0, indicators = false } = source
  const designations = 'LMT\0'
  const flags = indicators ? types.length : 0
  const head = Buffer.alloc(44)
  head.write(`TZif${version}`, 'latin1')
  const counts = [flags, flags, leapSeconds, changes.length, types.length, designations.length]
  for (const [index, count] of counts.entries()) head.writeUInt32BE(count, 20 + index * 4)
  const time = (seconds: number) => {
    const bytes = Buffer.alloc(timeBytes)
    if (timeBytes === 8) bytes.writeBigInt64BE(BigInt(seconds))
    else bytes.writeInt32BE(seconds)
    return bytes
  }
  const type = (seconds: number) => {
    const bytes = Buffer.alloc(6)
    bytes.writeInt32BE(seconds)
    return bytes
  }
  const leap = (index: number) => {
    const correction = Buffer.alloc(4)
    correction.writeInt32BE(index + 1)
    return Buffer.concat([time(78_796_800 + index * 31_536_000), correction])
  }
  return Buffer.concat([
    head,
    ...changes.map(([at]) => time(at)),
    Buffer.from(changes.map(([, type]) => type)),
    ...types.map(type),
    Buffer.from(designations, 'latin1'),
    ...Array.from({ length: leapSeconds }, (_, index) => leap(index)),
    Buffer.alloc(flags * 2, 1),
  ])
}
