import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { booking } from '../support/builders'
import { isLong, times } from '../support/long'
import { Operator } from '../support/operator'
import { theProgram } from '../support/process'

setDefaultTimeout(isLong ? 600_000 : 300_000)

let operator = undefined as unknown as Operator
let key = ''
let [old, next] = ['', '']
beforeEach(async () => {
  operator = new Operator()
  key = `${operator.database}.key`
  old = operator.folder.file('old.key')
  next = `${key}.next`
  await operator.do('init')
  await operator.do('organization', 'add', 'North Care')
  copyFileSync(key, old)
  chmodSync(old, 0o600)
})
afterEach(() => operator[Symbol.dispose]())

const rotate = ['key', 'rotate', '--yes']
const otherKey = 'error: the master key does not fit this database\nTry: use its current master key\n'
const listWith = (file: string) => operator.run(['organization', 'list', '--master-key-file', file])
const contentOf = (file: string) => readFileSync(file, 'utf8')

/** The data key as stored, encrypted with the master key. */
function wrapping(): Uint8Array {
  using database = new Database(operator.database)
  const select = database.query<{ value: Uint8Array }, []>(
    "SELECT value FROM settings WHERE name = 'data_key'",
  )
  return select.get()?.value as Uint8Array
}

function holding(bytes: Uint8Array): string[] {
  const { path, file } = { path: operator.folder.path, file: (name: string) => operator.folder.file(name) }
  return readdirSync(path).filter((name) => readFileSync(file(name)).includes(Buffer.from(bytes)))
}

/** Checks that one rotation was completed: key file, database, audit log and no leftovers. */
async function isRotated(before: Uint8Array): Promise<void> {
  expect(contentOf(key)).not.toBe(contentOf(old))
  expect(await listWith(key)).toMatchObject({ code: 0, stderr: '' })
  expect(await listWith(old)).toMatchObject({ code: 6, stdout: '', stderr: otherKey })
  expect(statSync(key).mode & 0o777).toBe(0o600)
  expect(holding(before)).toEqual([])
  const lines = await operator.ask<{ action: string; outcome: string }[]>('audit', 'list')
  expect(lines.filter(({ action }) => action === 'key.rotate')).toMatchObject([{ outcome: 'done' }])
  expect((await operator.run(['audit', 'verify'])).code).toBe(0)
  expect(readdirSync(operator.folder.path).filter((name) => /next|unfinished/.test(name))).toEqual([])
}

