import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { paths } from '../contract/contract'
import { booking } from '../support/builders'
import { mainThreadMillisFor } from '../support/cpu'
import { isLong, times } from '../support/long'
import { type OfferedSlot, type Sandbox, startSandbox } from '../support/process'
import { eachOf, seed } from './random'
import { type Sample, sample, type World } from './samples'
import { expectOneOfTheShapes, type WireAnswer } from './wire'

setDefaultTimeout(isLong ? 3_600_000 : 300_000)

const runs = times(2_500, 1_000_000)
const batchSize = 500
const concurrency = 16

/** How long one request may keep all others waiting. */
const mostMillis = 50
/** How often a request that seems to is tried again: a machine that is busy makes everything slower, but not each time. */
const mostTries = 12

let sandbox: Sandbox
let world: World
beforeAll(async () => {
  sandbox = await startSandbox()
  const regions = (await sandbox.get(`${paths.regions}?country_code=CA`)).body
  // Few are licensed there, so that the answers are small.
  const yukon = regions.find((region: { stateProvinceCode: string }) => region.stateProvinceCode === 'YT')
  const slots = await sandbox.offered()
  expect((await sandbox.post(booking('looked-up'))).status).toBe(201)
  const takeSlot = () => bookingDataOf(slots.pop())
  world = { regionId: yukon.id, countryCode: 'CA', externalUserId: 'looked-up', takeSlot }
})
afterAll(() => sandbox[Symbol.asyncDispose]())

function bookingDataOf(slot: OfferedSlot | undefined) {
  return booking('anybody', slot).bookingData ?? null
}

/** How many requests were answered with a 201. */
let created = 0

/** How many are stored. */
function countStored(): number {
  using database = new Database(sandbox.report.database, { readonly: true })
  return (database.query('SELECT count(*) AS count FROM booking_requests').get() as { count: number }).count
}

type Timed = WireAnswer & { readonly millis: number }

async function send({ method, target, contentType, headers, body }: Sample): Promise<Timed> {
  const since = performance.now()
  const answer = await fetch(sandbox.report.baseUrl + target, {
    method,
    headers: {
      Authorization: `Bearer ${sandbox.token()}`,
      ...(contentType !== undefined && { 'Content-Type': contentType }),
      ...headers,
    },
    ...(body !== undefined && { body }),
  })
  const text = await answer.text()
  if (answer.status === 201) created++
  return { status: answer.status, headers: answer.headers, text, millis: performance.now() - since }
}

/** Judges an answer by what its request was. */
function judge({ status, field, values }: Sample, answer: WireAnswer): void {
  if (status !== null) expect(answer.status).toBe(status)
  if ([200, 201].includes(answer.status)) return
  expectOneOfTheShapes(answer)
  expect(answer.headers.has('x-error-code')).toBe(true)
  const { message } = JSON.parse(answer.text)
  const whole = answer.text + message + JSON.stringify([...answer.headers])
  expect(values.filter((value) => !words.has(value) && whole.includes(value))).toEqual([])
  if (status === null || field === undefined) return
  expect(message).toStartWith(`${field}: `)
  // One fault is one fault told.
  expect(message).not.toContain('; ')
}

/** What the contract says itself, and may say again. */
const words = new Set(['in-person', 'telephonic', 'in-video'])

/** Sends something, and tells the longest that a neighbour waited meanwhile. */
async function underWatch<T>(sending: () => Promise<T>): Promise<{ sent: T; longestMillis: number }> {
  let isUnderWay = true
  let longestMillis = 0
  const watch = async () => {
    while (isUnderWay) {
      const since = performance.now()
      await sandbox.get(`${paths.regions}?country_code=IE`)
      longestMillis = Math.max(longestMillis, performance.now() - since)
    }
  }
  const watching = watch()
  const sent = await sending()
  isUnderWay = false
  await watching
  return { sent, longestMillis }
}

/** Whether a request takes too long of the thread that answers everybody whenever it is sent by itself. */
async function isSlow(one: Sample): Promise<boolean> {
  for (let tried = 0; tried < mostTries; tried++) {
    if ((await mainThreadMillisFor(sandbox.pid, () => send(one))) < mostMillis) return false
  }
  return true
}

test(`${runs} bodies and queries made from the schemas: what is right is taken, one fault is told by its field, nothing fails, is repeated or stored unless told, and no neighbour waits`, async () => {
  const before = countStored()
  const delays: number[] = []
  const told = new Map<number, number>()
  for (let start = 0; start < runs; start += batchSize) {
    const samples = Array.from({ length: batchSize }, (_, at) => sample(seed, start + at, world))
    const { sent: answers, longestMillis } = await underWatch(() => eachOf(samples, concurrency, send))
    for (const [at, one] of samples.entries()) {
      const answer = answers[at] as Timed
      told.set(answer.status, (told.get(answer.status) ?? 0) + 1)
      try {
        judge(one, answer)
      } catch (error) {
        const how = `HOSTILE_SEED=${seed}, request ${start + at}: ${one.method} ${one.what}`
        throw new Error(`${how}\n${answer.status} ${answer.text.slice(0, 1_000)}\n${error}`)
      }
    }
    delays.push(longestMillis)
    // Whoever keeps all others waiting is answered no sooner.
    for (const one of samples.filter((_, at) => (answers[at] as Timed).millis >= mostMillis)) {
      expect([one.what, one.target, await isSlow(one)]).toEqual([one.what, one.target, false])
    }
  }
  expect(countStored()).toBe(before + created)
  expect(sandbox.stderr).toBe('')
  delays.sort((a, b) => a - b)
  const [median = 0, longest = 0] = [delays[delays.length >> 1], delays.at(-1)]
  const statuses = JSON.stringify(Object.fromEntries(told))
  console.info(
    `Seed ${seed}: ${runs} requests ${statuses}; a neighbour waited at most ${longest.toFixed(1)} ms, ` +
      `in half of the batches at most ${median.toFixed(1)} ms.`,
  )
})
