import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { builtInDirectory, withGenerated } from '../../src/directory-files/sandbox'
import { booking } from '../support/builders'
import { isLong } from '../support/long'
import { Operator } from '../support/operator'
import { eventually, type Folder, Program, runProgram, withFileSizeLimit } from '../support/process'
import { killInside } from './kill-inside'

setDefaultTimeout(isLong ? 600_000 : 300_000)

let operator = undefined as unknown as Operator
beforeEach(() => {
  operator = new Operator()
})
afterEach(() => operator[Symbol.dispose]())

const namesIn = (folder: Folder) => readdirSync(folder.path).sort()

describe('faults: a killed init', () => {
  test('an init killed at a random moment leaves a complete database, or leaves none and can be run again', async () => {
    await killInside(operator, 'init', {
      ready() {
        for (const name of namesIn(operator.folder)) rmSync(operator.folder.file(name), { recursive: true })
        return ['init']
      },
      async check() {
        const isMade = existsSync(operator.database)
        if (isMade) expect(existsSync(`${operator.database}.key`)).toBe(true)
        else await operator.do('init')
        expect(await operator.do('organization', 'list')).toContain('There are no organizations')
        return isMade ? 'new' : 'old'
      },
    })
  })

  test('if init is killed between creating the key file and the database file, the next init creates the database', async () => {
    await operator.do('init')
    const { database } = operator
    const aside = `${database}.unfinished-0a1b2c3d`
    mkdirSync(aside)
    linkSync(`${database}.key`, `${aside}/key`)
    renameSync(database, `${aside}/whole`)
    expect(namesIn(operator.folder)).toEqual(['anteroom.sqlite.key', 'anteroom.sqlite.unfinished-0a1b2c3d'])
    expect(await operator.do('init')).toStartWith(`Created the database ${database}.`)
    expect(namesIn(operator.folder)).toEqual(['anteroom.sqlite', 'anteroom.sqlite.key'])
    await operator.do('organization', 'add', 'North Care')
  })

  test('init does not use an existing key file of another database', async () => {
    writeFileSync(`${operator.database}.key`, `${Buffer.alloc(32, 7).toString('base64')}\n`)
    mkdirSync(`${operator.database}.unfinished-0a1b2c3d`)
    writeFileSync(`${operator.database}.unfinished-0a1b2c3d/key`, 'another')
    const { code, stderr } = await operator.run(['init'])
    expect([code, stderr]).toEqual([
      6,
      'error: a file already exists at the master key path\nTry: choose another path\n',
    ])
  })
})

test('faults: two concurrent inits create one database, which the one key file opens', async () => {
  for (let round = 0; round < 3; round++) {
    for (const name of namesIn(operator.folder)) rmSync(operator.folder.file(name), { recursive: true })
    await Promise.all([operator.run(['init']), operator.run(['init'])])
    expect(namesIn(operator.folder)).toEqual(['anteroom.sqlite', 'anteroom.sqlite.key'])
    await operator.do('organization', 'list')
  }
})

describe('faults: an interrupted backup', () => {
  beforeEach(async () => {
    await operator.do('init')
    const large = withGenerated(builtInDirectory(Math.floor(Date.now() / 86_400_000)), 1_000)
    await operator.loadDirectory(large)
  })

  const backups = () => namesIn(operator.folder).filter((name) => name.startsWith('backup'))

  test('a backup ended by a signal leaves no file', async () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      await using program = new Program(['backup', operator.folder.file('backup.sqlite')], {
        cwd: operator.folder.path,
        env: { ANTEROOM_DATABASE: operator.database },
      })
      await eventually('the backup to begin', () => backups().length > 0 || !program.isRunning)
      program.signal(signal)
      expect((await program.exit()).signal).toBe(signal)
      expect(namesIn(operator.folder).filter((name) => name.includes('unfinished'))).toEqual([])
    }
  })

  test('during a backup the unencrypted copy is next to the database, and only its owner can read it', async () => {
    const away = operator.folder.file('away')
    mkdirSync(away)
    await using program = new Program(['backup', `${away}/backup.age`], {
      cwd: operator.folder.path,
      env: { ANTEROOM_DATABASE: operator.database },
    })
    // A listed file may have been renamed before it is read.
    const isReadable = (path: string) => existsSync(path) && readFileSync(path).includes('SQLite format 3')
    const copy = () => namesIn(operator.folder).find((name) => name.startsWith('anteroom.sqlite.copy.'))
    await eventually('the copy to appear', () => copy() !== undefined || !program.isRunning)
    expect(statSync(operator.folder.file(copy() as string)).mode & 0o777).toBe(0o600)
    while (program.isRunning) {
      for (const name of readdirSync(away)) expect(isReadable(`${away}/${name}`)).toBe(false)
      await Bun.sleep(2)
    }
    expect((await program.exit()).code).toBe(0)
    expect(readdirSync(away)).toEqual(['backup.age'])
    expect(copy()).toBeUndefined()
  })

  test('a backup without enough disk space fails with an error, leaves no file and adds no audit line', async () => {
    const { code, stderr, stdout } = await runProgram(['backup', operator.folder.file('backup.sqlite')], {
      command: withFileSizeLimit(300),
      cwd: operator.folder.path,
      env: { ANTEROOM_DATABASE: operator.database },
    })
    expect([code, stdout]).toEqual([6, ''])
    const place = `${operator.database}.copy`
    expect(stderr).toBe(`error: no sound copy could be made at ${place}\nTry: check the free disk space\n`)
    expect(backups()).toEqual([])
    expect(await operator.do('audit', 'list')).not.toContain('database.back-up')
  })
})

