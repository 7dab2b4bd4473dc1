import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { currentSchema } from '../../db/sqlite/migration'
import { masterKeyOf } from '../../src/vault/vault'
import { Folder } from '../support/folder'
import { act, fill, fillWithIntake, nine, stored, versionOf } from './furniture'
import { openTestDatabase, openTestEngine } from './place'

/** A database in which the first page of one table is overwritten. */
function damaged(folder: Folder, table: string): string {
  const path = folder.file('a.sqlite')
  openTestDatabase(path).close()
  const raw = new Database(path)
  const [root] = raw
    .query<{ rootpage: number }, [string]>('SELECT rootpage FROM sqlite_schema WHERE name = ?')
    .all(table)
  raw.close()
  const bytes = readFileSync(path)
  bytes.fill(0x41, ((root?.rootpage ?? 0) - 1) * 4096, ((root?.rootpage ?? 0) - 1) * 4096 + 200)
  writeFileSync(path, bytes)
  return path
}

test.each(['audit', 'members', 'licenses'])(
  'db: damage in table %s is found by a check and prevents a backup',
  async (table) => {
    using folder = new Folder()
    const engine = openTestEngine(damaged(folder, table))
    const findings = await engine.maintenance.check(0)
    expect(findings.map(({ check }) => check)).toEqual([
      'schema',
      'settings',
      'integrity',
      'orphans',
      'sealed values',
      'audit log',
      'records',
      'backup',
    ])
    const bad = findings.filter(({ state }) => state === 'bad')
    expect(bad.length).toBeGreaterThan(0)
    expect(bad.map(({ check }) => check)).toContain('integrity')
    const refusal = await engine.maintenance
      .backUp(folder.file('backup'), null, { actor: 'olive', at: 0 })
      .catch((error) => error)
    expect([refusal.kind, refusal.message]).toEqual([
      'database_unusable',
      'the database file is damaged; run anteroom doctor',
    ])
    expect(readdirSync(folder.path).filter((name) => name.startsWith('backup'))).toEqual([])
    await engine.close()
  },
)

test('db: a check names values that cannot be decrypted', async () => {
  using folder = new Folder()
  const engine = openTestEngine(folder.file('a.sqlite'))
  const { store, maintenance } = engine
  const { book, member } = await fillWithIntake(engine)
  await stored(book('other', nine))
  const database = openTestDatabase(folder.file('a.sqlite'))
  database.run(`UPDATE members SET sealed_profile = zeroblob(80) WHERE id = ${member.id}`)
  database.run(`UPDATE booking_requests SET sealed_screening_answers = x'00' WHERE member_id = ${member.id}`)
  database.close()
  const sealed = async () => (await maintenance.check(0)).find(({ check }) => check === 'sealed values')
  const [request] = await store.listRequests({ intakesOnly: true })
  expect(await sealed()).toEqual({
    check: 'sealed values',
    state: 'bad',
    detail: `cannot be opened: member ${member.id}, request ${request?.id}`,
  })
  expect(request?.member?.profile.firstName).toBe('(unreadable)')
  expect((await store.findMemberById(member.id))?.profile.email).toBe('(unreadable)')
  await expect(store.exportMember(member.id, act)).rejects.toThrow(
    `the sealed data of member ${member.id} was altered; restore a backup`,
  )
  await store.eraseMember(member.id, act)
  expect(await sealed()).toEqual({ check: 'sealed values', state: 'ok', detail: 'all can be decrypted' })
  await engine.close()
})

test('db: a check names members whose email hash does not match their address', async () => {
  using folder = new Folder()
  const engine = openTestEngine(folder.file('a.sqlite'))
  const { store, maintenance } = engine
  const { intake } = await fillWithIntake(engine)
  for (const name of ['blocked', 'freed', 'released']) await stored(intake(name))
  const idOf = async (name: string) => (await store.findMember(1, name))?.id as number
  const [blocked, freed, released] = [await idOf('blocked'), await idOf('freed'), await idOf('released')]
  await store.editMember(released, { email: '' }, act)
  const sealed = async () => (await maintenance.check(0)).find(({ check }) => check === 'sealed values')
  expect(await sealed()).toMatchObject({ state: 'ok' })
  const database = openTestDatabase(folder.file('a.sqlite'))
  database.run(`UPDATE members SET email_hash = zeroblob(32) WHERE id = ${blocked}`)
  database.run(`UPDATE members SET email_hash = NULL WHERE id = ${freed}`)
  database.close()
  expect(await sealed()).toEqual({
    check: 'sealed values',
    state: 'bad',
    detail: `the e-mail hash does not match: member ${blocked}, member ${freed}`,
  })
  await engine.close()
})

