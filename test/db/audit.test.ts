import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { queriesOn, settingsOf } from '../../db/sqlite/query-engine'
import { auditStart } from '../../src/domain/audit'
import { masterKeyOf } from '../../src/vault/vault'
import { line, refusal, tenLines } from '../support/audit-lines'
import { act, now } from './furniture'
import { openPlace, openTestDatabase, testKey } from './place'

type OpenPlace = Awaited<ReturnType<typeof openPlace>>

function bytesOf({ path }: OpenPlace): Uint8Array {
  using database = openTestDatabase(path)
  return database.serialize()
}

async function openOther(place: OpenPlace): Promise<OpenPlace> {
  const path = `${place.path}-other`
  writeFileSync(path, bytesOf(place))
  const other = (await place.openAgain(path)) as OpenPlace
  await other.store.appendAudit(Array.from({ length: 10 }, (_, index) => line(index, { actor: 'another' })))
  return other
}

/** Changes the file as an attacker without the key could. */
function attack({ path }: OpenPlace, ...statements: string[]): void {
  using database = new Database(path)
  database.run('DROP TRIGGER IF EXISTS audit_keeps_lines')
  database.run('DROP TRIGGER IF EXISTS audit_keeps_words')
  for (const statement of statements) database.run(statement)
}

const broken = (id: number, fault: string) => ({ intact: false, id, fault }) as const
const asWritten = 'the line was altered'
const unsealed = 'the seal of the newest line is missing or was altered'

describe('db: tampering with the audit log without the key', () => {
  const inserted = (id: number) =>
    `INSERT INTO audit SELECT ${id}, at, actor, action, record, outcome, hash FROM audit WHERE id = 4`
  test.each<[what: string, statements: string[], id: number, fault: string]>([
    ['a line missing from the middle', ['DELETE FROM audit WHERE id = 5'], 5, 'the line is missing'],
    [
      'a truncated tail, even if the id sequence was reset',
      ['DELETE FROM audit WHERE id > 7', "UPDATE sqlite_sequence SET seq = 7 WHERE name = 'audit'"],
      8,
      'the lines from here to line 10 are missing',
    ],
    [
      'the removal of the last refused authentication',
      ['DELETE FROM audit WHERE id = 9'],
      9,
      'the lines from here to line 9 are missing',
    ],
    [
      'a line inserted before all others',
      [inserted(-9e15)],
      -9e15,
      'the line lies in the part that was pruned',
    ],
    ['a missing seal', ["DELETE FROM settings WHERE name = 'audit'"], 10, unsealed],
    [
      'a forged seal that claims that earlier lines were pruned',
      [
        'DELETE FROM audit WHERE id < 4',
        `UPDATE settings SET value = CAST(json_set(CAST(value AS TEXT), '$.acts.start.id', 2) AS BLOB)
         WHERE name = 'audit'`,
      ],
      10,
      unsealed,
    ],
  ])('verification finds %s', async (_, statements, id, fault) => {
    await using place = await openPlace()
    await place.store.appendAudit(tenLines)
    expect(await place.store.verifyAudit(null)).toMatchObject({ intact: true })
    attack(place, ...statements)
    expect(await place.store.verifyAudit(null)).toMatchObject(broken(id, fault))
    expect(await place.maintenance?.check(now)).toContainEqual({
      check: 'audit log',
      state: 'bad',
      detail: `broken at line ${id}: ${fault}`,
    })
  })
})

test.each([
  "DELETE FROM settings WHERE name = 'audit'",
  "UPDATE settings SET value = CAST(replace(CAST(value AS TEXT), ':10,', ':8,') AS BLOB) WHERE name = 'audit'",
])(
  'db: verification fails after damage to the seal, even if new lines are logged (%s)',
  async (statement) => {
    await using place = await openPlace()
    await place.store.appendAudit(tenLines)
    attack(place, statement)
    await place.store.addOrganization('Added', act)
    expect(await place.store.listAudit(1)).toMatchObject([{ id: 11, action: 'organization.add' }])
    expect(await place.store.verifyAudit(null)).toEqual(broken(11, unsealed))
  },
)

