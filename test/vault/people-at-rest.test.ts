import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { currentSchema } from '../../db/sqlite/migration'
import { booking, provider, region } from '../support/builders'
import { Operator, type Served } from '../support/operator'
import { Program } from '../support/process'

setDefaultTimeout(300_000)

// What `strings` would show of a person, in every place where the program may leave a file.

const profileFields = [
  ...['firstName', 'lastName', 'preferredName', 'preferredPronouns', 'gender', 'maritalStatus', 'clientType'],
  ...['streetAddress', 'suite', 'city', 'state', 'zipCode', 'reasonForSeekingSupport', 'preferredModality'],
]

/** A person of whom every field that can be is a canary, and their canaries. */
function person(name: string) {
  const canary = (field: string) => `${name}Canary${field}`
  const fields = Object.fromEntries(profileFields.map((field) => [field, canary(field)]))
  const email = `${name}CanaryMail@canary-${name.toLowerCase()}.example`
  const [dob, phoneNumber] = ['1931-07-13', `+1 999 ${name.length}31 4159 265`]
  const told = { ...fields, email, dob, phoneNumber, leaveVoicemail: 'No' }
  const phq9Data = [{ question: canary('question'), answer: canary('answer') }]
  const body = { ...booking(`${name}CanaryExternal`, undefined, told), phq9Data }
  const canaries = [...Object.values(fields), email, email.toLowerCase(), dob, phoneNumber]
  return { body, canaries: [...canaries, canary('External'), canary('question'), canary('answer')] }
}

const people = ['Avery', 'Blair', 'Casey'].map(person)
const keyCanary = 'KeyCanary'
const canaries = [...people.flatMap((one) => one.canaries), keyCanary]

let submitted = 0

/** Every file below a folder that holds a canary, in whatever case, in UTF-8 or UTF-16. */
function hitsBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const content = readFileSync(join(entry.parentPath, entry.name))
      const text = content.toString('latin1').toLowerCase()
      const wide = (canary: string) => content.includes(Buffer.from(canary, 'utf16le'))
      const hits = canaries.filter((canary) => text.includes(canary.toLowerCase()) || wide(canary))
      return hits.map((hit) => `${entry.name} holds ${hit}`)
    })
}

async function onboard(operator: Operator): Promise<string> {
  await operator.do('init')
  await operator.do('organization', 'add', 'North Care')
  await operator.do('partner', 'add', 'Lantern', '--organization', 'North Care')
  writeFileSync(
    operator.folder.file('directory.json'),
    JSON.stringify({ regions: [region()], providers: [provider('on-1')] }),
  )
  await operator.do('directory', 'load', operator.folder.file('directory.json'))
  return (await operator.do('token', 'issue', 'Lantern')).trim()
}

async function submitAll(service: Served, token: string): Promise<void> {
  for (const { body } of people) {
    // What is kept for a retry tells of the person too, and so may the key, as partners choose it.
    const headers = { 'Idempotency-Key': `${keyCanary} ${submitted++}` }
    expect((await service.post(body, token, headers)).status).toBe(201)
  }
}

test('no file holds anything of a person: database, log, shared memory, temporary files, backup, after a crash', async () => {
  using operator = new Operator()
  const token = await onboard(operator)
  expect(canaries.length).toBeGreaterThan(40)
  {
    await using service = await operator.serve()
    await submitAll(service, token)
    // Told again, so that there is an older version of each to be left behind.
    await submitAll(service, token)
    const names = readdirSync(operator.folder.path)
    expect(names).toContain('anteroom.sqlite-wal')
    expect(names).toContain('anteroom.sqlite-shm')
    await operator.do('backup', operator.folder.file('backup'))
    await operator.do('backup', operator.folder.file('backup-plain'), '--plain')
    expect(hitsBelow(operator.folder.path)).toEqual([])
    await submitAll(service, token)
    service.signal('SIGKILL')
    await service.exit()
    expect(statSync(`${operator.database}-wal`).size).toBeGreaterThan(0)
    expect(hitsBelow(operator.folder.path)).toEqual([])
  }
  // Recovered, and closed: now all is in the one file.
  await operator.do('doctor')
  expect(hitsBelow(operator.folder.path)).toEqual([])
  // It is all there, and the search finds what does lie in the clear.
  const output = operator.folder.file('export.json')
  await operator.do('member', 'export', '1', '--output', output)
  expect(hitsBelow(operator.folder.path).filter((hit) => !hit.startsWith('export.json'))).toEqual([])
  expect(hitsBelow(operator.folder.path).length).toBeGreaterThanOrEqual(people[0]?.canaries.length as number)
})

