import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { openEngine } from '../../db/sqlite/engine'
import type { MasterKey, SealedCell } from '../../src/domain/ports/vault'
import { masterKeyOf } from '../../src/vault/vault'
import { withActs } from '../support/acts'
import { Folder } from '../support/folder'
import { act, type Connection, fill, stored } from './furniture'
import { testKey } from './place'

/** A master key that calls `opened` for each value that is decrypted with the data key. */
function watched(opened: (place: SealedCell) => void): MasterKey {
  const masterKey = masterKeyOf(testKey)
  return {
    ...masterKey,
    vaultOf(dataKey) {
      const vault = masterKey.vaultOf(dataKey)
      return {
        ...vault,
        open(sealed, place) {
          opened(place)
          return vault.open(sealed, place)
        },
      }
    },
  }
}

const requestCount = 20

async function openedFor(
  work: (engine: Connection, memberId: number) => Promise<unknown>,
  onOpen: (path: string) => void = () => {},
): Promise<string[]> {
  using folder = new Folder()
  const path = folder.file('a.sqlite')
  const opened: string[] = []
  const masterKey = watched(({ table }) => {
    opened.push(table)
    onOpen(path)
  })
  const bare = openEngine({ path, purpose: 'sandbox', masterKey, create: true, upgrade: false })
  const engine = { ...bare, store: withActs(bare) }
  try {
    const { intake } = await fill(engine)
    let id = 0
    for (let count = 0; count < requestCount; count++) ({ id } = (await stored(intake('robin'))).member)
    opened.length = 0
    await work(engine, id)
    return opened
  } finally {
    await engine.close()
  }
}

test('db: erasing a member with many requests decrypts the member a fixed number of times', async () => {
  const opened = await openedFor(({ store }, id) => store.eraseMember(id, act))
  expect(opened).toEqual(['members', 'members'])
})

test('db: exporting a member with many requests decrypts the member a fixed number of times', async () => {
  const opened = await openedFor(({ store }, id) => store.exportMember(id, act))
  expect(opened.filter((table) => table === 'members').length).toBe(4)
  expect(opened.filter((table) => table === 'booking_requests').length).toBe(2 * requestCount)
})

test('db: other processes can write while an export decrypts screening answers', async () => {
  let isWatching = false
  await openedFor(
    async ({ store }, id) => {
      isWatching = true
      expect((await store.exportMember(id, act)).requests.length).toBe(requestCount)
      isWatching = false
    },
    (path) => {
      if (!isWatching) return
      isWatching = false
      using other = new Database(path)
      other.run('BEGIN IMMEDIATE')
      other.run('ROLLBACK')
    },
  )
})