test('db: a check decrypts 1,000 values of each kind, or all values on request', async () => {
  using folder = new Folder()
  const engine = openTestEngine(folder.file('a.sqlite'))
  const { maintenance } = engine
  const { intake } = await fill(engine)
  const version = await versionOf(engine)
  const names = Array.from({ length: 1_500 }, (_, index) => `m${index}`)
  await Promise.all(names.map((name) => intake(name, { version })))
  const damage = (id: number) => {
    using database = openTestDatabase(folder.file('a.sqlite'))
    database.run(`UPDATE members SET sealed_profile = zeroblob(80) WHERE id = ${id}`)
  }
  const sealed = async (isAll: boolean) =>
    (await maintenance.check(0, null, isAll)).find(({ check }) => check === 'sealed values')
  const sample =
    'only a sample was decrypted (1000 members, 1000 requests, 0 notes, 0 responses); doctor --all decrypts everything'
  const bad = (detail: string) => ({ check: 'sealed values', state: 'bad' as const, detail })

  expect(await sealed(false)).toEqual({ check: 'sealed values', state: 'ok', detail: sample })
  expect(await sealed(true)).toEqual({ check: 'sealed values', state: 'ok', detail: 'all can be decrypted' })
  damage(951)
  expect(await sealed(false)).toMatchObject({ state: 'ok' })
  expect(await sealed(true)).toEqual(bad('cannot be opened: member 951'))
  damage(1)
  damage(1_500)
  expect(await sealed(false)).toEqual(bad(`cannot be opened: member 1, member 1500; ${sample}`))
  await engine.close()
})

describe('db: the schema check', () => {
  test.each([
    ['nothing', 'SELECT 1', null],
    ['a removed guard', 'DROP TRIGGER audit_keeps_lines', 'trigger audit_keeps_lines'],
    [
      'an added trigger that undoes a revocation',
      `CREATE TRIGGER unrevoked AFTER UPDATE OF ends_at ON partner_keys
       BEGIN UPDATE partner_keys SET ends_at = NULL WHERE id = NEW.id; END`,
      'trigger unrevoked',
    ],
    [
      'a removed index against double booking',
      'DROP INDEX booking_requests_slot',
      'index booking_requests_slot',
    ],
  ])('a check compares tables, indexes and triggers: %s', async (_, change, name) => {
    using folder = new Folder()
    const engine = openTestEngine(folder.file('a.sqlite'))
    const database = openTestDatabase(folder.file('a.sqlite'))
    database.run(change)
    database.close()
    const found = (await engine.maintenance.check(0)).find(({ check }) => check === 'schema')
    expect(found).toEqual(
      name === null
        ? { check: 'schema', state: 'ok', detail: `version ${currentSchema}` }
        : { check: 'schema', state: 'bad', detail: `unexpected or changed: ${name}` },
    )
    await engine.close()
  })
})

test('db: a backup fails if the master key was rotated since the engine opened', async () => {
  using folder = new Folder()
  const [path, target] = [folder.file('a.sqlite'), folder.file('backup')]
  const [engine, rotating] = [openTestEngine(path), openTestEngine(path)]
  const protect = async (plain: string, encrypted: string) => copyFileSync(plain, encrypted)
  await engine.maintenance.backUp(`${target}-before`, protect, act)
  await rotating.maintenance.rewrap(masterKeyOf(Buffer.alloc(32, 8)), act)
  const refusal = await engine.maintenance.backUp(target, protect, act).catch((error) => error)
  expect([refusal?.kind, refusal?.message]).toEqual([
    'database_unusable',
    'the master key was rotated during the backup; make the backup again',
  ])
  expect(readdirSync(folder.path).filter((name) => /^backup|copy/.test(name))).toEqual(['backup-before'])
  for (const one of [engine, rotating]) await one.close()
})
