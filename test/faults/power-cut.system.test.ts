import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { realpathSync } from 'node:fs'
import { pick, randomFrom, seed } from '../hostile/random'
import { isLong, printFigure, times } from '../support/long'
import { Folder, theProgram } from '../support/process'
import { readTrace, traced, whyUntraceable } from '../support/trace'
import { faultsIn } from './database'
import { cutPower, type Step, someMoment, stepsOf, unsyncedRemains } from './disk'
import { differences, operatorWith, Practice, type Submission } from './submissions'

setDefaultTimeout(isLong ? 900_000 : 300_000)

/*
 * Records one run of the server with ptrace (tracer.c): its file writes, syncs and HTTP answers, in order. From this
 * record the tests compute the disk after a power cut at any moment. Then they start the program on this disk.
 */
const untraceable = whyUntraceable()
const titled = (title: string) => (untraceable ? `${title} (SKIPPED: ${untraceable})` : title)

/** The recorded steps of a server, and the submissions that the server got. */
interface Recording {
  readonly steps: readonly Step[]
  readonly sent: readonly Submission[]
}

let practice = undefined as unknown as Practice
let recorded = undefined as unknown as Recording

beforeAll(async () => {
  if (untraceable) return
  practice = await Practice.make(2)
  recorded = await record(theProgram, times(600, 1_200))
})

async function record(command: readonly string[], submissions: number): Promise<Recording> {
  using operator = practice.place()
  using folder = new Folder()
  const trace = folder.file('trace')
  await using service = await practice.serve(operator, traced(command, trace))
  const sent = await practice.submit(service, 0, submissions, 3)
  expect((await service.stop()).code).toBe(0)
  expect(sent.filter(({ answer }) => answer?.status !== 201)).toEqual([])
  const steps = stepsOf(readTrace(trace), realpathSync(operator.folder.path), practice.files.keys())
  expect(answersOf(steps)).toHaveLength(sent.length)
  return { steps, sent }
}

function answersOf(steps: readonly Step[]) {
  return steps.flatMap((step) => {
    if (step.kind !== 'answer' || !step.text.startsWith('HTTP/1.1 201 ')) return []
    const body = JSON.parse(step.text.slice(step.text.indexOf('\r\n\r\n')))
    return {
      at: step.began,
      id: body.id as number,
      authorizationNumber: body.authorizationNumber as string | null,
    }
  })
}

function asOf({ steps, sent }: Recording, moment: number): Submission[] {
  const answered = new Set(answersOf(steps).flatMap(({ at, id }) => (at < moment ? id : [])))
  return sent.map(({ mark, body, answer }) => ({
    mark,
    body,
    answer: answered.has(answer?.body.id) ? answer : null,
  }))
}

const [log, database] = ['anteroom.sqlite-wal', 'anteroom.sqlite']
const [logHeadBytes, frameBytes] = [32, 24 + 4_096]

/**
 * Returns the transactions in the log. A frame header with a nonzero size field marks a commit. The page
 * follows the header.
 */
function commitsIn(logged: readonly WriteStep[]) {
  return logged.flatMap((head, index) => {
    const isHead = (head.offset - logHeadBytes) % frameBytes === 0 && head.bytes.length === 24
    if (!isHead || head.bytes.readUInt32BE(4) === 0) return []
    return { began: head.began, ended: logged[index + 1]?.ended ?? Infinity }
  })
}

/** Lists the answers and writes that came before the sync of their data. */
function unsyncedIn(steps: readonly Step[]): string[] {
  const [logged, stored] = [writesTo(log, steps), writesTo(database, steps)]
  const commits = commitsIn(logged)
  const isSynced = (file: string, from: number, by: number) =>
    steps.some((step) => step.kind === 'sync' && step.file === file && step.began > from && step.ended < by)
  const restsOnSynced = (file: string, writes: readonly WriteStep[], by: number) => {
    const last = writes.findLast(({ began }) => began < by)
    return !last || isSynced(file, last.ended, by)
  }
  const answers = answersOf(steps).flatMap(({ at, id, authorizationNumber }) => {
    const place = logged.findIndex(({ bytes }) => bytes.includes(authorizationNumber ?? 'none'))
    const from = logged[place - 1]?.began ?? Infinity
    // An intake has no authorization number. So the last commit before the answer must be synced.
    const commit = authorizationNumber
      ? commits.find(({ began }) => began >= from)
      : commits.findLast(({ began }) => began < at)
    if (!commit || commit.ended > at) return `request ${id} was answered before it was committed`
    return isSynced(log, commit.ended, at) ? [] : `request ${id} was answered before it was synced`
  })
  // Compares pages: another thread may log the next transaction during a checkpoint.
  const copies = Map.groupBy(logged, ({ bytes }) => Bun.hash(bytes))
  const writes = stored.flatMap(({ began, bytes }) => {
    const copy = copies.get(Bun.hash(bytes))?.findLast((page) => page.began < began)
    if (copy && isSynced(log, copy.ended, began)) return []
    return `the database was written at ${began} before the log was synced`
  })
  const resets = steps
    .filter((step) => isReset(step) && !restsOnSynced(database, stored, step.began))
    .map(({ began }) => `the log was reset at ${began} before the database was synced`)
  return [...answers, ...writes, ...resets]
}

