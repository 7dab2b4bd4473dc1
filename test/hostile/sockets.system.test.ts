import { Database } from 'bun:sqlite'
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { paths } from '../contract/contract'
import { isLong, times } from '../support/long'
import { Folder, type Sandbox, startSandbox } from '../support/process'
import { below, eachOf, type Random, randomFrom, seed } from './random'
import { Material, regionList, type SocketCase, socketCases } from './socket-cases'
import { type Exchange, exchange, expectOneOfTheShapes, type Step } from './wire'

setDefaultTimeout(isLong ? 600_000 : 300_000)

/** Number of cases that run concurrently. */
const concurrency = 24
/** Rounds of split requests. Each round splits the bytes at different places. */
const rounds = times(1, 50)

const folder = new Folder()
const path = folder.file('sockets.sqlite')
let sandbox: Sandbox
let port: number
beforeAll(async () => {
  sandbox = await startSandbox(['--database', path])
  port = Number(new URL(sandbox.report.baseUrl).port)
})
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

afterEach(async () => {
  const answer = await sandbox.get(regionList)
  expect([answer.status, answer.body.length, answer.body[0].stateProvinceNameLocal]).toEqual([
    200,
    1,
    'Ireland',
  ])
  expect(sandbox.stderr).toBe('')
})

let members = 0
const material = () => new Material(`socket-${members++}`, sandbox.token())

const outcomesOf = ([, allowed]: SocketCase) => allowed.split(' or ')
const mostAnswers = (row: SocketCase) =>
  Math.max(...outcomesOf(row).map((outcome) => (outcome === 'open' ? 0 : outcome.split(', ').length)))

/** Describes the outcome of a case in the notation of SocketCase. */
function outcomeOf({ answers, ending }: Exchange): string {
  const words = answers.map(({ status, headers }) =>
    status < 400 || headers.has('x-error-code') ? `${status}` : `${status} bare`,
  )
  return words.join(', ') || ending
}

function run(steps: readonly Step[], row: SocketCase): Promise<Exchange> {
  return exchange(port, steps, { due: mostAnswers(row) })
}

/** Looks up the two members of a case. Returns the email addresses of the stored ones. */
async function storedOf({ member, token }: Material): Promise<string[]> {
  const ids = [member, `${member}-hidden`]
  const found = await Promise.all(ids.map((id) => sandbox.get(`${paths.user}?external_user_id=${id}`, token)))
  return found.filter(({ status }) => status === 200).map(({ body }) => body.email)
}

/** The email addresses of the members in 201 responses. */
function createdBy({ answers }: Exchange): string[] {
  return answers.filter(({ status }) => status === 201).map(({ text }) => JSON.parse(text).member.email)
}

function countRequests(): number {
  using database = new Database(path, { readonly: true })
  return (database.query('SELECT count(*) AS count FROM booking_requests').get() as { count: number }).count
}

function expectRefusalsInShape(of: Material, { answers }: Exchange): void {
  const absent = [of.member, of.token, 'Sample', 'Several days']
  for (const answer of answers) if (answer.status >= 400) expectOneOfTheShapes(answer, absent)
}

for (const [group, cases] of Object.entries(socketCases)) {
  test(`hostile: ${cases.length} ${group} cases get an allowed response, and only bookings answered with 201 are stored`, async () => {
    const before = countRequests()
    const runs = await eachOf(cases, concurrency, async (row) => {
      const of = material()
      return { row, of, seen: await run(row[2](of), row) }
    })
    const outcomes = runs.map(({ row, seen }) => `${row[0]}: ${outcomeOf(seen)}`)
    const wanted = runs.map(({ row, seen }) => {
      const allowed = outcomesOf(row)
      return `${row[0]}: ${allowed.includes(outcomeOf(seen)) ? outcomeOf(seen) : row[1]}`
    })
    expect(outcomes).toEqual(wanted)
    let created = 0
    for (const { row, of, seen } of runs) {
      expectRefusalsInShape(of, seen)
      expect(await storedOf(of), row[0]).toEqual(createdBy(seen))
      created += createdBy(seen).length
    }
    expect(countRequests()).toBe(before + created)
  })
}

/** Splits bytes into up to five pieces at random places, with short pauses between them. */
function inPieces(random: Random, steps: readonly Step[]): Step[] {
  return steps.flatMap((step) => {
    if (!(step instanceof Buffer) || step.length < 2) return [step]
    const cuts = Array.from({ length: 4 }, () => below(random, step.length)).sort((a, b) => a - b)
    const bounds = [0, ...cuts, step.length]
    return bounds.slice(1).flatMap((end, at) => [step.subarray(bounds[at], end), below(random, 3)])
  })
}

test(`hostile: socket cases that are sent in pieces get no extra response, and only bookings answered with 201 are stored`, async () => {
  const cases = Object.values(socketCases).flat()
  for (let round = 0; round < rounds; round++) {
    const random = randomFrom(seed + round)
    const before = countRequests()
    const runs = await eachOf(cases, concurrency, async (row) => {
      const of = material()
      return { row, of, seen: await run(inPieces(random, row[2](of)), row) }
    })
    let created = 0
    for (const { row, of, seen } of runs) {
      expectRefusalsInShape(of, seen)
      const context = `${row[0]}, HOSTILE_SEED=${seed}, round ${round}`
      expect(seen.answers.length, context).toBeLessThanOrEqual(mostAnswers(row))
      expect(await storedOf(of), context).toEqual(createdBy(seen))
      created += createdBy(seen).length
    }
    expect(countRequests()).toBe(before + created)
  }
})
