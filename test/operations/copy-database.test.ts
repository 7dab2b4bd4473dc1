import { expect, test } from 'bun:test'
import type { DatabasePlace } from '../../src/domain/database'
import type { CopiedRow, Moment, Unfinished } from '../../src/domain/moment'
import type { MasterKey } from '../../src/domain/vault'
import { copyDatabase } from '../../src/operations/copy-database'

const head = { id: 7, hash: 'seven' }
const spans = { acts: { start: head, head }, refusals: { start: head, head } }
const letters = { name: 'letters', columns: ['id', 'text', 'sealed', 'read'], rows: 2, lastId: 9 }
const rows: readonly CopiedRow[] = [
  [1, 'one', Uint8Array.of(1, 255), true],
  [2, null, null, false],
]

/** A place that is copied, as far as a copy asks it. */
function placeOf(moment: Partial<Moment>): DatabasePlace {
  const whole: Moment = {
    tables: [letters],
    rowsOf: async function* () {
      yield rows
    },
    proveLog: async () => spans,
    requireAlone: async () => {},
    copyNote: null,
    noteCopy: async () => true,
    ...moment,
  }
  const place: Partial<DatabasePlace> = { readMoment: (_, use) => use(whole) }
  return place as DatabasePlace
}

/** A place where nothing is, and what becomes of it: `stored` is what a record is when it is read back. */
function emptyPlace(stored: (row: CopiedRow) => CopiedRow = (row) => row) {
  const steps: string[] = []
  let added: readonly CopiedRow[] = []
  const unfinished: Unfinished = {
    add: async ({ name }, given) => {
      added = [...added, ...given]
      steps.push(`add ${given.length} ${name}`)
    },
    keepIds: async ({ name }, lastId) => void steps.push(`${name} up to ${lastId}`),
    rowsOf: async function* () {
      yield added.map(stored)
    },
    keepLog: async ({ acts }) => void steps.push(`log up to ${acts.head.id}`),
  }
  const place: Partial<DatabasePlace> = {
    fullName: '/there',
    async makeOfMoment({ fill }) {
      const done = await fill(unfinished)
      steps.push('made')
      return done
    },
  }
  return { place: place as DatabasePlace, steps }
}

const copy = (
  from: DatabasePlace,
  to: DatabasePlace,
  tell = (_: string, __?: number) => {},
  whileServing = false,
) => {
  const takeKey = async () => ({}) as MasterKey
  const clock = { now: () => 1_000 }
  return copyDatabase({ from, to, purpose: 'production', takeKey, whileServing, clock }, tell)
}

test('a copy is made once all was read back as it was, and tells how far it is', async () => {
  const { place, steps } = emptyPlace()
  const told: string[] = []
  const copied = await copy(
    placeOf({}),
    place,
    (what, share) => void told.push([what, share].join(' ').trim()),
  )
  const text = 'letters id text sealed read\n1,"one",x01ff,true\n2,null,null,false\n'
  const sha256 = new Bun.CryptoHasher('sha256').update(text).digest('hex')
  expect(copied).toEqual({
    tables: { letters: { rows: 2, sha256 } },
    auditHead: head,
    deactivated: true,
    copiedBefore: null,
  })
  expect(steps).toEqual(['add 2 letters', 'letters up to 9', 'log up to 7', 'made'])
  expect(told).toEqual([
    'checking the audit log',
    'copying letters 1',
    'comparing letters 1',
    'checking the audit log of the copy',
  ])
})

const changes: [what: string, stored: (row: CopiedRow) => CopiedRow][] = [
  ['a text that is another', ([id, , sealed, read]) => [id ?? null, 'One', sealed ?? null, read ?? null]],
  ['bytes that came as a text', (row) => row.map((value) => (value instanceof Uint8Array ? 'x01ff' : value))],
  ['a number that came as a text', (row) => row.map((value) => (value === 1 ? '1' : value))],
  ['a flag that came as a number', (row) => row.map((value) => (value === true ? 1 : value))],
  ['an empty text in place of none', (row) => row.map((value) => value ?? '')],
]

test.each(changes)('nothing is made where what is read back has %s', async (_, stored) => {
  const { place, steps } = emptyPlace(stored)
  await expect(copy(placeOf({}), place)).rejects.toThrow(
    'letters was not stored as it was read: nothing was made',
  )
  expect(steps).toEqual(['add 2 letters', 'letters up to 9'])
})

test('nothing is made of what began to be served meanwhile', async () => {
  const { place, steps } = emptyPlace()
  const requireAlone = () => Promise.reject(new Error('served'))
  await expect(copy(placeOf({ requireAlone }), place)).rejects.toThrow('served')
  expect(steps).toEqual(['add 2 letters', 'letters up to 9', 'log up to 7'])
})

test('what was copied notes where to once the copy is there, and nothing where a server may go on with it', async () => {
  const noted: unknown[] = []
  const noteCopy: Moment['noteCopy'] = async (note) => {
    noted.push(note)
    return true
  }
  const copyNote = { to: '/before', at: 1 }
  const told = async (whileServing: boolean, moment: Partial<Moment> = { copyNote, noteCopy }) => {
    const { deactivated, copiedBefore } = await copy(
      placeOf(moment),
      emptyPlace().place,
      undefined,
      whileServing,
    )
    return { deactivated, copiedBefore }
  }
  expect(await told(false)).toEqual({ deactivated: true, copiedBefore: copyNote })
  expect(noted).toEqual([{ to: '/there', at: 1_000 }])
  expect(await told(true)).toEqual({ deactivated: false, copiedBefore: copyNote })
  expect(noted.length).toBe(1)
  const failing = emptyPlace(() => [])
  await expect(copy(placeOf({ noteCopy }), failing.place)).rejects.toThrow('was not stored')
  expect(noted.length).toBe(1)
  const unwritable = { noteCopy: async () => false }
  expect(await told(false, unwritable)).toEqual({ deactivated: false, copiedBefore: null })
})
