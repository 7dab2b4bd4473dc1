import { expect, test } from 'bun:test'
import { signatureFault, signed } from '../../deploy/release/macos-signature'

const at = { text: 32, last: 104, signature: 176 }

/** A minimal macOS executable: a code segment, a segment for the signature, and an invalid signature. */
function executable(signedBytes: number, signatureBytes: number): Buffer {
  const file = Buffer.alloc(signedBytes + signatureBytes, 7)
  file.fill(0, 0, 192)
  file.writeUInt32LE(0xfeedfacf, 0)
  file.writeUInt32LE(3, 16)
  const lastFrom = signedBytes - 100
  for (const [where, name, from, bytes] of [
    [at.text, '__TEXT', 0, lastFrom],
    [at.last, '__LINKEDIT', lastFrom, 100 + signatureBytes],
  ] as const) {
    file.writeUInt32LE(0x19, where)
    file.writeUInt32LE(72, where + 4)
    file.write(name, where + 8)
    file.writeBigUInt64LE(BigInt(from), where + 40)
    file.writeBigUInt64LE(BigInt(bytes), where + 48)
  }
  for (const [index, value] of [0x1d, 16, signedBytes, signatureBytes].entries()) {
    file.writeUInt32LE(value, at.signature + index * 4)
  }
  return file
}

test.each([
  ['whole pages', 8192, 64],
  ['a partial last page', 10_000, 64],
  ['a longer old signature', 10_000, 5000],
])(
  'release: a macOS executable with %s has a valid signature after signing',
  (_, signedBytes, signatureBytes) => {
    const unsound = executable(signedBytes, signatureBytes)
    expect(signatureFault(unsound)).toBe('there is no signature')
    const file = signed(unsound, 'anteroom')
    expect(signatureFault(file)).toBeNull()
    // Signing may change only three sizes: both sizes of the last segment, and the size of the signature.
    const before = Buffer.from(unsound.subarray(0, signedBytes))
    const after = Buffer.from(file.subarray(0, signedBytes))
    expect(after.readBigUInt64LE(at.last + 48)).toBe(BigInt(100 + file.length - signedBytes))
    for (const code of [before, after]) {
      for (const [from, to] of [
        [at.last + 32, at.last + 40],
        [at.last + 48, at.last + 56],
        [at.signature + 12, at.signature + 16],
      ]) {
        code.fill(0, from, to)
      }
    }
    expect(after.equals(before)).toBe(true)
    expect(signed(file, 'anteroom').equals(file)).toBe(true)
  },
)

test('release: a macOS executable with a changed or an added byte has no valid signature', () => {
  const file = signed(executable(10_000, 64), 'anteroom')
  const changed = Buffer.from(file)
  changed[9_999] = 8
  expect(signatureFault(changed)).toBe('a page does not match its hash')
  expect(signatureFault(Buffer.concat([file, Buffer.alloc(1)]))).toBe(
    'the signature is not at the end of the file',
  )
  const shorter = Buffer.from(file)
  shorter.writeUInt32BE(9_000, 10_000 + 20 + 32)
  expect(signatureFault(shorter)).toBe('the signature covers another length')
  expect(() => signatureFault(Buffer.alloc(64))).toThrow('not a 64-bit macOS executable')
})