test('db: triggers reject changing or deleting an audit line', async () => {
  await using place = await openPlace()
  await place.store.appendAudit(tenLines)
  using database = new Database(place.path)
  for (const statement of ['DELETE FROM audit WHERE id = 3', 'DELETE FROM audit WHERE id = 1']) {
    expect(() => database.run(statement)).toThrow('audit lines stay')
  }
  expect(() => database.run("UPDATE audit SET actor = 'x'")).toThrow('audit lines stay as they are')
})

describe('db: pruning the audit log', () => {
  const prune = async (
    place: OpenPlace,
    chain: 'acts' | 'refusals',
    before: number,
    target = place.freeTarget,
  ) => place.maintenance?.pruneAudit({ chain, before, target }, act)
  const ids = async (place: OpenPlace) => (await place.store.listAudit(100)).map(({ id }) => id)

  test('pruning 1,150 lines adds one line to the log', async () => {
    await using place = await openPlace()
    await place.store.appendAudit(Array.from({ length: 1_200 }, (_, index) => line(index)))
    expect(await prune(place, 'acts', now + 1_150)).toBe(1_150)
    const acts = (await place.store.listAudit(100)).map(({ action, record }) => `${action} ${record}`)
    expect(acts.filter((act) => act.startsWith('audit.prune'))).toEqual(['audit.prune line 1150'])
    expect(await place.store.verifyAudit(null)).toMatchObject({ intact: true })
  })

  test('a prune moves lines to an archive, and the archive and the log pass verification', async () => {
    await using place = await openPlace()
    await place.store.appendAudit(tenLines)
    const lines = await place.store.listAudit(100)
    expect(await prune(place, 'acts', now + 6)).toBe(4)
    expect(await ids(place)).toEqual([3, 6, 7, 8, 9, 10, 11])
    expect(await place.store.listAudit(1)).toMatchObject([{ action: 'audit.prune', record: 'line 5' }])
    expect(await place.store.verifyAudit(null)).toMatchObject({ intact: true })
    const written = readFileSync(place.freeTarget, 'utf8').trim().split('\n')
    expect(written.slice(0, 4).map((text) => JSON.parse(text).id)).toEqual([1, 2, 4, 5])
    const head = { id: 5, hash: lines[4]?.hash as string }
    expect(JSON.parse(written[4] as string)).toMatchObject({ chain: 'acts', start: auditStart, head })
    expect((statSync(place.freeTarget).mode & 0o777).toString(8)).toBe('600')
    const archive = { chain: 'acts' as const, start: auditStart, head }
    expect(await place.maintenance?.checkArchive(place.freeTarget, head)).toEqual({
      intact: true,
      archive,
      next: 'the log continues the archive',
    })
    expect(await prune(place, 'refusals', now + 6, `${place.freeTarget}-2`)).toBe(2)
    expect(await ids(place)).toEqual([7, 8, 9, 10, 11, 12])
    expect(await place.store.verifyAudit(null)).toMatchObject({ intact: true })
    expect(await prune(place, 'acts', now + 8, `${place.freeTarget}-3`)).toBe(2)
    expect(await place.maintenance?.checkArchive(place.freeTarget, null)).toMatchObject({
      next: 'other archives follow before the log',
    })
    expect(await place.maintenance?.checkArchive(`${place.freeTarget}-3`, null)).toMatchObject({
      archive: { start: head },
      next: 'the log continues the archive',
    })
  })

  test('the id of a pruned line is never reused', async () => {
    await using place = await openPlace()
    await place.store.appendAudit([line(0), refusal(1)])
    await prune(place, 'refusals', now + 1_000)
    expect((await place.store.listAudit(10)).map(({ id }) => id)).toEqual([1, 3])
    expect(await place.store.verifyAudit(null)).toMatchObject({ intact: true })
  })

  test('a prune of no lines writes no file, and a prune of all lines leaves one line', async () => {
    await using place = await openPlace()
    await place.store.appendAudit(tenLines)
    expect(await prune(place, 'acts', now)).toBe(0)
    expect(existsSync(place.freeTarget)).toBe(false)
    expect(await prune(place, 'acts', now + 1_000)).toBe(7)
    expect(await prune(place, 'refusals', now + 1_000, `${place.freeTarget}-2`)).toBe(3)
    expect((await place.store.listAudit(100)).map(({ action }) => action)).toEqual([
      'audit.prune',
      'audit.prune',
    ])
    expect(await place.store.verifyAudit(null)).toMatchObject({ intact: true })
    await place.store.appendAudit(tenLines)
    expect(await place.store.verifyAudit(null)).toMatchObject({ intact: true, head: { id: 22 } })
  })

  test('pruning a broken log fails, removes no line and leaves no file', async () => {
    await using place = await openPlace()
    await place.store.appendAudit(tenLines)
    attack(place, "UPDATE audit SET actor = 'x' WHERE id = 2")
    const refusal = await prune(place, 'acts', now + 6).catch((error) => error)
    expect([refusal.kind, refusal.message]).toEqual([
      'database_unusable',
      `the log is broken at line 2 (${asWritten}), so nothing was pruned`,
    ])
    expect(await ids(place)).toHaveLength(10)
    expect(
      readdirSync(new URL('.', `file://${place.path}`).pathname).filter((name) => name.startsWith('free')),
    ).toEqual([])
  })

  test('a prune never overwrites a file, not even the archive of an earlier prune', async () => {
    await using place = await openPlace()
    await place.store.appendAudit(tenLines)
    writeFileSync(place.freeTarget, 'mine')
    const isThere = {
      kind: 'field_invalid',
      message: '--output: the file already exists; choose another path',
    }
    expect(await prune(place, 'acts', now + 6).catch((error) => error)).toMatchObject(isThere)
    expect(readFileSync(place.freeTarget, 'utf8')).toBe('mine')
    await prune(place, 'acts', now + 6, `${place.freeTarget}-2`)
    const again = await prune(place, 'acts', now + 6, `${place.freeTarget}-2`).catch((error) => error)
    expect(again).toMatchObject(isThere)
  })

  test('a prune that was killed after writing the archive can be completed', async () => {
    await using place = await openPlace()
    await place.store.appendAudit(tenLines)
    const database = openTestDatabase(place.path)
    const before = database.serialize()
    database.close()
    expect(await prune(place, 'acts', now + 6)).toBe(4)
    const again = `${place.path}-again`
    writeFileSync(again, before)
    const engine = await place.openAgain(again)
    const { maintenance } = engine as OpenPlace
    const target = place.freeTarget
    expect(await maintenance?.checkArchive(target, null)).toMatchObject({
      next: 'the log still contains lines of the archive',
    })
    expect(await maintenance?.pruneAudit({ chain: 'acts', before: now + 6, target }, act)).toBe(4)
    expect(await engine.store.verifyAudit(null)).toMatchObject({ intact: true })
    expect((await engine.store.listAudit(100)).map(({ id }) => id)).toEqual([3, 6, 7, 8, 9, 10, 11])
  })

  test('a prune rejects an archive that does not belong to the start of the log', async () => {
    await using place = await openPlace()
    const other = await openOther(place)
    await place.store.appendAudit(tenLines)
    const before = bytesOf(place)
    await prune(place, 'acts', now + 4)
    await prune(place, 'acts', now + 6, `${place.freeTarget}-2`)
    const again = `${place.path}-again`
    writeFileSync(again, before)
    const engine = (await place.openAgain(again)) as OpenPlace
    const upTo = (before: number, target: string) =>
      engine.maintenance?.pruneAudit({ chain: 'acts', before, target }, act)
    expect(await upTo(now + 6, `${place.freeTarget}-2`)?.catch((error) => error)).toMatchObject({
      kind: 'field_invalid',
    })
    expect(await engine.store.listAudit(100)).toHaveLength(10)

    const theirs = await other.maintenance
      ?.pruneAudit({ chain: 'acts', before: now + 4, target: place.freeTarget }, act)
      .catch((error) => error)
    expect(theirs).toMatchObject({
      kind: 'database_unusable',
      message: 'the log differs from the archive, so no more lines were removed',
    })
    expect(await other.store.listAudit(100)).toHaveLength(10)
    expect(await other.store.verifyAudit(null)).toMatchObject({ intact: true })
  })

  test('verification during a prune restarts at the new start of the log and passes', async () => {
    await using place = await openPlace()
    await place.store.appendAudit(Array.from({ length: 2_500 }, (_, index) => line(index)))
    const [{ hash } = auditStart] = await place.store.listAudit(1, { after: 2_399 })
    const database = openTestDatabase(place.path)
    const { audit } = queriesOn(database, settingsOf(database).openVault('sandbox', masterKeyOf(testKey)))
    const verifying = audit.verify(null)
    expect(audit.removeUpTo('acts', auditStart)).toBe(0)
    expect(audit.removeUpTo('acts', { id: 2_400, hash: 'f'.repeat(64) })).toBe(0)
    expect(audit.removeUpTo('acts', { id: 2_400, hash })).toBe(2_400)
    expect(await verifying).toMatchObject({ intact: true, head: { id: 2_500 } })
    database.close()
  })
})

