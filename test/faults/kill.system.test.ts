import { expect, setDefaultTimeout, test } from 'bun:test'
import { below, type Random, randomFrom, seed } from '../hostile/random'
import { booking } from '../support/builders'
import { isLong, printFigure, times } from '../support/long'
import type { Operator, Served } from '../support/operator'
import {
  eventually,
  Folder,
  type OfferedSlot,
  Program,
  type Sandbox,
  startSandbox,
  theProgram,
  withFewProviders,
} from '../support/process'
import { traced, whyUntraceable } from '../support/trace'
import { ask, faultsIn } from './database'
import { differences, Practice, type Submission } from './submissions'

setDefaultTimeout(isLong ? 3_600_000 : 300_000)

/**
 * A kill happens after some ms, or just before a write or sync. `step` counts the writes and syncs of the
 * file whose name ends in `end`. Writes to the log are commits. Writes to the database are checkpoints.
 */
type Place = { readonly afterMillis: number } | { readonly end: string; readonly step: number }

const untraceable = whyUntraceable()

function somePlace(cycle: number, random: Random): Place {
  if (cycle % 2 === 0 || untraceable !== null) return { afterMillis: below(random, 150) }
  if (cycle % 4 === 1) return { end: '-wal', step: 1 + below(random, 300) }
  return { end: '.sqlite', step: 1 + below(random, 60) }
}

class Tally {
  readonly killed = {
    'at a random time': 0,
    'during a start': 0,
    'during a commit': 0,
    'during a checkpoint': 0,
  }
  readonly startMillis: number[] = []
  acknowledged = 0
}

class Victim {
  /** Submissions since the last comparison with the database. */
  #sent: Submission[] = []
  /** Submissions that were compared with the database. */
  #before: Submission[] = []
  #newest = 0

  constructor(
    private readonly practice: Practice,
    private readonly operator: Operator,
    private readonly tally: Tally,
  ) {}

