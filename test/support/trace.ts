import { readFileSync } from 'node:fs'
import { arch, platform } from 'node:os'

const bytesOf = {
  none: 0,
  path0: 1,
  path1: 2,
  paths01: 3,
  paths13: 4,
  buffer: 5,
  vector: 6,
  message: 7,
} as const

/** A system call to trace. The number is null if the platform lacks the call. */
type CallRow = readonly [x64: number | null, arm64: number | null, bytes: keyof typeof bytesOf, step?: 'step']

// All system calls that change a file or send bytes to a socket. The list includes calls that the runtime does not use
// yet.
const rows = {
  write: [1, 64, 'buffer'],
  writev: [20, 66, 'vector'],
  pwrite64: [18, 68, 'buffer', 'step'],
  pwritev: [296, 70, 'vector', 'step'],
  pwritev2: [328, 287, 'vector', 'step'],
  sendto: [44, 206, 'buffer'],
  sendmsg: [46, 211, 'message'],
  sendmmsg: [307, 269, 'none'],
  sendfile: [40, 71, 'none'],
  splice: [275, 76, 'none'],
  copy_file_range: [326, 285, 'none'],
  io_uring_setup: [425, 425, 'none'],
  ioctl: [16, 29, 'none'],
  mmap: [9, 222, 'none'],
  dup: [32, 23, 'none'],
  dup2: [33, null, 'none'],
  dup3: [292, 24, 'none'],
  fsync: [74, 82, 'none', 'step'],
  fdatasync: [75, 83, 'none', 'step'],
  truncate: [76, 45, 'path0'],
  ftruncate: [77, 46, 'none', 'step'],
  fallocate: [285, 47, 'none', 'step'],
  open: [2, null, 'path0'],
  openat: [257, 56, 'path1'],
  close: [3, 57, 'none'],
  rename: [82, null, 'paths01'],
  renameat: [264, 38, 'paths13'],
  renameat2: [316, 276, 'paths13'],
  link: [86, null, 'paths01'],
  linkat: [265, 37, 'paths13'],
  unlink: [87, null, 'path0'],
  unlinkat: [263, 35, 'path1'],
  mkdir: [83, null, 'path0'],
  mkdirat: [258, 34, 'path1'],
  rmdir: [84, null, 'path0'],
} satisfies Record<string, CallRow>

export type CallName = keyof typeof rows

const known = (Object.entries(rows) as [CallName, CallRow][]).flatMap(([name, [x64, arm64, bytes, step]]) => {
  const number = arch() === 'arm64' ? arm64 : x64
  return number === null ? [] : [{ name, number, bytes, isStep: step !== undefined }]
})

/** The input of the tracer. Each row has the number of a call, the arguments to copy, and 1 for a disk step. */
export const callTable = known.map(({ number, bytes, isStep }) => [number, bytesOf[bytes], Number(isStep)])

/** A system call. `began` and `ended` are positions in the trace. */
export interface Call {
  readonly name: CallName
  readonly args: readonly number[]
  readonly bytes: Buffer
  readonly paths: readonly string[]
  readonly began: number
  /** Infinity if the call did not return. */
  ended: number
  /** Negative for an error, null if the call did not return. */
  result: number | null
}

const headBytes = 80

/** Reads a trace. Calls are in the order in which they began. */
export function readTrace(path: string): Call[] {
  const trace = readFileSync(path)
  const calls: Call[] = []
  const names = new Map(
    known.map(({ number, name, bytes }) => [number, { name, hasPaths: bytes.startsWith('path') }]),
  )
  let moment = 0
  for (let at = 0; at < trace.length; moment++) {
    const field = (index: number) => Number(trace.readBigInt64LE(at + 8 * index))
    const [isExit = 0, id = 0, number = 0, ...args] = Array.from({ length: 9 }, (_, index) => field(index))
    const length = field(9)
    const bytes = trace.subarray(at + headBytes, at + headBytes + length)
    at += headBytes + length
    if (isExit) {
      const call = calls[id] as Call
      call.ended = moment
      call.result = args[0] ?? null
      continue
    }
    const { name, hasPaths } = names.get(number) as { name: CallName; hasPaths: boolean }
    const paths = hasPaths ? bytes.toString().split('\0') : []
    calls.push({ name, args, bytes, paths, began: moment, ended: Infinity, result: null })
  }
  return calls
}

export function traced(
  command: readonly string[],
  trace: string,
  { end = '', step = 0 }: { readonly end?: string; readonly step?: number } = {},
): readonly string[] {
  return [
    process.execPath,
    new URL('./tracer.ts', import.meta.url).pathname,
    trace,
    end,
    String(step),
    ...command,
  ]
}

/** Returns why no program can be traced, or null if one can. */
export function whyUntraceable(): string | null {
  if (platform() !== 'linux') return `${platform()} has no Linux ptrace`
  if (!['x64', 'arm64'].includes(arch())) return `the system calls of ${arch()} are not listed`
  const { exitCode, stderr } = Bun.spawnSync([...traced(['true'], '/dev/null')], { timeout: 10_000 })
  if (exitCode === 0) return null
  return (
    /^error: .*|^the program cannot be .*/m.exec(stderr.toString())?.[0] ??
    `the tracer ended with ${exitCode}`
  )
}