describe('db: verifying an archive of the audit log', () => {
  test.each<[what: string, change: (lines: string[]) => string[], id: number, fault: string]>([
    [
      'a changed line',
      (all) => all.with(1, (all[1] as string).replace('operator', 'somebody')),
      2,
      asWritten,
    ],
    ['a missing line', (all) => all.toSpliced(1, 1), 4, asWritten],
    ['a missing last line', (all) => all.toSpliced(3, 1), 5, 'the lines from here to line 5 are missing'],
    [
      'a missing end record',
      (all) => all.slice(0, -1),
      0,
      'the file is not an archive, or its sealed last line was altered',
    ],
    [
      'a forged later start',
      (all) => [...all.slice(2, 4), (all[4] as string).replace('"id":0', '"id":2')],
      0,
      'the file is not an archive, or its sealed last line was altered',
    ],
    ['a line that is not JSON', (all) => all.with(0, '{'), Number.NaN, asWritten],
  ])('verification of an archive finds %s', async (_, change, id, fault) => {
    await using place = await openPlace()
    await place.store.appendAudit(tenLines)
    const target = place.freeTarget
    await place.maintenance?.pruneAudit({ chain: 'acts', before: now + 6, target }, act)
    const lines = readFileSync(target, 'utf8').trim().split('\n')
    writeFileSync(target, `${change(lines).join('\n')}\n`)
    const verdict = await place.maintenance?.checkArchive(target, null)
    expect(verdict).toMatchObject({ intact: false, fault })
    if (!Number.isNaN(id)) expect(verdict).toMatchObject({ id })
  })

  test('verification fails if the log does not continue from the last line of the archive', async () => {
    await using place = await openPlace()
    const other = await openOther(place)
    await place.store.appendAudit(tenLines)
    const [ours, theirs] = [place.freeTarget, `${place.freeTarget}-theirs`]
    await place.maintenance?.pruneAudit({ chain: 'acts', before: now + 6, target: ours }, act)
    await other.maintenance?.pruneAudit({ chain: 'acts', before: now + 5, target: theirs }, act)
    const check = (path: string) => other.maintenance?.checkArchive(path, null)
    expect(await check(theirs)).toMatchObject({ intact: true, next: 'the log continues the archive' })
    expect(await check(ours)).toEqual(broken(5, 'the log does not continue the archive'))
  })
})
