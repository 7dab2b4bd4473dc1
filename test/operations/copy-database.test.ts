import { expect, test } from 'bun:test'
import type { DatabaseLocation } from '../../src/domain/ports/database'
import type { CopySource, CopyTarget } from '../../src/domain/ports/database-copy'
import type { MasterKey } from '../../src/domain/ports/vault'
import { copyDatabase } from '../../src/operations/database-copy'

const head = { id: 7, hash: 'seven' }
const spans = { acts: { start: head, head }, refusals: { start: head, head } }
const lines = ['{"id":1,"text":"one"}', '{"id":2,"text":null}']

function sourceOf(changed: Partial<CopySource> = {}): DatabaseLocation {
  const source: CopySource = {
    tables: [{ name: 'letters', rows: 2, lastId: 9 }],
    linesOf: async function* () {
      yield lines
    },
    verifyLog: async () => spans,
    requireStopped: async () => {},
    copiedBefore: null,
    markCopied: async () => true,
    ...changed,
  }
  const place: Partial<DatabaseLocation> = { readSource: (_, use) => use(source) }
  return place as DatabaseLocation
}

/**
 * An empty target database. `steps` records the steps of a copy. `stored` returns the lines that are read
 * back for an added line.
 */
function emptyTarget(stored: (line: string) => readonly string[] = (line) => [line]) {
  const steps: string[] = []
  const added: string[] = []
  const target: CopyTarget = {
    add: async (table, given) => {
      added.push(...given)
      steps.push(`add ${given.length} ${table}`)
    },
    keepIds: async (table, lastId) => void steps.push(`${table} up to ${lastId}`),
    linesOf: async function* () {
      yield added.flatMap(stored)
    },
    continueLog: async ({ acts }) => void steps.push(`log up to ${acts.head.id}`),
  }
  const place: Partial<DatabaseLocation> = {
    fullName: '/there',
    async makeTarget({ fill }) {
      const done = await fill(target)
      steps.push('made')
      return done
    },
  }
  return { place: place as DatabaseLocation, steps }
}

function copy(
  from: DatabaseLocation,
  to: DatabaseLocation,
  { tell = (_: string, __?: number) => {}, whileServing = false } = {},
) {
  const takeKey = async () => ({}) as MasterKey
  const clock = { now: () => 1_000 }
  return copyDatabase({ from, to, purpose: 'production', takeKey, whileServing, clock }, tell)
}

test('operations: a copy is created only after all rows were read back, and its progress is reported', async () => {
  const { place, steps } = emptyTarget()
  const progress: string[] = []
  const tell = (what: string, share?: number) => void progress.push([what, share].join(' ').trim())
  const sha256 = new Bun.CryptoHasher('sha256').update(`${lines.join('\n')}\n`).digest('hex')
  expect(await copy(sourceOf(), place, { tell })).toEqual({
    tables: { letters: { rows: 2, sha256 } },
    auditHead: head,
    deactivated: true,
    copiedBefore: null,
  })
  expect(steps).toEqual(['letters up to 9', 'add 2 letters', 'log up to 7', 'made'])
  expect(progress).toEqual([
    'checking the audit log',
    'copying letters 1',
    'comparing letters 1',
    'checking the audit log of the copy',
  ])
})

const changes: [what: string, stored: (line: string) => readonly string[]][] = [
  ['another text', (line) => [line.replace('one', 'One')]],
  ['an empty text instead of null', (line) => [line.replace('null', '""')]],
  ['a text instead of a number', (line) => [line.replace('2', '"2"')]],
  ['one row fewer', (line) => (line.includes('one') ? [line] : [])],
]

test.each(changes)('operations: a copy is not created if reading it back returns %s', async (_, stored) => {
  const { place, steps } = emptyTarget(stored)
  await expect(copy(sourceOf(), place)).rejects.toThrow(
    'the copy of letters differs from the source, so no copy was made; run the command again',
  )
  expect(steps).toEqual(['letters up to 9', 'add 2 letters'])
})

test('operations: a copy is not created if a server has started on the source during the copy', async () => {
  const { place, steps } = emptyTarget()
  const requireStopped = () => Promise.reject(new Error('served'))
  await expect(copy(sourceOf({ requireStopped }), place)).rejects.toThrow('served')
  expect(steps).toEqual(['letters up to 9', 'add 2 letters', 'log up to 7'])
})

test('operations: a finished copy marks its source as copied, except with whileServing', async () => {
  const marks: unknown[] = []
  const markCopied: CopySource['markCopied'] = async (note) => {
    marks.push(note)
    return true
  }
  const copiedBefore = { to: '/before', at: 1 }
  const marked = async (
    whileServing: boolean,
    changed: Partial<CopySource> = { copiedBefore, markCopied },
  ) => {
    const done = await copy(sourceOf(changed), emptyTarget().place, { whileServing })
    return { deactivated: done.deactivated, copiedBefore: done.copiedBefore }
  }
  expect(await marked(false)).toEqual({ deactivated: true, copiedBefore })
  expect(marks).toEqual([{ to: '/there', at: 1_000 }])
  expect(await marked(true)).toEqual({ deactivated: false, copiedBefore })
  await expect(copy(sourceOf({ markCopied }), emptyTarget(() => []).place)).rejects.toThrow(
    'differs from the source',
  )
  expect(marks.length).toBe(1)
  expect(await marked(false, { markCopied: async () => false })).toEqual({
    deactivated: false,
    copiedBefore: null,
  })
})
