import { expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { booking } from '../support/builders'
import { Operator, type Served } from '../support/operator'

setDefaultTimeout(300_000)

// Searches for readable personal data in every file that the program may leave on the disk.

const profileFields = [
  ...['firstName', 'lastName', 'preferredName', 'preferredPronouns', 'gender', 'maritalStatus', 'clientType'],
  ...['streetAddress', 'suite', 'city', 'state', 'zipCode', 'reasonForSeekingSupport', 'preferredModality'],
]

/** A member with a canary in each possible field, and the list of these canaries. */
function person(name: string) {
  const canary = (field: string) => `${name}Canary${field}`
  const fields = Object.fromEntries(profileFields.map((field) => [field, canary(field)]))
  const email = `${name}CanaryMail@canary-${name.toLowerCase()}.example`
  const [dob, phoneNumber] = ['1931-07-13', `+1 999 ${name.length}31 4159 265`]
  const memberData = { ...fields, email, dob, phoneNumber, leaveVoicemail: 'No' }
  const phq9Data = [{ question: canary('question'), answer: canary('answer') }]
  const body = { ...booking(`${name}CanaryExternal`, undefined, memberData), phq9Data }
  const canaries = [...Object.values(fields), email, email.toLowerCase(), dob, phoneNumber]
  return { body, canaries: [...canaries, canary('External'), canary('question'), canary('answer')] }
}

const people = ['Avery', 'Blair', 'Casey'].map(person)
const keyCanary = 'KeyCanary'
const canaries = [...people.flatMap((one) => one.canaries), keyCanary]

let submitted = 0

/** Finds canaries in the files below a folder, in upper or lower case, in UTF-8 or UTF-16. */
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
  await operator.loadDirectory()
  return (await operator.do('token', 'issue', 'Lantern')).trim()
}

async function submitAll(service: Served, token: string): Promise<void> {
  for (const { body } of people) {
    // With an idempotency key, the response and its personal data are stored for a retry. Partners choose the key, so
    // the key itself may contain personal data.
    const headers = { 'Idempotency-Key': `${keyCanary} ${submitted++}` }
    expect((await service.post(body, token, headers)).status).toBe(201)
  }
}

test('vault: no file on the disk shows personal data, even after a crash', async () => {
  using operator = new Operator()
  const token = await onboard(operator)
  expect(canaries.length).toBeGreaterThan(40)
  {
    await using service = await operator.serve()
    await submitAll(service, token)
    // Submits the same requests again. The free space of the database may then contain older versions of the values.
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
  // doctor recovered the database after the crash and closed it, so all data is in one file now.
  await operator.do('doctor')
  expect(hitsBelow(operator.folder.path)).toEqual([])
  // Checks that the search works: it finds the data in an export.
  const output = operator.folder.file('export.json')
  await operator.do('member', 'export', '1', '--output', output)
  expect(hitsBelow(operator.folder.path).filter((hit) => !hit.startsWith('export.json'))).toEqual([])
  expect(hitsBelow(operator.folder.path).length).toBeGreaterThanOrEqual(people[0]?.canaries.length as number)
})