  /**
   * Starts the server and compares the database with the new answers. Then kills the server under load.
   */
  async live(place: Place): Promise<string[]> {
    const isStep = 'step' in place
    const started = performance.now()
    // If the kill comes during the start, the program exits before it listens.
    await using service = await this.#serve(place).catch((error) => {
      if (!isStep) throw error
      return null
    })
    if (!service) {
      this.tally.killed['during a start']++
      return []
    }
    const isUp = await this.practice.findAny(service).then(
      () => true,
      (error) => {
        if (!isStep) throw error
        return false
      },
    )
    if (!isUp) {
      expect((await service.exit()).signal).toBe('SIGKILL')
      this.tally.killed['during a start']++
      return []
    }
    if (!isStep) this.tally.startMillis.push(performance.now() - started)
    const found = await this.compare()
    const submitting = this.practice.submit(service, this.#before.length, 600)
    if (!isStep) {
      await Bun.sleep(place.afterMillis)
      service.signal('SIGKILL')
    }
    this.#sent = await submitting
    const hasDied = !isStep || this.#sent.some(({ answer }) => answer === null)
    if (!hasDied) service.signal('SIGKILL')
    expect((await service.exit()).signal).toBe('SIGKILL')
    if (!isStep || !hasDied) this.tally.killed['at a random time']++
    else this.tally.killed[place.end === '-wal' ? 'during a commit' : 'during a checkpoint']++
    return found
  }

  async compare(): Promise<string[]> {
    const found = await differences(this.operator.database, this.#sent, this.#newest)
    this.#newest = ask(this.operator.database, 'SELECT max(id) FROM booking_requests') ?? 0
    this.tally.acknowledged += this.#sent.filter(({ answer }) => answer).length
    this.#before.push(...this.#sent)
    this.#sent = []
    return found
  }

  /** Stops the server and compares all submissions. */
  async end(): Promise<string[]> {
    await using service = await this.practice.serve(this.operator)
    const found = await this.compare()
    expect((await service.stop()).code).toBe(0)
    return [...found, ...(await differences(this.operator.database, this.#before))]
  }

  #serve(place: Place): Promise<Served> {
    const command = 'step' in place ? traced(theProgram, '/dev/null', place) : theProgram
    return this.practice.serve(this.operator, command)
  }
}

const cycles = times(6, 1_000)
const cyclesPerDatabase = 50

test(`faults: a server killed ${cycles} times during bookings loses, corrupts or duplicates no answered booking${
  untraceable ? ` (no kill was placed in a commit: ${untraceable})` : ''
}`, async () => {
  const practice = await Practice.make(20)
  const tally = new Tally()
  const random = randomFrom(seed)
  for (let done = 0; done < cycles; ) {
    using operator = practice.place()
    const victim = new Victim(practice, operator, tally)
    for (const end = Math.min(cycles, done + cyclesPerDatabase); done < end; done++) {
      const place = somePlace(done, random)
      const context = { seed, cycle: done, place }
      expect({ ...context, found: await victim.live(place) }).toEqual({ ...context, found: [] })
    }
    expect({ seed, done, found: await victim.end() }).toEqual({ seed, done, found: [] })
  }
  const starts = tally.startMillis.toSorted((one, other) => one - other)
  const [median = Infinity, worst = Infinity] = [starts[starts.length >> 1], starts.at(-1)]
  const kills = Object.entries(tally.killed).map(([where, count]) => `${count} ${where}`)
  printFigure(
    `${cycles} kills (${kills.join(', ')}), ${tally.acknowledged} bookings acknowledged, none lost, corrupted or duplicated; ` +
      `first answer after a start: median ${Math.round(median)} ms, slowest ${Math.round(worst)} ms`,
  )
  // The slowest start depends on how busy the machine was.
  expect(median).toBeLessThan(2_000)
})

/** A request with an idempotency key, and the exact text of its answer. The answer is null if none arrived. */
interface Keyed {
  readonly key: string
  readonly body: string
  readonly answer: string | null
}

/** Sends bookings and intakes on eight connections until the server is gone. Each request has an idempotency key. */
async function sendUntilTheEnd(
  sandbox: Sandbox,
  slots: readonly OfferedSlot[],
  sent: Keyed[],
): Promise<void> {
  let next = 0
  const send = async (): Promise<void> => {
    for (;;) {
      const number = next++
      const key = `key-${number}`
      const slot = number % 2 === 0 ? slots[number / 2] : undefined
      const body = JSON.stringify(booking(`keyed-${number}`, slot))
      const answer = await sandbox.postKeyed(key, body).catch(() => null)
      expect(answer?.status ?? 201).toBe(201)
      sent.push({ key, body, answer: answer?.text ?? null })
      if (!answer) return
    }
  }
  await Promise.all(Array.from({ length: 8 }, send))
}

test.each(Array.from({ length: times(2, 25) }, (_, index) => index + 1))(
  'faults: a request that is retried with its idempotency key after a kill is stored once (round %i)',
  async (round) => {
    using folder = new Folder()
    const path = folder.file('kept.sqlite')
    await using killed = await startSandbox(['--database', path, ...withFewProviders])
    const count = (what: string) => ask(path, `SELECT count(*) FROM ${what}`) ?? 0
    const [members, requests] = [count('members'), count('booking_requests')]
    const slots = (await killed.offered()).slice(0, 400)
    const sent: Keyed[] = []
    const connections = sendUntilTheEnd(killed, slots, sent)
    await eventually('enough answers', () => sent.length >= 12 * round)
    killed.signal('SIGKILL')
    await killed.exit()
    await connections
    expect(sent.filter(({ answer }) => answer === null)).toHaveLength(8)

    await using again = await startSandbox(['--database', path])
    for (const { key, body, answer } of sent) {
      const { status, text, isReplay } = await again.postKeyed(key, body)
      expect([status, text]).toEqual([201, answer ?? text])
      if (answer !== null) expect(isReplay).toBe(true)
      expect(await again.postKeyed(key, body)).toEqual({ status, text, isReplay: true })
    }
    expect([count('members') - members, count('booking_requests') - requests]).toEqual([
      sent.length,
      sent.length,
    ])
    await again.stop()
    expect(faultsIn(path)).toEqual([])
    if (round > 1) return
    // Two days later all receipts are removed, even though no client has sent a key since.
    const later = new Date(Date.now() + 48 * 60 * 60_000).toISOString().replace(/\.\d+/, '')
    expect(count('replays')).toBe(sent.length)
    await using afterwards = await startSandbox(['--database', path, '--now', later])
    await eventually('the receipts to be removed', () => ask(path, 'SELECT count(*) FROM replays') === 0)
    expect((await afterwards.stop()).code).toBe(0)
  },
)

test('faults: a sandbox killed while it fills its database is complete after the next start', async () => {
  using folder = new Folder()
  const path = folder.file('kept.sqlite')
  await using killed = new Program(['sandbox', '--port', '0', '--json', '--database', path])
  await eventually(
    'the first partner',
    () => !killed.isRunning || (ask(path, 'SELECT count(*) FROM partners') ?? 0) > 0,
  )
  killed.signal('SIGKILL')
  await killed.exit()
  await using again = await startSandbox(['--database', path])
  expect(again.report.partners.map(({ state }) => state)).toEqual([
    'active',
    'active',
    'partner_inactive',
    'organization_deactivated',
    'no_organization',
    'rotated',
  ])
  const { deactivatedMember } = again.report.examples
  expect((await again.get(`/partners/v1/user/?external_user_id=${deactivatedMember}`)).status).toBe(403)
})