type WriteStep = Extract<Step, { kind: 'write' }>

function writesTo(file: string, steps: readonly Step[]): WriteStep[] {
  return steps.flatMap((step) => (step.kind === 'write' && step.file === file ? step : []))
}

/** True if a step discards the content of the log. */
function isReset(step: Step): boolean {
  if (!('file' in step) || step.file !== log) return false
  return step.kind === 'truncate' || step.kind === 'remove' || (step.kind === 'write' && step.offset === 0)
}

describe('faults: the simulated disk after a power cut', () => {
  const at = (moment: number) => ({ began: moment, ended: moment + 1 })
  const steps: Step[] = [
    { kind: 'create', file: 'a', ...at(0) },
    { kind: 'write', file: 'a', offset: 0, bytes: Buffer.alloc(2_048, 1), ...at(2) },
    { kind: 'sync', file: 'a', ...at(4) },
    { kind: 'sync', file: '', ...at(6) },
    { kind: 'write', file: 'a', offset: 256, bytes: Buffer.alloc(1_024, 2), ...at(8) },
    { kind: 'create', file: 'b', ...at(10) },
  ]
  const cutAt = (moment: number, leaves: (typeof unsyncedRemains)[number], start = seed) =>
    cutPower(steps, new Map(), moment, leaves, randomFrom(start))
  const many = (leaves: (typeof unsyncedRemains)[number]) =>
    new Set(Array.from({ length: 400 }, (_, start) => cutAt(20, leaves, start).get('a')?.toString('hex')))
  const [old, next] = [Buffer.alloc(2_048, 1), Buffer.alloc(2_048, 1).fill(2, 256, 1_280)]

  test('a descriptor that one thread closes while another opens it belongs to the opened file', () => {
    const call = { bytes: Buffer.from('new'), paths: [], result: 0 }
    const [opened, closed, written] = [
      { ...call, name: 'openat', args: [-100, 0, 0o2], paths: ['/place/a'], result: 5, began: 0, ended: 3 },
      { ...call, name: 'close', args: [5], began: 1, ended: 2 },
      { ...call, name: 'pwrite64', args: [5, 0, 3, 0], result: 3, began: 4, ended: 5 },
    ] as const
    expect(stepsOf([opened, closed, written], '/place', ['a'])).toEqual([
      { kind: 'write', file: 'a', offset: 0, bytes: call.bytes, began: 4, ended: 5 },
    ])
  })

  test('a power cut keeps synced files whose names were synced, and guarantees nothing else', () => {
    expect(cutAt(6, 'nothing')).toEqual(new Map())
    expect(cutAt(7, 'nothing')).toEqual(new Map())
    expect(cutAt(20, 'nothing')).toEqual(new Map([['a', old]]))
  })

  test('a power cut may keep each unsynced write, or some of its sectors', () => {
    expect(many('writes')).toEqual(new Set([old, next].map((bytes) => bytes.toString('hex'))))
    // The write touches three sectors of 512 bytes. Each of them may be kept or lost.
    expect(many('sectors').size).toBe(8)
  })
})

