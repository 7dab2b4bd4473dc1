import { afterEach, expect, test } from 'bun:test'
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'
import { LineWriter } from '../../src/cli/terminal/log'
import { Folder } from '../support/folder'
import { eventually } from '../support/process'
import { millisOf } from '../support/standstill'

const folders: Folder[] = []
const open: number[] = []

afterEach(() => {
  for (const descriptor of open.splice(0)) closeSync(descriptor)
  for (const folder of folders.splice(0)) folder[Symbol.dispose]()
})

function place(): string {
  const folder = new Folder()
  folders.push(folder)
  return folder.file('lines')
}

function opened(path: string, flags: string | number): number {
  const descriptor = openSync(path, flags)
  open.push(descriptor)
  return descriptor
}

/** A pipe. A read never blocks. A write blocks while the pipe is full. */
function pipe(): [reader: number, writer: number] {
  const path = place()
  Bun.spawnSync(['mkfifo', path])
  const reader = opened(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return [reader, opened(path, 'w')]
}

function read(reader: number): string {
  const buffer = Buffer.alloc(1 << 20)
  try {
    return buffer.toString('utf8', 0, readSync(reader, buffer))
  } catch {
    return ''
  }
}

const none = () => {
  throw new Error('nothing is to be dropped')
}

test('cli: the log writer collects lines and soon writes them together', async () => {
  const path = place()
  const writer = new LineWriter(opened(path, 'a'), none)
  writer.write('one\n')
  writer.write('two ü\u2028\n')
  expect(readFileSync(path, 'utf8')).toBe('')
  await eventually('both', () => readFileSync(path, 'utf8') === 'one\ntwo ü\u2028\n')
  writer.write('three\n')
  await eventually('the third', () => readFileSync(path, 'utf8').endsWith('three\n'))
})

test('cli: the log writer writes all waiting lines when it ends', async () => {
  const path = place()
  const writer = new LineWriter(opened(path, 'a'), none)
  for (let line = 0; line < 5_000; line++) writer.write(`line ${line} ${'x'.repeat(200)}\n`)
  expect(await writer.end()).toBe(true)
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  expect(lines.map((line) => line.split(' ')[1])).toEqual(Array.from({ length: 5_000 }, (_, at) => `${at}`))
})

test('cli: the log writer buffers up to 4 MiB for a stuck reader, then drops whole lines and reports their number', async () => {
  const [reader, descriptor] = pipe()
  const written = 40_000
  let dropped = 0
  const writer = new LineWriter(descriptor, (count) => {
    dropped += count
    writer.write('dropped\n')
  })
  const line = (at: number) => `${String(at).padStart(8)} ${'y'.repeat(191)}\n`
  const writeAll = async () => {
    for (let at = 0; at < written; at++) {
      writer.write(line(at))
      if (at % 1_000 === 0) await Bun.sleep(0)
    }
  }
  expect(await millisOf(writeAll)).toBeLessThan(2_000)
  let taken = ''
  await eventually('the line that tells of it', () => {
    taken += read(reader)
    return taken.endsWith('dropped\n')
  })
  const kept = taken.split('\n').slice(0, -2)
  expect(kept.length + dropped).toBe(written)
  // The writer buffers at most 4 MiB, and the pipe buffers 64 KiB.
  expect(taken.length).toBeLessThan(4.1 * 2 ** 20)
  expect(kept).toEqual(kept.map((_, at) => line(at).trimEnd()))
  writer.write('after\n')
  expect(await writer.end()).toBe(true)
  expect(read(reader)).toBe('after\n')
})

test('cli: the log writer writes the rest of a line after a partial write', async () => {
  const [reader, descriptor] = pipe()
  // A parent process may pass a non-blocking descriptor. Then a write to a full pipe fails instead of waiting.
  const path = `/proc/self/fd/${descriptor}`
  const writer = new LineWriter(opened(path, constants.O_WRONLY | constants.O_NONBLOCK), none)
  const lines = Array.from({ length: 3_000 }, (_, at) => `${at} ${'z'.repeat(97)}\n`)
  for (const line of lines) writer.write(line)
  let taken = ''
  await eventually('all of them', () => {
    taken += read(reader)
    return taken.length >= lines.join('').length
  })
  expect(taken).toBe(lines.join(''))
})

test('cli: the log writer ends within two seconds even if its reader is stuck', async () => {
  const [, descriptor] = pipe()
  const stuck = new LineWriter(descriptor, none)
  stuck.write(`${'s'.repeat(2 ** 20)}\n`)
  const ending = async () => expect(await stuck.end()).toBe(false)
  expect(await millisOf(ending)).toBeLessThan(2_000)
})

test.each([
  ['a full disk', () => opened('/dev/full', 'w')],
  [
    'a pipe whose reading end is closed',
    () => {
      const [reader, descriptor] = pipe()
      open.splice(open.indexOf(reader), 1)
      closeSync(reader)
      return descriptor
    },
  ],
  ['a closed descriptor', () => 9_999],
])('cli: the log writer survives a write to %s, and ends without delay', async (_, descriptor) => {
  const writer = new LineWriter(descriptor(), none)
  writer.write('one\n')
  await Bun.sleep(250)
  writer.write('two\n')
  const ending = async () => expect(await writer.end()).toBe(true)
  expect(await millisOf(ending)).toBeLessThan(500)
})
