import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { Reader } from '../../db/sqlite/reader'
import { Folder } from '../support/folder'

let folder: Folder
let ours: Database
let other: Database
let reader: Reader

beforeEach(() => {
  folder = new Folder()
  const path = folder.file('a.sqlite')
  ours = new Database(path)
  other = new Database(path)
  ours.run('PRAGMA journal_mode = WAL')
  ours.run('CREATE TABLE t (n INTEGER)')
  reader = new Reader(ours)
})

afterEach(() => {
  ours.close()
  other.close()
  folder[Symbol.dispose]()
})

const count = () => ours.query('SELECT count(*) FROM t').values()[0]?.[0]
const add = () => other.run('INSERT INTO t VALUES (1)')

test('reads of one turn are of one moment, which is after the last of them was asked for', async () => {
  add()
  const first = reader.read(() => {
    const found = count()
    add()
    return found
  })
  add()
  const second = reader.read(count)
  add()
  expect(await Promise.all([first, second])).toEqual([3, 3])
  expect(await reader.read(count)).toBe(4)
})

test('one that fails is refused with what it threw, and the others are answered', async () => {
  const fault = new Error('not readable')
  const fail = () => {
    throw fault
  }
  const answers = await Promise.allSettled([reader.read(count), reader.read(fail), reader.read(count)])
  expect(answers).toEqual([
    { status: 'fulfilled', value: 0 },
    { status: 'rejected', reason: fault },
    { status: 'fulfilled', value: 0 },
  ])
  expect(ours.inTransaction).toBe(false)
})

test('where no transaction can begin, all are refused', async () => {
  const closed = new Database(':memory:')
  const ofClosed = new Reader(closed)
  closed.close()
  const answers = await Promise.allSettled([ofClosed.read(() => 1), ofClosed.read(() => 2)])
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
