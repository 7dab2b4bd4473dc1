import { afterAll, describe, expect, spyOn, test } from 'bun:test'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { Encrypter, generateIdentity, identityToRecipient } from 'age-encryption'
import { openBackup, protectBackup } from '../../src/vault/backup'
import { Folder } from '../support/folder'
import '../support/quick-passphrases'

const folder = new Folder()
afterAll(() => folder[Symbol.dispose]())

const file = (name: string) => folder.file(name)
const masterKey = Buffer.alloc(32, 7)
const other = Buffer.alloc(32, 8)
const content = Buffer.concat([
  Buffer.from('canary-'.repeat(50_000)),
  crypto.getRandomValues(Buffer.alloc(200_000)),
])
writeFileSync(file('plain'), content)

const alone = { recipients: [] }
function secret(name: string, text: string): string {
  writeFileSync(file(name), text, { mode: 0o600 })
  return file(name)
}
const refusalOf = (work: Promise<unknown>) => work.then(String, ({ kind, message }) => `${kind}: ${message}`)
const opened = async (name: string, keys: Partial<Parameters<typeof openBackup>[2]> = {}) => {
  await openBackup(file(name), file('opened'), { masterKey, ...keys })
  return readFileSync(file('opened')).equals(content)
}

describe('vault: an encrypted backup', () => {
  test('a backup is an age file that another master key cannot open', async () => {
    const protect = await protectBackup(masterKey, alone)
    await protect(file('plain'), file('sealed'))
    const sealed = readFileSync(file('sealed'))
    expect(sealed.toString('latin1')).toStartWith('age-encryption.org/v1\n-> X25519 ')
    expect(sealed.includes('canary-')).toBe(false)
    expect(await opened('sealed')).toBe(true)
    expect(await refusalOf(opened('sealed', { masterKey: other }))).toBe(
      'database_unusable: the master key does not decrypt the backup; use the master key from the time of the backup',
    )
    await protect(file('plain'), file('again'))
    expect(readFileSync(file('again')).equals(sealed)).toBe(false)
  })

  test.each([
    ['no bytes', Buffer.alloc(0)],
    ['one chunk', Buffer.alloc(65_536, 1)],
    ['one chunk and a byte', Buffer.alloc(65_537, 1)],
    ['many chunks', Buffer.alloc(655_360, 1)],
  ])('a backup of %s is decrypted unchanged', async (_, bytes) => {
    writeFileSync(file('in'), bytes)
    await (await protectBackup(masterKey, alone))(file('in'), file('sized'))
    await openBackup(file('sized'), file('out'), { masterKey })
    expect(readFileSync(file('out')).equals(bytes)).toBe(true)
  })

  test('a backup opens with the identity of each recipient, and with the master key', async () => {
    const [mine, stranger] = [await generateIdentity(), await generateIdentity()]
    const recipients = [await identityToRecipient(mine)]
    await (await protectBackup(masterKey, { recipients }))(file('plain'), file('shared'))
    expect(await opened('shared')).toBe(true)
    const identityFile = secret('identity', `# a comment\n\n${mine}\n`)
    expect(await opened('shared', { masterKey: other, identityFile })).toBe(true)
    const strangers = secret('stranger', `${stranger}\n`)
    expect(await refusalOf(opened('shared', { identityFile: strangers }))).toBe(
      'database_unusable: no identity in the file decrypts the backup',
    )
    const nothing = secret('nothing', '# none\n')
    expect(await refusalOf(opened('shared', { identityFile: nothing }))).toBe(
      'database_unusable: the identity file contains no identity',
    )
    const text = secret('text', 'canary\n')
    expect(await refusalOf(opened('shared', { identityFile: text }))).toBe(
      'database_unusable: the identity file may contain only age identities (AGE-SECRET-KEY-1…)',
    )
  })

  test('a backup with a passphrase does not open with the master key', async () => {
    const passphraseFile = secret('passphrase', 'canary correct horse\nanother line\n')
    await (await protectBackup(masterKey, { ...alone, passphraseFile }))(file('plain'), file('phrased'))
    expect(await opened('phrased', { passphraseFile })).toBe(true)
    expect(await refusalOf(opened('phrased'))).toBe(
      'database_unusable: the backup needs a passphrase; pass it in a file with --passphrase-file',
    )
    const unopened = 'database_unusable: the passphrase does not decrypt the backup'
    const wrong = secret('wrong', 'canary correct house\n')
    expect(await refusalOf(opened('phrased', { passphraseFile: wrong }))).toBe(unopened)
    // If a passphrase is given, the master key is not tried.
    await (await protectBackup(masterKey, alone))(file('plain'), file('unphrased'))
    expect(await refusalOf(opened('unphrased', { passphraseFile }))).toBe(unopened)
    expect(
      await refusalOf(protectBackup(masterKey, { ...alone, passphraseFile: secret('empty', '\n') })),
    ).toBe('database_unusable: the passphrase file is empty')
    writeFileSync(file('open'), 'canary', { mode: 0o644 })
    expect(await refusalOf(protectBackup(masterKey, { ...alone, passphraseFile: file('open') }))).toBe(
      `database_unusable: other users can access the passphrase file ${file('open')}; run chmod 600 ${file('open')}`,
    )
  })

  test.each(['age1qqqq', 'canary', 'AGE-SECRET-KEY-1CANARY', ''])(
    'the invalid recipient %p is refused with an error that does not show the recipient',
    async (recipient) => {
      expect(await refusalOf(protectBackup(masterKey, { recipients: [recipient] }))).toBe(
        'field_invalid: --recipient: must be an age recipient (age1…)',
      )
    },
  )

  test('a changed or truncated backup is rejected', async () => {
    await (await protectBackup(masterKey, alone))(file('plain'), file('whole'))
    const whole = readFileSync(file('whole'))
    const damaged = 'database_unusable: the backup is damaged; use another backup'
    for (const at of [30, 100, 150, 200, 300, 70_000, 400_000, whole.length - 1]) {
      const bytes = Buffer.from(whole)
      bytes[at] = (bytes[at] ?? 0) ^ 1
      writeFileSync(file('changed'), bytes)
      expect(await refusalOf(opened('changed')), `byte ${at}`).toMatch(
        /^database_unusable: the (backup is damaged|master key does not decrypt)/,
      )
    }
    for (const length of [22, 100, 180, 70_000, whole.length - 1]) {
      writeFileSync(file('cut'), whole)
      truncateSync(file('cut'), length)
      expect(await refusalOf(opened('cut')), `${length} bytes`).toBe(damaged)
    }
    for (const bytes of [Buffer.alloc(0), Buffer.from('canary'), content]) {
      writeFileSync(file('stranger'), bytes)
      expect(await refusalOf(opened('stranger'))).toBe('database_unusable: the file is not a backup')
    }
  })

  test('a backup fails if the decrypted copy differs from the original', async () => {
    const protect = await protectBackup(masterKey, alone)
    await protect(file('plain'), file('sound'))
    const bytes = readFileSync(file('sound'))
    for (const lost of [bytes.subarray(0, -1), bytes.subarray(0, 65_536), Buffer.alloc(0)]) {
      const bad = spyOn(Encrypter.prototype, 'encrypt').mockImplementation((async (
        stream: ReadableStream<Uint8Array>,
      ) => {
        for await (const _ of stream);
        return new Blob([lost]).stream()
      }) as never)
      expect(await refusalOf(protect(file('plain'), file('unsound')))).toBe(
        'database_unusable: the new backup cannot be decrypted; check the disk, then make a new backup',
      )
      bad.mockRestore()
    }
  })
})