test('an upgrade leaves nothing of a person in the clear but in the copy of what was before', async () => {
  using operator = new Operator()
  const fixture = new URL('../../fixtures/first-release.sqlite', import.meta.url).pathname
  copyFileSync(fixture, operator.database)
  copyFileSync(`${fixture}.key`, `${operator.database}.key`)
  // A checkout leaves it readable for all.
  chmodSync(`${operator.database}.key`, 0o600)
  const inTheClear = ['m-1@example.com', '+1 416 555 0100', 'Robin', 'Sample']
  const hits = () =>
    readdirSync(operator.folder.path).filter((name) => {
      const content = readFileSync(operator.folder.file(name))
      return inTheClear.some((text) => content.includes(text))
    })
  // What an upgrade was writing when it was killed goes with the next, however soon that is.
  copyFileSync(fixture, `${operator.database}.before-schema-${currentSchema}.unfinished-0a1b2c3d`)
  expect(hits()).toHaveLength(2)
  expect(await operator.do('migrate')).toContain('names and addresses of people lie readable in it')
  expect(hits()).toEqual([`anteroom.sqlite.before-schema-${currentSchema}`])
  const shown = await operator.ask<object>('member', 'show', '1')
  expect(shown).toMatchObject({ firstName: 'Robin', email: 'm-1@example.com', externalUserId: 'm-1' })
})

test.if(existsSync('/proc/self/fd'))(
  'an upgrade writes nothing of a person to a temporary file',
  async () => {
    using operator = new Operator()
    const fixture = new URL('../../fixtures/first-release.sqlite', import.meta.url).pathname
    copyFileSync(fixture, operator.database)
    copyFileSync(`${fixture}.key`, `${operator.database}.key`)
    chmodSync(`${operator.database}.key`, 0o600)
    addFirstReleaseMembers(operator.database, 4_000)
    await using upgrade = new Program(['migrate'], { env: { ANTEROOM_DATABASE: operator.database } })
    const descriptors = `/proc/${upgrade.pid}/fd`
    const found = new Set<string>()
    while (upgrade.isRunning) {
      for (const content of unnamedFiles(descriptors)) {
        if (content.includes('temporaryCanary')) found.add('temporaryCanary')
      }
      await Bun.sleep(1)
    }
    expect((await upgrade.exit()).code).toBe(0)
    expect([...found]).toEqual([])
  },
)

/** More members than SQLite keeps in memory while it drops their table. */
function addFirstReleaseMembers(path: string, count: number): void {
  using database = new Database(path)
  database.run(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO members (partner_id, external_user_id, active, email, folded_email, first_name, last_name, country,
       reason_for_seeking_support, preferred_spoken_language, created_at, updated_at)
     SELECT 1, 'many-' || i, 1, i || '@many.example', i || '@many.example', 'temporaryCanary', 'S', 'CA',
       'temporaryCanary, and why', 'en', 1, 1 FROM n`,
  )
}

/** What is in the files that a process has open and that have no name. */
function unnamedFiles(descriptors: string): Buffer[] {
  try {
    return readdirSync(descriptors).flatMap((fd) => {
      const target = readlinkSync(join(descriptors, fd))
      return / \(deleted\)$/.test(target) ? [readFileSync(join(descriptors, fd))] : []
    })
  } catch {
    // It has closed one meanwhile, or has ended.
    return []
  }
}
