import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { booking } from '../support/builders'
import { Operator, type Served } from '../support/operator'
import { ask, faultsIn } from './database'

setDefaultTimeout(300_000)

const operator = new Operator()
const path = operator.database
const backups: { name: string; requests: number; isOpened: boolean }[] = []
let killed = { requests: 0 }

/** Submits the intakes with the numbers `from` to `to - 1`. */
async function bookUpTo(service: Served, token: string, from: number, to: number): Promise<void> {
  for (let index = from; index < to; index++) {
    expect((await service.post(booking(`m-${index}`), token)).status).toBe(201)
  }
}

// Makes several backups and opens some of them. Then kills the server while its log is not empty.
beforeAll(async () => {
  await operator.do('init')
  const token = await operator.onboard('Lantern', 'North Care')
  const backUp = async (requests: number) => {
    const name = `backup-${requests}.sqlite`
    await operator.do('backup', operator.folder.file(name), '--plain')
    backups.push({ name, requests, isOpened: false })
    copyFileSync(operator.folder.file(name), operator.folder.file(`opened-${name}`))
    copyFileSync(`${path}.key`, `${operator.folder.file(`opened-${name}`)}.key`)
    await operator.do('organization', 'list', '--database', operator.folder.file(`opened-${name}`))
    backups.push({ name: `opened-${name}`, requests, isOpened: true })
  }
  await backUp(0)
  // A copy of a stopped database.
  copyFileSync(path, operator.folder.file('stopped.sqlite'))
  backups.push({ name: 'stopped.sqlite', requests: 0, isOpened: true })
  await using service = await operator.serve()
  for (let booked = 0; booked < 50; booked += 25) {
    await bookUpTo(service, token, booked, booked + 25)
    await backUp(booked + 25)
  }
  await bookUpTo(service, token, 50, 60)
  service.signal('SIGKILL')
  await service.exit()
  killed = { requests: 60 }
  mkdirSync(operator.folder.file('killed'))
  for (const end of ['', '-wal', '-shm'])
    copyFileSync(`${path}${end}`, join(operator.folder.path, 'killed', `db${end}`))
})

afterAll(() => operator[Symbol.dispose]())

/** Restores the files as they were after the kill. */
function reset(): void {
  for (const end of ['', '-wal', '-shm']) {
    rmSync(`${path}${end}`, { force: true })
    copyFileSync(join(operator.folder.path, 'killed', `db${end}`), `${path}${end}`)
  }
}

describe('faults: a database whose server was killed', () => {
  test('after a kill all bookings are recovered from the log', async () => {
    reset()
    expect(JSON.parse(await operator.do('request', 'list', '--limit', '10000', '--json'))).toHaveLength(
      killed.requests,
    )
    expect(faultsIn(path)).toEqual([])
  })

  test('after a kill and a partial checkpoint all bookings are recovered from the log', async () => {
    reset()
    const [reader, other] = [new Database(path), new Database(path)]
    reader.run('BEGIN')
    reader.query('SELECT count(*) FROM members').get()
    other.run("INSERT INTO organizations VALUES (9, 'Late', 1, 0)")
    other.run('PRAGMA wal_checkpoint(PASSIVE)')
    expect(JSON.parse(await operator.do('request', 'list', '--limit', '10000', '--json'))).toHaveLength(
      killed.requests,
    )
    reader.run('ROLLBACK')
    for (const database of [reader, other]) database.close()
  })
})

test('faults: restore refuses a killed database whose log has newer bookings than the file', async () => {
  reset()
  const target = operator.folder.file('restored.sqlite')
  const words = ['restore', path, '--to', target, '--yes', '--master-key-file', `${path}.key`]
  const { code, stdout, stderr } = await operator.run(words)
  expect([code, stdout]).toEqual([6, ''])
  expect(stderr).toBe(
    `error: ${path}-wal contains data that the file lacks\nTry: make a backup of the database with anteroom backup\n`,
  )
  expect(existsSync(target)).toBe(false)
})

describe('faults: a backup copied over a database whose server was killed', () => {
  const nth = Array.from({ length: 7 }, (_, index) => index)

  test.each(nth)(
    'a backup next to a foreign log is refused until the log is moved away (backup %i)',
    async (index) => {
      const { name, requests } = backups[index] as (typeof backups)[number]
      const backup = operator.folder.file(name)
      const before = readFileSync(backup)
      reset()
      copyFileSync(backup, path)
      for (const args of [['request', 'list'], ['doctor']]) {
        const refused = await operator.run(args)
        expect([refused.code, refused.stdout]).toEqual([6, ''])
        expect(refused.stderr).toBe(
          `error: ${path}-wal belongs to another database, for example because a backup was copied over a running database\n` +
            `Try: move ${path}-wal and ${path}-shm away, then start again\n`,
        )
      }
      expect(readFileSync(path).equals(before)).toBe(true)
      for (const end of ['-wal', '-shm']) {
        if (existsSync(`${path}${end}`)) renameSync(`${path}${end}`, operator.folder.file(`moved${end}`))
      }
      expect(JSON.parse(await operator.do('request', 'list', '--limit', '10000', '--json'))).toHaveLength(
        requests,
      )
      expect(faultsIn(path)).toEqual([])
      expect(readFileSync(backup).equals(before)).toBe(true)
    },
  )

  test('a backup without a log next to it is complete at once', async () => {
    reset()
    for (const end of ['-wal', '-shm']) rmSync(`${path}${end}`)
    copyFileSync(operator.folder.file('backup-25.sqlite'), path)
    expect(JSON.parse(await operator.do('request', 'list', '--limit', '10000', '--json'))).toHaveLength(25)
    expect(ask(path, 'SELECT count(*) FROM booking_requests')).toBe(25)
  })
})
