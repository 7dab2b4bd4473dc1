import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { DirectoryFile } from '../../src/directory-files/document'
import { builtInDirectory, withGenerated } from '../../src/directory-files/sandbox'
import { systemClock } from '../../src/domain/ports/time'
import { openService } from '../../src/service'
import { isLong, times } from '../support/long'
import { Operator, type Served } from '../support/operator'
import { theProgram } from '../support/process'
import { ask, faultsIn } from './database'
import { killInside } from './kill-inside'

// A command killed with kill -9 at any moment leaves either the old or the new state, and the next command works.
setDefaultTimeout(isLong ? 3_600_000 : 300_000)

const providers = times(100, 3_000)
const lines = times(400, 10_000)
const operator = new Operator(theProgram)
const { database, folder } = operator
const key = `${database}.key`
let token = ''

beforeAll(async () => {
  await operator.do('init')
  token = await operator.onboard('Lantern', 'North Care')
  const large = withGenerated(
    builtInDirectory(Math.floor(Date.now() / 86_400_000)),
    providers,
  ) as DirectoryFile
  for (const bio of ['One', 'Other']) {
    const all = large.providers.map((provider) => ({ ...provider, bio }))
    writeFileSync(folder.file(`${bio}.json`), JSON.stringify({ ...large, providers: all }))
  }
  await operator.do('directory', 'load', folder.file('One.json'), '--yes')
})
afterAll(() => operator[Symbol.dispose]())

const count = (what: string, path = database) => ask(path, `SELECT count(*) FROM ${what}`) as number
const unfinished = () => readdirSync(folder.path).filter((name) => /unfinished|\.next$/.test(name))

/** Runs a command again after it was killed. The second run must remove the files that the killed run left. */
async function again(...words: string[]): Promise<void> {
  await operator.do(...words)
  expect(unfinished()).toEqual([])
}

/** Checks that a database and its audit log are intact. */
async function isWhole(path = database): Promise<void> {
  const words = ['doctor', '--database', path, '--master-key-file', key]
  expect(await operator.run(words)).toMatchObject({ code: 0, stderr: '' })
}

describe('faults: commands killed while a server runs', () => {
  let service: Served
  beforeAll(async () => {
    const lifted = ['--open-requests', '1000', '--bookings-per-minute', '100000', '--intakes-per-hour', 'off']
    service = await operator.serve(...lifted)
  })
  afterAll(async () => {
    expect((await service.stop()).code).toBe(0)
    expect(faultsIn(database)).toEqual([])
    expect(unfinished()).toEqual([])
  })

  const goesOn = async () => {
    const path = '/partners/v1/provider-regions/?country_code=CA'
    expect((await service.get(path, token)).status).toBe(200)
    await isWhole()
  }

  test('a killed directory load leaves the old or the new directory', async () => {
    let [before, after] = ['One', 'Other']
    const withBio = (bio: string) => count(`providers WHERE bio = '${bio}'`)
    const all = count('providers')
    await killInside(operator, 'directory load', {
      ready: () => ['directory', 'load', folder.file(`${after}.json`), '--yes'],
      async check() {
        await goesOn()
        const state = withBio(before) === 0 ? 'new' : 'old'
        expect([withBio(before), withBio(after)]).toEqual(state === 'new' ? [0, all] : [all, 0])
        if (state === 'new') [before, after] = [after, before]
        return state
      },
    })
    await operator.do('directory', 'load', folder.file(`${after}.json`), '--yes')
    expect(withBio(after)).toBe(all)
  })

  test('a killed backup leaves no file or a complete backup', async () => {
    const [backup, restored] = [folder.file('backup.age'), folder.file('restored.sqlite')]
    await killInside(operator, 'backup', {
      ready: () => ['backup', backup],
      async check() {
        const state = existsSync(backup) ? 'new' : 'old'
        if (state === 'old') await again('backup', backup)
        await operator.do('restore', backup, '--to', restored, '--yes', '--master-key-file', key)
        expect(faultsIn(restored)).toEqual([])
        expect(count('providers', restored)).toBe(count('providers'))
        await goesOn()
        for (const file of [backup, restored]) rmSync(file)
        // A backup may be killed after its file gets the final name. Then the file still has a second name, which the
        // next backup removes.
        if (state === 'new') {
          await again('backup', backup)
          rmSync(backup)
        }
        return state
      },
    })
  })

  test('a killed audit prune leaves either the unpruned log, or a pruned log and a complete archive', async () => {
    const archive = folder.file('archive.jsonl')
    const words = () => {
      const before = `${new Date().toISOString().slice(0, 19)}Z`
      return ['audit', 'prune', '--before', before, '--output', archive, '--force', '--yes']
    }
    const kept = () => count("audit WHERE actor = 'operator 1'")
    await killInside(operator, 'audit prune', {
      async ready() {
        await appendAudit(lines)
        // `--before` is in whole seconds, so this waits until all lines are before the current second.
        await Bun.sleep(1_000 - (Date.now() % 1_000))
        return words()
      },
      async check() {
        const state = kept() === 0 ? 'new' : 'old'
        if (state === 'old' && existsSync(archive)) {
          const said = await operator.do('audit', 'verify', '--archive', archive)
          expect(said).toStartWith('The archive is intact')
        }
        await goesOn()
        if (state === 'old') await again(...words())
        const moved = readFileSync(archive, 'utf8').split('\n')
        expect(moved.filter((line) => line.includes('"operator 1"'))).toHaveLength(lines)
        expect(kept()).toBe(0)
        const said = await operator.do('audit', 'verify', '--archive', archive)
        expect(said).toContain('the log continues the archive')
        rmSync(archive)
        return state
      },
    })
  })
})

/** Appends lines with the current time to the audit log. */
async function appendAudit(lines: number): Promise<void> {
  const service = await openService({
    purpose: 'production',
    database,
    masterKey: { file: key },
    create: false,
    clock: systemClock,
    report: () => {},
  })
  const line = { actor: 'operator 1', action: 'member.show', record: 'member 1', outcome: 'done' } as const
  await service.context.store.appendAudit(
    Array.from({ length: lines }, () => ({ ...line, at: systemClock.now() })),
  )
  await service.close()
}

test('faults: a killed restore leaves no database or a complete one', async () => {
  const [backup, restored] = [folder.file('kept.age'), folder.file('again.sqlite')]
  await operator.do('backup', backup)
  const words = ['restore', backup, '--to', restored, '--yes', '--master-key-file', key]
  await killInside(operator, 'restore', {
    ready: () => words,
    async check() {
      const state = existsSync(restored) ? 'new' : 'old'
      if (state === 'old') await operator.do(...words)
      expect(faultsIn(restored)).toEqual([])
      expect(count('providers', restored)).toBe(count('providers'))
      await isWhole(restored)
      for (const end of ['', '-wal', '-shm']) rmSync(`${restored}${end}`, { force: true })
      return state
    },
  })
})
