import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { newKey, signToken } from '../../src/auth/token'
import type { NewKey } from '../../src/domain/partner'
import { createMasterKey } from '../../src/vault/master-key-file'
import { act, actAt, draftOf, endOf, stored, versionOf } from '../db/furniture'
import { openTestEngine } from '../db/place'
import { Folder } from '../support/folder'

const canaries = ['canary-question-5b1f', 'canary-answer-90ce', 'canary-again-77d2']

/** A secret in the encodings in which a file may contain it: raw, base64, base64url and hex. */
function spellings(secret: Uint8Array): Buffer[] {
  const bytes = Buffer.from(secret)
  const texts = (['base64', 'base64url', 'hex'] as const).map((encoding) => bytes.toString(encoding))
  return [bytes, ...[...texts, bytes.toString('hex').toUpperCase()].map((text) => Buffer.from(text))]
}

test('vault: screening answers and token secrets are not readable in any database file', async () => {
  using folder = new Folder()
  const path = folder.file('store.sqlite')
  const masterKey = createMasterKey(folder.file('key'))
  const { store, feed, close } = openTestEngine(path, masterKey)
  const partner = await store.addPartner('Readable Partner', null, actAt(0))
  const keys = [
    { ...newKey(), issuedAt: 0, startsAt: 0 },
    { ...newKey(), issuedAt: 10, startsAt: 10 },
  ]
  await store.issueKey(partner.id, keys[0] as NewKey, actAt(0))
  await store.rotateKey(partner.id, keys[1] as NewKey, actAt(10))
  const version = await versionOf({ feed })
  for (const canary of canaries) {
    const screeningAnswers = [{ question: `Q ${canary}`, answer: canary }]
    const draft = draftOf(`readable-${canaries.indexOf(canary)}`, { screeningAnswers, version })
    const submission = store.submit({ ...draft, partnerId: partner.id })
    expect(await endOf(submission)).toBe('stored')
  }
  const tokens = await Promise.all(keys.map(signToken))
  const hidden = [
    ...canaries.map((canary) => Buffer.from(canary)),
    ...[masterKey, ...keys.map(({ secret }) => secret)].flatMap(spellings),
    ...tokens.map((token) => Buffer.from(token.split('.')[2] as string)),
  ]
  const search = () => {
    const files = readdirSync(folder.path).filter((name) => name !== 'key')
    const bytes = files.map((name) => readFileSync(folder.file(name)))
    return { files, holds: (text: Buffer) => bytes.some((content) => content.includes(text)) }
  }

  const open = search()
  expect(open.files.sort()).toEqual(['store.sqlite', 'store.sqlite-shm', 'store.sqlite-wal'])
  // The search works: it finds a text that is stored unencrypted.
  expect(open.holds(Buffer.from('Readable Partner'))).toBe(true)
  expect(hidden.filter(open.holds).map(String)).toEqual([])

  await close()
  const closed = search()
  expect(closed.holds(Buffer.from('Readable Partner'))).toBe(true)
  expect(hidden.filter(closed.holds).map(String)).toEqual([])
})

const items = Array.from(
  { length: 9 },
  (_, index) => `Item ${index + 1} of the questionnaire, as it is worded`,
)
const languages = [
  ['Not at all', 'Several days', 'More than half the days', 'Nearly every day'],
  ['Jamais', 'Plusieurs jours', 'Plus de la moitié du temps', 'Presque tous les jours'],
]

test('vault: the sealed lengths of 1,000 random screenings do not depend on the answers', async () => {
  using folder = new Folder()
  const path = folder.file('store.sqlite')
  const { store, feed, close } = openTestEngine(path)
  const partner = await store.addPartner('Lantern', null, act)
  const version = await versionOf({ feed })
  // Questions of different lengths, so that the totals are spread around the steps of the padding.
  const padded = (extra: number) => items.map((item) => item + 'x'.repeat(extra * 6))
  for (let round = 0; round < 1_000; round++) {
    const words = languages[round % 2] as string[]
    const screeningAnswers = padded(Math.floor(round / 50)).map((question) => ({
      question,
      answer: words[Math.floor(Math.random() * 4)] as string,
    }))
    const draft = draftOf(`m-${round}`, { screeningAnswers, version })
    await store.submit({ ...draft, partnerId: partner.id })
  }
  await close()
  using database = new Database(path, { readonly: true })
  const lengths = database
    .query<{ bytes: number }, []>(
      'SELECT length(sealed_screening_answers) AS bytes FROM booking_requests ORDER BY id',
    )
    .all()
    .map(({ bytes }) => bytes - sealedOverhead)
  expect(lengths.filter((bytes) => bytes % 1024 !== 0)).toEqual([])
  expect([...new Set(lengths)].sort()).toEqual([2048, 3072])
  // Screenings with the same questions have the same length for all answers.
  const groups = Array.from(
    { length: 20 },
    (_, group) => new Set(lengths.slice(group * 50, group * 50 + 50)).size,
  )
  expect(groups).toEqual(Array(20).fill(1))
})

/** Bytes that sealing adds: format, key id, nonce and tag. */
const sealedOverhead = 33

/** The sealed and hashed values of each member in a database, by member id. */
function sealedIn(path: string): (id: number) => Uint8Array[] {
  using database = new Database(path, { readonly: true })
  const all = (table: string, id: string) =>
    database.query<Record<string, unknown>, []>(`SELECT *, ${id} AS who FROM ${table}`).all()
  const rows = [...all('members', 'id'), ...all('booking_requests', 'member_id')]
  return (id) =>
    rows
      .filter(({ who }) => who === id)
      .flatMap((row) => Object.values(row).filter((value) => value instanceof Uint8Array))
}

test('vault: no database file contains any data of an erased member', async () => {
  using folder = new Folder()
  const path = folder.file('store.sqlite')
  const { store, feed, maintenance, close } = openTestEngine(path)
  const partner = await store.addPartner('Readable Partner', null, act)
  const version = await versionOf({ feed })
  const submit = (name: string) =>
    store.submit(
      draftOf(`${name}-external`, {
        partnerId: partner.id,
        member: {
          email: `${name}@example.com`,
          firstName: `${name}-first`,
          lastName: `${name}-last`,
          country: 'CA',
          phoneNumber: `${name}-phone`,
          reasonForSeekingSupport: `${name} reason `.repeat(300),
        },
        screeningAnswers: [{ question: 'Q', answer: `${name}-answer` }],
        version,
      }),
    )
  await submit('stays')
  await submit('leaver')
  const { member } = await stored(submit('leaver'))
  const sealed = sealedIn(path)
  const found = (texts: readonly Uint8Array[]) =>
    readdirSync(folder.path).filter((name) =>
      texts.some((text) => readFileSync(folder.file(name)).includes(text)),
    )
  expect(found(sealed(member.id)).length).toBeGreaterThan(0)
  expect(await store.eraseMember(member.id, act)).toEqual([])
  expect(await maintenance.purge()).toBe(true)
  expect(found(sealed(member.id))).toEqual([])
  expect(found(sealed(1)).length).toBeGreaterThan(0)
  await close()
  expect(found(sealed(member.id))).toEqual([])
})