describe('faults: a rotation of the master key', () => {
  test('after a key rotation the running server continues, the old key is refused, and no copy of the old data key is left', async () => {
    await operator.do('partner', 'add', 'Lantern', '--organization', 'North Care')
    const token = (await operator.do('token', 'issue', 'Lantern')).trim()
    const before = wrapping()
    expect(holding(before)).toEqual(['anteroom.sqlite'])
    await using service = await operator.serve()
    const book = async (name: string) => (await service.post(booking(name), token)).status
    const find = async (name: string) =>
      (await service.get(`/partners/v1/user/?external_user_id=${name}`, token)).status
    expect(await book('robin')).toBe(201)

    expect(await operator.do(...rotate)).toBe(
      `The new master key is in ${key}.\n` +
        'Running servers continue, but the next start needs the new key. Copy the new key to each machine that has the old key.\n' +
        'Existing backups need the old master key: keep a copy of the key as long as you keep the backups, or make a new backup now.\n',
    )
    expect([await find('robin'), await book('kim'), await find('kim')]).toEqual([200, 201, 200])
    await isRotated(before)
    expect((await service.stop()).code).toBe(0)

    await using again = await operator.serve()
    expect((await again.get('/partners/v1/user/?external_user_id=kim', token)).status).toBe(200)
    // A second server would be refused while the first one runs.
    await again.stop()
    const { code, stderr } = await operator.run([
      ...['serve', '--port', '0', '--base-url', 'https://x.example', '--master-key-file', old],
    ])
    expect([code, stderr]).toEqual([6, otherKey])
  })

  test('a key rotation asks for confirmation, and changes nothing without a confirmation', async () => {
    const before = wrapping()
    expect(await operator.run(['key', 'rotate'])).toMatchObject({ code: 2, stdout: '' })
    expect([contentOf(key), existsSync(next)]).toEqual([contentOf(old), false])
    expect(wrapping()).toEqual(before)
  })

  test('if the current key is not in a file, a rotation writes the new key to --new-key-file', async () => {
    const settings = { ANTEROOM_MASTER_KEY: contentOf(old).trim() }
    const unsetProfile = await operator.run(rotate, '', settings)
    expect([unsetProfile.code, unsetProfile.stderr]).toEqual([
      2,
      'error: --new-key-file: is required if the current master key is not in a file\n',
    ])
    const same = await operator.run([...rotate, '--new-key-file', old], '', settings)
    expect([same.code, same.stderr]).toEqual([2, 'error: --new-key-file: contains the current master key\n'])
    const place = operator.folder.file('new.key')
    const { code, stdout } = await operator.run([...rotate, '--new-key-file', place], '', settings)
    expect([code, stdout.split('\n').slice(0, 2)]).toEqual([
      0,
      [
        `The new master key is in ${place}.`,
        'Replace the old key file with the new file before the next start.',
      ],
    ])
    expect(contentOf(key)).toBe(contentOf(old))
    expect(await listWith(place)).toMatchObject({ code: 0 })
    expect(await listWith(old)).toMatchObject({ code: 6, stderr: otherKey })
  })

  test('after three concurrent key rotations the key file opens the database', async () => {
    for (let round = 0; round < times(2, 60); round++) {
      await Promise.all([operator.run(rotate), operator.run(rotate), operator.run(rotate)])
      expect(await listWith(key)).toMatchObject({ code: 0 })
    }
    expect(await operator.run(rotate)).toMatchObject({ code: 0 })
    expect(existsSync(next)).toBe(false)
  })

  test.if(process.getuid?.() === 0)('a key rotation by root keeps the owner of the key file', async () => {
    for (const file of [key, operator.database]) chownSync(file, 12_345, 12_345)
    // The key file left by a killed rotation belongs to the same user.
    copyFileSync(old, next)
    writeFileSync(next, `${Buffer.alloc(32, 9).toString('base64')}\n`)
    chownSync(next, 12_345, 12_345)
    await operator.do(...rotate)
    expect(contentOf(key)).toBe(`${Buffer.alloc(32, 9).toString('base64')}\n`)
    expect([statSync(key).uid, statSync(key).gid]).toEqual([12_345, 12_345])
  })

  const canMount = process.getuid?.() === 0 && Bun.spawnSync(['sh', '-c', 'unshare -m true']).exitCode === 0

  test.if(canMount)(
    'a key rotation changes nothing if the key file cannot be replaced because it is a mount point',
    async () => {
      const [before, place] = [wrapping(), operator.folder.file('mounted.key')]
      writeFileSync(place, '', { mode: 0o600 })
      const script = 'mount --bind "$1" "$2" && shift && exec "$0" key rotate --yes --master-key-file "$1"'
      const { exitCode, stdout, stderr } = Bun.spawnSync(
        ['unshare', '-m', 'sh', '-c', script, ...theProgram, old, place],
        { env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ANTEROOM_DATABASE: operator.database } },
      )
      expect([exitCode, stdout.toString(), stderr.toString()]).toEqual([
        6,
        '',
        `error: the key file ${place} cannot be replaced\nTry: use --new-key-file with another path\n`,
      ])
      expect(wrapping()).toEqual(before)
      expect(readdirSync(operator.folder.path).filter((name) => /next|unfinished/.test(name))).toEqual([])
    },
  )

  test('a key rotation that cannot write the new key changes nothing', async () => {
    const before = wrapping()
    const { code } = await operator.run([...rotate, '--new-key-file', operator.folder.file('no/such/place')])
    expect(code).toBe(1)
    expect(wrapping()).toEqual(before)
  })
})