test.skipIf(untraceable !== null)(
  titled(
    'faults: every acknowledged booking is synced before its answer is sent, and every checkpoint follows a sync',
  ),
  () => {
    const { steps } = recorded
    expect(unsyncedIn(steps)).toEqual([])
    const syncsOf = (file: string) =>
      steps.filter((step) => step.kind === 'sync' && step.file === file).length
    const answered = answersOf(steps).map(({ at }) => at)
    const [first, last] = [Math.min(...answered), Math.max(...answered)]
    const checkpointed = writesTo(database, steps).filter(({ began }) => first < began && began < last)
    // Starting and stopping also write the database. At least one checkpoint must have happened during the bookings.
    expect(checkpointed).not.toEqual([])
    printFigure(
      `${answersOf(steps).length} bookings and intakes in ${commitsIn(writesTo(log, steps)).length} transactions, ` +
        `${syncsOf(log)} syncs of the log and ${syncsOf(database)} of the database; none was answered before it was synced`,
    )
  },
)

describe('faults: a power cut that loses unsynced writes', () => {
  const cuts = Array.from({ length: times(3, 200) }, (_, index) => index)
  const tally = { survived: 0, acknowledged: 0, worstStart: 0 }

  test.skipIf(untraceable !== null).each(cuts)(
    titled(
      'after a power cut no acknowledged booking is lost, corrupted or duplicated, and the service starts (cut %i)',
    ),
    async (cut) => {
      const random = randomFrom(seed + cut)
      const moment = someMoment(recorded.steps, random)
      const leaves = unsyncedRemains[cut % unsyncedRemains.length] as (typeof unsyncedRemains)[number]
      using operator = practice.place(cutPower(recorded.steps, practice.files, moment, leaves, random))
      const started = performance.now()
      await using service = await practice.serve(operator)
      await practice.findAny(service)
      tally.worstStart = Math.max(tally.worstStart, performance.now() - started)
      const sent = asOf(recorded, moment)
      expect([
        `seed ${seed}, cut ${cut}, ${leaves}`,
        ...(await differences(operator.database, sent)),
      ]).toEqual([`seed ${seed}, cut ${cut}, ${leaves}`])
      const next = await practice.submit(service, recorded.sent.length, 4)
      expect(next.map(({ answer }) => answer?.status)).toEqual(next.map(() => 201))
      tally.survived++
      tally.acknowledged += sent.filter(({ answer }) => answer).length
    },
  )

  afterAll(() => {
    if (untraceable) return
    printFigure(
      `after ${tally.survived} of ${cuts.length} power cuts all of the ${tally.acknowledged} acknowledged bookings and intakes ` +
        `were complete; the slowest start took ${Math.round(tally.worstStart)} ms`,
    )
  })
})

describe.each([
  ['next to the database', 'anteroom.sqlite.key'],
  ['in another folder', 'keys/master.key'],
])('faults: a power cut during init, with the key %s', (where, key) => {
  const cuts = Array.from({ length: times(5, 60) }, (_, index) => index)
  const init = ['init', '--master-key-file', key]
  // This folder exists before the run.
  const before = new Map([['keys', null]])
  let steps: readonly Step[] = []

  beforeAll(async () => {
    if (untraceable) return
    using folder = new Folder()
    using operator = operatorWith(before, traced(theProgram, folder.file('trace')))
    await operator.do(...init)
    steps = stepsOf(readTrace(folder.file('trace')), realpathSync(operator.folder.path), before.keys())
  })

  test.skipIf(untraceable !== null).each(cuts)(
    titled(
      'after a power cut during init, the database and its key are complete, or the next init creates them (cut %i)',
    ),
    async (cut) => {
      const random = randomFrom(seed + cut)
      // The first cuts lose all unsynced changes. They are before and after each link call, and at the end. All later
      // cuts are random.
      const moments = [
        ...steps.filter(({ kind }) => kind === 'link').flatMap(({ began, ended }) => [began, ended + 1]),
        Infinity,
      ]
      const moment = moments[cut] ?? someMoment(steps, random)
      const leaves = cut < moments.length ? 'nothing' : pick(random, unsyncedRemains)
      using operator = operatorWith(cutPower(steps, before, moment, leaves, random))
      const { code, stderr } = await operator.run(init)
      const wasThere =
        stderr === 'error: a file already exists at the database path\nTry: choose another path\n'
      const context = [where, seed, cut, leaves, moment]
      expect([...context, wasThere ? '' : stderr]).toEqual([...context, ''])
      if (moment === Infinity) expect([code, wasThere]).toEqual([6, true])
      const list = ['organization', 'list', '--master-key-file', key]
      expect(await operator.run(list)).toMatchObject({ code: 0, stderr: '' })
      expect(faultsIn(operator.database)).toEqual([])
    },
  )
})
