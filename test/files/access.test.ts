import { expect, test } from 'bun:test'
import { chmodSync, chownSync, writeFileSync } from 'node:fs'
import { isFolderWritable, whyNoAccess } from '../../src/files/access'
import { Folder } from '../support/folder'

const isRoot = process.geteuid?.() === 0

test('a file that may not be used is told with its mode', () => {
  using folder = new Folder()
  writeFileSync(folder.file('own'), '')
  chmodSync(folder.file('own'), 0o400)
  expect(whyNoAccess(folder.file('own'))).toBe('its mode is 400, and 600 is needed')
})

test('one whose folder is at fault is told so', () => {
  using folder = new Folder()
  writeFileSync(folder.file('own'), '', { mode: 0o600 })
  expect(whyNoAccess(folder.file('own'))).toBe('nothing may be written in its folder')
  expect(whyNoAccess(folder.file('own/below'))).toBe('a folder on the way to it may not be entered')
})

test.skipIf(!isRoot)("another user's is told with both users", () => {
  using folder = new Folder()
  writeFileSync(folder.file('theirs'), '')
  chownSync(folder.file('theirs'), 65534, 65534)
  expect(whyNoAccess(folder.file('theirs'))).toBe(
    'it belongs to user 65534, and this command was given by user 0',
  )
})

test('beside a file something can be made, or not', () => {
  using folder = new Folder()
  expect(isFolderWritable(folder.file('any'))).toBe(true)
  expect(isFolderWritable(folder.file('nosuch/any'))).toBe(false)
})
