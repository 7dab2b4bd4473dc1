import { createHash } from 'node:crypto'

// macOS kills a program if its pages do not match its code signature. Bun's x64 executables have such a wrong
// signature. This module writes an ad hoc signature, as Apple's linker does. An ad hoc signature does not identify the
// developer: that needs a certificate, and codesign on a Mac.

const segmentCommand = 0x19
const signatureCommand = 0x1d
const superBlob = { magic: 0xfade0cc0, bytes: 20 }
const directory = { magic: 0xfade0c02, bytes: 88, version: 0x20400, adHocByLinker: 0x20002 }
const pageBits = 12
const hash = { bytes: 32, type: 2, algorithm: 'sha256' } as const

interface Layout {
  /** Offset of the LC_CODE_SIGNATURE load command. */
  readonly signatureAt: number
  /** Offset of the signature. The bytes before it are signed. */
  readonly signedBytes: number
  readonly text: { readonly from: bigint; readonly bytes: bigint }
  /** Offset of the load command of __LINKEDIT. This last segment contains the signature. */
  readonly lastAt: number
}

/** Checks the signature of a macOS executable (64-bit Mach-O). Returns the fault, or null if the signature is valid. */
export function signatureFault(file: Buffer): string | null {
  const { signatureAt, signedBytes } = layoutOf(file)
  const end = signedBytes + file.readUInt32LE(signatureAt + 12)
  if (end !== file.length) return 'the signature is not at the end of the file'
  if (file.readUInt32BE(signedBytes) !== superBlob.magic) return 'there is no signature'
  const at = signedBytes + file.readUInt32BE(signedBytes + 16)
  if (file.readUInt32BE(at) !== directory.magic) return 'the signature does not begin with a code directory'
  if (file.readUInt32BE(at + 32) !== signedBytes) return 'the signature covers another length'
  const hashes = at + file.readUInt32BE(at + 16)
  const expected = hashesOf(file.subarray(0, signedBytes), file.readUInt8(at + 39))
  return file.subarray(hashes, hashes + expected.length).equals(expected)
    ? null
    : 'a page does not match its hash'
}

/** Returns the executable with its signature replaced by an ad hoc signature. */
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
  // A segment occupies whole pages in memory. The largest page size is 16 KiB.
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

/** Returns the hashes of all pages. The last page may be shorter. */
function hashesOf(code: Buffer, bits: number): Buffer {
  const size = 2 ** bits
  const pages = Array.from({ length: Math.ceil(code.length / size) }, (_, page) =>
    code.subarray(page * size, (page + 1) * size),
  )
  return Buffer.concat(pages.map((page) => createHash(hash.algorithm).update(page).digest()))
}

function layoutOf(file: Buffer): Layout {
  if (file.readUInt32LE(0) !== 0xfeedfacf) throw new Error('not a 64-bit macOS executable')
  const commands = commandsOf(file)
  const segment = (name: string) =>
    commands.find(({ at, kind }) => kind === segmentCommand && textAt(file, at + 8) === name)?.at
  const signatureAt = commands.find(({ kind }) => kind === signatureCommand)?.at
  const [textSegment, lastAt] = [segment('__TEXT'), segment('__LINKEDIT')]
  if (signatureAt === undefined || textSegment === undefined || lastAt === undefined) {
    throw new Error('the macOS executable has no signature load command, __TEXT or __LINKEDIT')
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
