import { describe, expect, test } from 'bun:test'
import { chownSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createMasterKey, readMasterKey } from '../../src/vault/master-key-file'
import { Folder } from '../support/folder'

describe('vault: a master key file', () => {
  test('a key file contains one line of base64 and is readable only by its owner', () => {
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

  test('a key file is never overwritten', () => {
    using folder = new Folder()
    const path = folder.file('key')
    writeFileSync(path, 'something else', { mode: 0o600 })
    expect(() => createMasterKey(path)).toThrow('the master key must be')
    expect(readFileSync(path, 'utf8')).toBe('something else')
  })

  test.if(process.getuid?.() === 0)(
    'root may use the key file of another user only if that user owns the database',
    () => {
      using folder = new Folder()
      const path = folder.file('key')
      const key = createMasterKey(path)
      chownSync(path, 12_345, 12_345)
      const refusal = `the master key file ${path} belongs to another user; change its owner, then run chmod 600 ${path}`
      for (const owner of [undefined, 12_346]) expect(() => readMasterKey(path, owner)).toThrow(refusal)
      expect(Buffer.from(readMasterKey(path, 12_345)).equals(key)).toBe(true)
    },
  )

  test.each([
    ['no text', ''],
    ['a key that is too short', Buffer.alloc(31, 7).toString('base64')],
    ['a key that is too long', Buffer.alloc(33, 7).toString('base64')],
    ['a text that is not base64', 'canary-correct-horse-battery-staple'],
    // A lenient decoder would skip the `!` and decode the rest to a key.
    ['a text that a lenient decoder would turn into a key', `${'canary!'.repeat(7)}A`],
    ['a key and more text', `${Buffer.alloc(32, 7).toString('base64')} canary`],
  ])('a key file with %s is rejected without showing its content', (_, content) => {
    using folder = new Folder()
    const path = folder.file('key')
    writeFileSync(path, content, { mode: 0o600 })
    let errorText = ''
    try {
      readMasterKey(path)
    } catch (error) {
      errorText = String(error)
    }
    expect(errorText).toBe('Refusal: the master key must be 32 bytes in base64')
  })
})