test('faults: a .next file with a wrong key or without a key does not prevent a start', async () => {
  for (const left of ['canary', `${Buffer.alloc(32, 9).toString('base64')}\n`]) {
    writeFileSync(next, left, { mode: 0o600 })
    expect(await listWith(key)).toMatchObject({ code: 0, stderr: '' })
    expect([contentOf(key), contentOf(next)]).toEqual([contentOf(old), left])
  }
})

test('faults: a symbolic link at the path of the .next file is refused and never replaces the key file', async () => {
  for (const target of [key, old]) {
    symlinkSync(target, next)
    expect(await listWith(key)).toMatchObject({ code: 0, stderr: '' })
    const { code, stderr } = await operator.run(rotate)
    expect([code, stderr]).toEqual([
      6,
      `error: ${next} is not a key file\nTry: move it away, then rotate again\n`,
    ])
    expect([lstatSync(key).isFile(), contentOf(key)]).toEqual([true, contentOf(old)])
    rmSync(next)
  }
  expect(await operator.run(rotate)).toMatchObject({ code: 0 })
})

describe('faults: a killed key rotation', () => {
  const keyringModule = new URL('../../src/keyring.ts', import.meta.url).pathname
  const engineModule = new URL('../../db/sqlite/engine.ts', import.meta.url).pathname
  const placeModule = new URL('../../db/sqlite/database.ts', import.meta.url).pathname
  const vaultModule = new URL('../../src/vault/vault.ts', import.meta.url).pathname

  /** Rotates the key in a child process and kills it at a step. */
  function killedAt(step: 'made' | 'committed' | 'named'): void {
    const killed = Bun.spawnSync([
      process.execPath,
      '-e',
      `const { openKeyring } = await import(${JSON.stringify(keyringModule)})
       const { fileDatabase } = await import(${JSON.stringify(placeModule)})
       const { openEngine } = await import(${JSON.stringify(engineModule)})
       const { masterKeyOf } = await import(${JSON.stringify(vaultModule)})
       const [database, purpose] = [${JSON.stringify(operator.database)}, 'production']
       const source = { file: ${JSON.stringify(key)} }
       const place = fileDatabase(database)
       const { key, keyring } = await openKeyring({ source, place, purpose, create: false })
       const opening = { path: database, purpose, masterKey: masterKeyOf(key), create: false, upgrade: false }
       const { maintenance } = openEngine(opening)
       const dieAt = async (step) => {
         if (step !== ${JSON.stringify(step)}) return
         process.kill(process.pid, 'SIGKILL')
         await new Promise(() => {})
       }
       await keyring.rotate(undefined, async (next) => {
         await dieAt('made')
         await maintenance.rewrap(next, { actor: 'olive', at: 0 })
         await dieAt('committed')
       })
       await dieAt('named')`,
    ])
    expect([killed.signalCode, killed.stderr.toString()]).toEqual(['SIGKILL', ''])
  }

  test('a key rotation killed before it changed the database has no effect, and the next rotation uses the same new key', async () => {
    const before = wrapping()
    killedAt('made')
    const made = contentOf(next)
    expect(await listWith(key)).toMatchObject({ code: 0 })
    expect([contentOf(key), wrapping()]).toEqual([contentOf(old), before])
    await operator.do(...rotate)
    expect(contentOf(key)).toBe(made)
    await isRotated(before)
  })

  test.each([
    ['the next start', ['organization', 'list'], 'North Care'],
    ['the next rotation', rotate, 'The interrupted rotation is finished.\n'],
  ])('a key rotation killed after its commit is finished by %s', async (_, words, says) => {
    const before = wrapping()
    killedAt('committed')
    expect([contentOf(key), existsSync(next)]).toEqual([contentOf(old), true])
    expect(await operator.do(...words)).toContain(says)
    await isRotated(before)
  })

  test('a key rotation killed after it replaced the key file leaves only a write-ahead log, which the next command removes', async () => {
    const before = wrapping()
    killedAt('named')
    expect(holding(before).length).toBeGreaterThan(0)
    await operator.do('organization', 'list')
    await isRotated(before)
  })
})