test('faults: a backup leaves no file under its name if a lock prevents the audit line', async () => {
  await operator.do('init')
  const backup = operator.folder.file('backup.sqlite')
  using other = new Database(operator.database)
  other.run('BEGIN IMMEDIATE')
  const busy = await operator.run(['backup', backup])
  expect([busy.code, busy.stderr]).toEqual([7, 'error: the service is busy\nTry: the same command again\n'])
  expect(namesIn(operator.folder).filter((name) => name.startsWith('backup'))).toEqual([])
  other.run('COMMIT')
  expect(await operator.do('backup', backup)).toContain('Created the backup')
  expect(await operator.do('audit', 'list')).toContain('database.back-up')
})

describe('faults: an erasure that was killed after its commit', () => {
  const engineModule = new URL('../../db/sqlite/engine.ts', import.meta.url).pathname
  const membersModule = new URL('../../src/operations/members.ts', import.meta.url).pathname
  const vaultModule = new URL('../../src/vault/vault.ts', import.meta.url).pathname
  const sealedOf = (id: number) => {
    using database = new Database(operator.database, { readonly: true })
    const select = 'SELECT sealed_profile AS sealed FROM members WHERE id = ?'
    return database.query<{ sealed: Uint8Array }, [number]>(select).get(id)?.sealed as Uint8Array
  }
  const tracesOf = (sealed: Uint8Array) =>
    namesIn(operator.folder).filter((name) => readFileSync(operator.folder.file(name)).includes(sealed))

  beforeEach(async () => {
    await operator.do('init')
    const token = await operator.onboard('Lantern', 'North Care')
    await using service = await operator.serve()
    for (const name of ['canary-leaver', 'stays']) {
      expect((await service.post(booking(name), token)).status).toBe(201)
    }
    await service.stop()
  })

  test('running a killed erasure again removes all traces of the member, and can be repeated', async () => {
    const masterKey = readFileSync(`${operator.database}.key`, 'utf8').trim()
    const [leaver, stays] = [sealedOf(1), sealedOf(2)]
    const killed = Bun.spawnSync([
      process.execPath,
      '-e',
      `const { openEngine } = await import(${JSON.stringify(engineModule)})
       const { storeErasure } = await import(${JSON.stringify(membersModule)})
       const { masterKeyOf } = await import(${JSON.stringify(vaultModule)})
       const masterKey = masterKeyOf(Buffer.from(${JSON.stringify(masterKey)}, 'base64'))
       const { store } = openEngine({ path: ${JSON.stringify(operator.database)}, purpose: 'production', masterKey,
         create: false, upgrade: false })
       const act = { actor: 'olive', at: 0 }
       await storeErasure({ store }, 1, act)
       process.kill(process.pid, 'SIGKILL')
       await new Promise(() => {})`,
    ])
    expect(killed.signalCode).toBe('SIGKILL')
    expect(tracesOf(leaver).length).toBeGreaterThan(0)
    for (let again = 0; again < 2; again++) {
      const { code, stdout } = await operator.run(['member', 'erase', '1', '--yes'])
      expect([code, stdout]).toEqual([
        0,
        'Member 1 was already erased. Earlier backups still contain the erased data until they are deleted.\n',
      ])
      expect(tracesOf(leaver)).toEqual([])
    }
    expect(tracesOf(stays)).toEqual(['anteroom.sqlite'])
  })

  test('erasing an unknown member id is refused', async () => {
    const { code, stderr } = await operator.run(['member', 'erase', '99', '--yes'])
    expect([code, stderr]).toEqual([3, 'error: there is no member with that id\n'])
  })
})
