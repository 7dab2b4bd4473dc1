import { describe, expect, test } from 'bun:test'
import { chownSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createMasterKey, readMasterKey } from '../../src/vault/master-key-file'
import { Folder } from '../support/folder'

describe('a master key file', () => {
  test('holds the key in base64 on one line, for its owner alone', () => {
    using folder = new Folder()
    const path = folder.file('key')
    const mask = process.umask(0)
    try {
      const key = createMasterKey(path)
      expect(readFileSync(path, 'utf8')).toBe(`${Buffer.from(key).toString('base64')}\n`)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      expect(Buffer.from(readMasterKey(path)).equals(key)).toBe(true)
    } finally {
      process.umask(mask)
    }
  })

  test('is never written over', () => {
    using folder = new Folder()
    const path = folder.file('key')
    writeFileSync(path, 'something else', { mode: 0o600 })
    expect(() => createMasterKey(path)).toThrow('the master key must be')
    expect(readFileSync(path, 'utf8')).toBe('something else')
  })

  test.if(process.getuid?.() === 0)(
    "is refused to root where it is another user's, but not for a database of theirs",
    () => {
      using folder = new Folder()
      const path = folder.file('key')
      const key = createMasterKey(path)
      chownSync(path, 12_345, 12_345)
      const refusal = `the master key file ${path} belongs to another user: make it yours, and chmod 600 ${path}`
      for (const owner of [undefined, 12_346]) expect(() => readMasterKey(path, owner)).toThrow(refusal)
      expect(Buffer.from(readMasterKey(path, 12_345)).equals(key)).toBe(true)
    },
  )

  test.each([
    ['nothing', ''],
    ['too short a key', Buffer.alloc(31, 7).toString('base64')],
    ['too long a key', Buffer.alloc(33, 7).toString('base64')],
    ['a text', 'canary-correct-horse-battery-staple'],
    // Decoders skip what is not base64, and make a key of the rest.
    ['a text from which a key could be made', `${'canary!'.repeat(7)}A`],
    ['a key and something after it', `${Buffer.alloc(32, 7).toString('base64')} canary`],
  ])('that holds %s is refused without telling what it holds', (_, content) => {
    using folder = new Folder()
    const path = folder.file('key')
    writeFileSync(path, content, { mode: 0o600 })
    let said = ''
    try {
      readMasterKey(path)
    } catch (error) {
      said = String(error)
    }
    expect(said).toBe('Refusal: the master key must be 32 bytes in base64')
  })
})
