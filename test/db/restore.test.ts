import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { fileDatabase } from '../../db/sqlite/database'
import { masterKeyOf } from '../../src/vault/vault'
import { Folder } from '../support/folder'
import { openTestDatabase, testKey } from './place'

test('db: restoring a database file fails if some changes are only in the write-ahead log', async () => {
  using folder = new Folder()
  const [backup, path] = [folder.file('backup.sqlite'), folder.file('restored.sqlite')]
  using database = openTestDatabase(backup)
  database.run("INSERT INTO organizations (name, active, created_at) VALUES ('North Care', 1, 0)")
  const decrypt = () => Promise.reject(new Error('it is not encrypted'))
  const restoring = { backup, purpose: 'sandbox', takeKey: () => masterKeyOf(testKey), decrypt } as const
  await expect(fileDatabase(path).restore(restoring, () => {})).rejects.toThrow(
    `${backup}-wal contains data that the file lacks; make a backup of the database with anteroom backup`,
  )
  expect(existsSync(path)).toBe(false)
})
