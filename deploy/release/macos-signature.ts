import { createHash } from 'node:crypto'

// macOS ends a program whose pages are not those of its signature. Bun signs anew what it builds for arm64; for x64 it
// leaves its own signature, which is of other pages. An ad hoc signature, as Apple's linker writes it, says nothing of
// who built this: that takes a developer's certificate, and codesign on a Mac replaces this one.

const segmentCommand = 0x19
const signatureCommand = 0x1d
const superBlob = { magic: 0xfade0cc0, bytes: 20 }
const directory = { magic: 0xfade0c02, bytes: 88, version: 0x20400, adHocByLinker: 0x20002 }
const pageBits = 12
const hash = { bytes: 32, type: 2, algorithm: 'sha256' } as const

interface Layout {
  /** Where the command is that tells where the signature is, which is as far as the file is signed. */
  readonly signatureAt: number
  readonly signedBytes: number
  readonly text: { readonly from: bigint; readonly bytes: bigint }
  /** Where the command is of the segment at the file's end, which holds the signature. */
  readonly lastAt: number
}

/** What is wrong with the signature of an executable of macOS (Mach-O, 64 bit); null if nothing. */
export function signatureFault(file: Buffer): string | null {
  const { signatureAt, signedBytes } = layoutOf(file)
  const end = signedBytes + file.readUInt32LE(signatureAt + 12)
  if (end !== file.length) return 'the signature does not end the file'
  if (file.readUInt32BE(signedBytes) !== superBlob.magic) return 'there is no signature'
  const at = signedBytes + file.readUInt32BE(signedBytes + 16)
  if (file.readUInt32BE(at) !== directory.magic) return 'the signature does not begin with hashes'
  if (file.readUInt32BE(at + 32) !== signedBytes) return 'the signature is of another length'
  const hashes = at + file.readUInt32BE(at + 16)
  const expected = hashesOf(file.subarray(0, signedBytes), file.readUInt8(at + 39))
  return file.subarray(hashes, hashes + expected.length).equals(expected) ? null : 'a page was changed'
}

/** The executable with an ad hoc signature in place of the one that it has. */
export function signed(file: Buffer, identifier: string): Buffer {
  const { signatureAt, signedBytes, text, lastAt } = layoutOf(file)
  const pages = Math.ceil(signedBytes / 2 ** pageBits)
  const name = Buffer.from(`${identifier}\0`)
  const directoryBytes = directory.bytes + name.length + pages * hash.bytes
  const bytes = Math.ceil((superBlob.bytes + directoryBytes) / 16) * 16

  const code = Buffer.from(file.subarray(0, signedBytes))
  const lastBytes = BigInt(signedBytes + bytes) - code.readBigUInt64LE(lastAt + 40)
  code.writeUInt32LE(bytes, signatureAt + 12)
  code.writeBigUInt64LE(lastBytes, lastAt + 48)
  // In memory a segment takes whole pages, of 16 KiB where they are largest.
  code.writeBigUInt64LE(((lastBytes + 0x3fffn) / 0x4000n) * 0x4000n, lastAt + 32)

  const head = Buffer.alloc(superBlob.bytes + directory.bytes)
  words(head, 0, [superBlob.magic, superBlob.bytes + directoryBytes, 1, 0, superBlob.bytes])
  const hashesAt = directory.bytes + name.length
  const { magic, version, adHocByLinker } = directory
  words(head, superBlob.bytes, [magic, directoryBytes, version, adHocByLinker, hashesAt, directory.bytes])
  words(head, superBlob.bytes + 24, [0, pages, signedBytes])
  head.set([hash.bytes, hash.type, 0, pageBits], superBlob.bytes + 36)
  head.writeBigUInt64BE(text.from, superBlob.bytes + 64)
  head.writeBigUInt64BE(text.bytes, superBlob.bytes + 72)
  head.writeBigUInt64BE(1n, superBlob.bytes + 80) // a program, not a library
  const signature = Buffer.alloc(bytes)
  Buffer.concat([head, name, hashesOf(code, pageBits)]).copy(signature)
  return Buffer.concat([code, signature])
}

function words(into: Buffer, from: number, values: readonly number[]): void {
  for (const [index, value] of values.entries()) into.writeUInt32BE(value, from + index * 4)
}

/** The hash of each page, the last one as long as it is. */
function hashesOf(code: Buffer, bits: number): Buffer {
  const size = 2 ** bits
  const pages = Array.from({ length: Math.ceil(code.length / size) }, (_, page) =>
    code.subarray(page * size, (page + 1) * size),
  )
  return Buffer.concat(pages.map((page) => createHash(hash.algorithm).update(page).digest()))
}

function layoutOf(file: Buffer): Layout {
  if (file.readUInt32LE(0) !== 0xfeedfacf) throw new Error('this is no executable of macOS')
  const commands = commandsOf(file)
  const segment = (name: string) =>
    commands.find(({ at, kind }) => kind === segmentCommand && textAt(file, at + 8) === name)?.at
  const signatureAt = commands.find(({ kind }) => kind === signatureCommand)?.at
  const [textSegment, lastAt] = [segment('__TEXT'), segment('__LINKEDIT')]
  if (signatureAt === undefined || textSegment === undefined || lastAt === undefined) {
    throw new Error('this executable of macOS has no place for a signature')
  }
  const [from, bytes] = [textSegment + 40, textSegment + 48].map((at) => file.readBigUInt64LE(at))
  const text = { from: from as bigint, bytes: bytes as bigint }
  return { signatureAt, signedBytes: file.readUInt32LE(signatureAt + 8), text, lastAt }
}

function commandsOf(file: Buffer): { at: number; kind: number }[] {
  const commands: { at: number; kind: number }[] = []
  let at = 32
  for (let left = file.readUInt32LE(16); left > 0; left--) {
    commands.push({ at, kind: file.readUInt32LE(at) })
    at += file.readUInt32LE(at + 4)
  }
  return commands
}

function textAt(file: Buffer, at: number): string {
  return file.toString('latin1', at, at + 16).replace(/\0+$/, '')
}
