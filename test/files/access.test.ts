import { expect, test } from 'bun:test'
import { chmodSync, chownSync, writeFileSync } from 'node:fs'
import { isFolderWritable, whyNoAccess } from '../../src/files/access'
import { Folder } from '../support/folder'

const isRoot = process.geteuid?.() === 0

test('files: a file with the wrong mode is reported with its mode and the required mode', () => {
  using folder = new Folder()
  writeFileSync(folder.file('own'), '')
  chmodSync(folder.file('own'), 0o400)
  expect(whyNoAccess(folder.file('own'))).toBe('its mode is 400, but 600 is required')
})

test('files: if a folder prevents access to a file, the error names the folder as the cause', () => {
  using folder = new Folder()
  writeFileSync(folder.file('own'), '', { mode: 0o600 })
  expect(whyNoAccess(folder.file('own'))).toBe('its folder is not writable')
  expect(whyNoAccess(folder.file('own/below'))).toBe('a folder in its path cannot be entered')
})

test.skipIf(!isRoot)('files: a file of another user is reported with the ids of both users', () => {
  using folder = new Folder()
  writeFileSync(folder.file('theirs'), '')
  chownSync(folder.file('theirs'), 65534, 65534)
  expect(whyNoAccess(folder.file('theirs'))).toBe('it belongs to user 65534, but this command runs as user 0')
})

test('files: a folder is writable if a file can be created there, and a missing folder is not writable', () => {
  using folder = new Folder()
  expect(isFolderWritable(folder.file('any'))).toBe(true)
  expect(isFolderWritable(folder.file('nosuch/any'))).toBe(false)
})
