import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { DirectoryFile } from '../../src/directory-files/document'
import { isLong, times } from '../support/long'
import { type Dice, diceFrom } from './dice'
import { absenceFrom, regionIds, withKnownRegions } from './directory-files'
import { type Asking, type KnownPage, pageFrom, pagesFrom } from './known-page'
import { changed, manyProviders, withNewcomer } from './many-providers'
import type { Move, Wardrobe } from './moves'
import type { Told } from './oracle-answers'
import { acceptances, type Received, type Sent, send } from './raw-pages'
import { baseUrl, dropTemplate, type Running, wholeAnswer } from './running'
import { dayMillis, hourMillis, minuteMillis } from './wall-clock'
import { WatchedDirectory } from './watched-directory'
import { carryOut, openWorld, type World } from './world'

// A page of a search is never stale. Partners search, book and come back with the tags that they were given, staff change
// what they like in another process, and the clock goes on: by milliseconds, to the very start of a slot, into the day on
// which a license ends, and back. Each answer is held to a page that is worked out from nothing, and after each change the
// pages that it changes are asked for at once. A failure names the seed and the step, and STALENESS_SEED=… goes that way again
// and prints its steps. TEST_LONG=1 goes many ways, and has the program itself carry out some of the commands.
setDefaultTimeout(isLong ? 14_400_000 : 300_000)

afterAll(dropTemplate)

const ways = times(2, 60)
const steps = times(500, 4_000)
const providerCount = times(36, 60)
const again = process.env.STALENESS_SEED
const seeds = again ? [Number(again)] : Array.from({ length: ways }, (_, index) => index + 1)

/** The clock goes on for so long. */
const spanDays = 30
/** Before clocks are changed in the north, and in the south and then in America. */
const beginnings = ['2026-10-12T11:00:00Z', '2027-03-08T13:05:00.250Z'].map((at) => Date.parse(at))

const wardrobe: Wardrobe = {
  externalUserId: (partner, person) => `m-${partner}-${person}`,
  email: (partner, email) => `e${partner}.${email}@example.com`,
  text: (_, name, serial) => `${name} ${serial}`,
}

/** What most clients say that they take. */
const usual = acceptances.filter(([accepts]) => accepts === 'gzip' || accepts === 'zstd')

const seen = new Map<string, number>()
const note = (kind: string) => seen.set(kind, (seen.get(kind) ?? 0) + 1)

/** One way that things may go. */
class Way {
  readonly #pages: KnownPage[]
  readonly #today: number
  readonly #until: number
  /** The clock is not set back behind it: tokens that were changed stay so. */
  #floor: number
  #serial = 0
  #taken = 0

  constructor(
    private readonly world: World,
    private readonly dice: Dice,
    private readonly port: number,
    private readonly tell: (line: string) => void,
  ) {
    const { now } = world.oracle
    this.#today = Math.floor(now / dayMillis)
    this.#until = now + (spanDays - 2) * dayMillis
    this.#floor = now
    this.#pages = pagesFrom(dice, 16, regionIds)
  }

  async step(): Promise<void> {
    const { dice } = this
    this.#taken++
    await dice.weighed<() => Promise<void>>([
      [50, () => () => this.#search()],
      [3, () => () => this.#searchMany()],
      [3, () => () => this.#searchElsewhere()],
      [0.3, () => () => this.#searchAfresh()],
      [14, () => () => this.#setClock()],
      [2, () => () => this.#crossMoment()],
      [26, () => () => this.#move(this.#nextMove())],
      [2, () => () => this.#searchMeanwhile()],
      [isLong ? 0.2 : 0, () => () => this.#runCommand()],
    ])()
  }

  /** Carries out a move, which must come to what is foretold. */
  async #move(move: Move): Promise<void> {
    await this.#carryOut(move)
    await this.#searchWhatChanged(move.act)
  }

  async #carryOut(move: Move): Promise<void> {
    this.tell(JSON.stringify(move))
    const { told, foretold } = await carryOut(this.world, move)
    this.tell(`  ${JSON.stringify(told)}`)
    const { code, status } = Object(told)
    note(`${move.act}: ${typeof told === 'string' ? told : (code ?? status ?? 'done')}`)
    if (move.act === 'rotate' || move.act === 'revoke' || move.act === 'issue') {
      this.#floor = this.world.oracle.now
    }
    if (!Bun.deepEquals(told, foretold)) expect(told).toEqual(foretold)
  }

  /** Some of the pages that are no longer what they were are the next that are asked for. */
  async #searchWhatChanged(by: string): Promise<void> {
    const { dice, world } = this
    const looked = Array.from({ length: 4 }, () => dice.pick(this.#pages))
    const stale = [...new Set(looked)].filter((page) => page.hasChanged(world)).slice(0, 2)
    const [partner] = this.#admitted()
    if (partner === undefined) return
    for (const page of stale) {
      const asking = { ...this.#asking(page), partner, token: 'in force' } as const
      await this.#ask(page, { ...asking, tags: page.lastTag })
      // And once more: at first it may be given as it is, even to whoever takes it compressed.
      const compressed = dice.pick(usual)
      const [kind] = await this.#ask(page, { ...asking, acceptance: compressed, tags: null })
      note(`changed by ${by}: ${kind}`)
    }
  }

  /** The partners who are let in. */
  #admitted(): number[] {
    const { oracle } = this.world
    return oracle.partners.flatMap((partner, place) => {
      const key = partner.keys.find((one) => oracle.isInForce(one))
      return key && oracle.admit(partner, key.token) === null ? [place] : []
    })
  }

  /** One who is let in, nearly always. */
  #partner(): number {
    const admitted = this.#admitted()
    return admitted.length > 0 && this.dice.chance(0.95) ? this.dice.pick(admitted) : this.dice.below(4)
  }

  #asking(page: KnownPage): Asking {
    const { dice } = this
    const { below, chance, pick } = dice
    return {
      partner: this.#partner(),
      token: chance(0.985) ? 'in force' : pick([{ old: below(4) }, 'forged', 'of nobody'] as const),
      acceptance: chance(0.5) ? pick(usual) : pick(acceptances),
      tags: page.tagsFrom(dice),
      how: dice.weighed<Asking['how']>([
        [8, () => 'once'],
        [1.5, () => 'twice'],
        [0.7, () => 'headed'],
      ]),
    }
  }

  async #ask(page: KnownPage, asking: Asking): Promise<string[]> {
    this.tell(`${page.path} ${JSON.stringify(asking)}`)
    const kinds = await page.ask(this.world, this.port, asking)
    this.tell(`  ${kinds.join(', ')}`)
    for (const kind of kinds) note(`search: ${kind}`)
    return kinds
  }

  #page(): KnownPage {
    return this.dice.chance(0.85) ? this.dice.pick(this.#pages) : pageFrom(this.dice, regionIds)
  }

  async #search(): Promise<void> {
    const page = this.#page()
    await this.#ask(page, this.#asking(page))
  }

  /** Several that are asked for at one instant are not taken for one another. */
  async #searchMany(): Promise<void> {
    for (let count = 0; count < 6; count++) await this.#search()
  }

  /** The other process tells the same. */
  async #searchElsewhere(): Promise<void> {
    const page = this.#page()
    this.tell(`elsewhere ${page.path}`)
    note(`search: ${await page.askElsewhere(this.world, this.world.site.via(1), 0)}`)
  }

  /** So does one that has only just opened the database, to which all is new. */
  async #searchAfresh(): Promise<void> {
    const { site } = this.world
    await site.start()
    const fresh = site.running.pop() as Running
    try {
      for (let count = 0; count < 3; count++) {
        const page = this.#page()
        this.tell(`afresh ${page.path}`)
        await page.askElsewhere(this.world, fresh, 0)
        note('search: afresh')
      }
    } finally {
      await fresh.service.close()
    }
  }

  /** While something is done, searches tell what was before it or what is since. */
  async #searchMeanwhile(): Promise<void> {
    const { dice, world } = this
    const changes = ['submit', 'decline', 'switch provider', 'add time off', 'load']
    let move = this.#nextMove()
    while (!changes.includes(move.act)) move = this.#nextMove()
    const [partner] = this.#admitted()
    if (partner === undefined) return
    const pages = Array.from({ length: 3 }, () => dice.pick(this.#pages))
    const askings = pages.map(
      (page) => ({ ...this.#asking(page), partner, token: 'in force', tags: null }) as const,
    )
    const search = async () => {
      for (const [place, page] of pages.entries()) await this.#ask(page, askings[place] as Asking)
    }
    // Known before and behind: what is asked next does not depend on which was the faster.
    await search()
    const before = pages.map((page) => page.foretell(world))
    const sent = pages.map((page, place) => page.sentFor(world, this.port, askings[place] as Asking))
    const [answers] = await Promise.all([Promise.all(sent.map(send)), this.#carryOut(move)])
    for (const [place, page] of pages.entries()) {
      const [answer, old] = [answers[place] as Received, before[place] as Told]
      const isOld = answer.text === JSON.stringify(old.body)
      page.judge(sent[place] as Sent, answer, isOld ? old : page.foretell(world))
      note('search: meanwhile')
    }
    await search()
    await this.#searchWhatChanged(move.act)
  }

  /** The program itself does what staff do. */
  async #runCommand(): Promise<void> {
    const { dice, world } = this
    const { oracle, site } = world
    // Where it is first imported, it is built.
    const { theProgram } = await import('../support/process')
    const run = async (...words: string[]) => {
      this.tell(words.join(' '))
      const env = { ANTEROOM_DATABASE: site.path, ANTEROOM_MASTER_KEY_FILE: site.keyFile }
      const command = Bun.spawn([...theProgram, ...words], { env, stdout: 'ignore', stderr: 'pipe' })
      if ((await command.exited) !== 0) throw new Error(await command.stderr.text())
    }
    const held = oracle.requests.filter(({ state }) => state === 'pending' || state === 'accepted')
    if (held.length > 0 && dice.chance(0.5)) {
      const { id } = dice.pick(held)
      await run('request', 'decline', String(id), '--yes')
      oracle.move(id, 'declined')
    } else {
      const provider = dice.pick(oracle.directory.providers)
      const active = dice.chance(0.6)
      const { ref } = provider.said
      await run('provider', ...(active ? ['reactivate', ref] : ['deactivate', ref, '--yes']))
      oracle.switchProvider(provider, active)
    }
    await this.#searchWhatChanged('a command')
  }

  /** Sets the clock, forth or a little back. */
  async #setClock(): Promise<void> {
    const { oracle } = this.world
    const { below, chance, pick } = this.dice
    const { now } = oracle
    const longSteps: readonly (readonly [share: number, make: () => number])[] = [
      [6, () => this.#nextMidnight() + pick([-1, 0, 0, 1])],
      [3, () => this.#nextChangeOfClocks() + pick([-1, 0, 0, 1])],
      [4, () => now + minuteMillis * below(600)],
      [1, () => now + dayMillis],
    ]
    const to = this.dice.weighed<number>([
      [3, () => now + 1 + below(999)],
      [4, () => now + 1_000 * (1 + below(90))],
      [2, () => now - (now % minuteMillis) + minuteMillis * (1 + below(3))],
      [8, () => this.#nextOfSlots() + pick([-1, 0, 0, 1])],
      [3, () => now - below(chance(0.6) ? 90_000 : 3 * hourMillis)],
      ...(this.#isSlow() ? longSteps : []),
    ])
    oracle.now = Math.max(to <= this.#until ? to : now + below(2_000), this.#floor)
    this.tell(`clock ${new Date(oracle.now).toISOString()}`)
    await this.#searchWhatChanged('clock')
  }

  /** Pages that something changes at some moment are asked for right before it, at it, right behind it, and before it again. */
  async #crossMoment(): Promise<void> {
    const { dice, world } = this
    const { oracle } = world
    const moment = dice.chance(0.7) ? this.#nextOfSlots() : this.#nextMidnight()
    if (moment - 1 <= oracle.now || moment >= this.#until) return
    const moments = [moment - 1, moment, moment + 1]
    const differs = (page: KnownPage) => {
      const bodies = moments.map((at) => {
        oracle.now = at
        return JSON.stringify(page.foretell(world).body)
      })
      return new Set(bodies).size > 1
    }
    const looked = new Set(Array.from({ length: 6 }, () => dice.pick(this.#pages)))
    const crossed = [...looked].filter(differs).slice(0, 3)
    // And once more before it: clocks are set back.
    for (const at of [...moments, moment - 1]) {
      oracle.now = at
      this.tell(`clock ${new Date(at).toISOString()}`)
      for (const page of crossed) await this.#ask(page, this.#asking(page))
    }
    note(`crossed: ${crossed.length > 0}`)
  }

  /** Whether the clock would not come to the end of its time without long steps. */
  #isSlow(): boolean {
    return this.world.oracle.now < this.#until - (1 - this.#taken / steps) * spanDays * dayMillis
  }

  /** When next a slot of someone begins, comes into sight, or is too near to be booked (ms). */
  #nextOfSlots(): number {
    const { oracle } = this.world
    const { directory, now } = oracle
    const moments = Array.from({ length: 10 }, () => this.dice.pick(directory.providers)).flatMap(
      (provider) => {
        const notice = (provider.said.minimumNoticeMinutes ?? 0) * minuteMillis
        const later = directory.slotsOf(provider, 'any', now + dayMillis)
        return [
          ...oracle
            .offered(provider, 'any')
            .slice(0, 2)
            .flatMap((at) => [at, at - notice]),
          ...later.slice(-8).map((at) => at - 30 * dayMillis),
        ].filter((at) => at > now)
      },
    )
    return moments.length > 0 ? Math.min(...moments) : now
  }

  /** When next the date changes for someone whose license begins on it, or ended on the one before (ms). */
  #nextMidnight(): number {
    const { directory, now } = this.world.oracle
    const moments = directory.providers.flatMap((provider) =>
      provider.said.licenses.flatMap(({ from, until }) => [
        directory.periodOf(provider, { from, until: from })[0],
        ...(until ? [directory.periodOf(provider, { from: until, until })[1]] : []),
      ]),
    )
    return Math.min(...moments.filter((at) => at > now), this.#until)
  }

  /** When next clocks are changed somewhere (ms), but no more than a day from now. */
  #nextChangeOfClocks(): number {
    const { directory, now } = this.world.oracle as World['oracle'] & { directory: WatchedDirectory }
    const zones = new Set(directory.providers.map(({ said }) => said.timeZone))
    return Math.min(now + dayMillis, ...[...zones].map((zone) => directory.nextChange(zone, now)))
  }

  /** What staff do, they do in another process, as a rule. */
  #nextMove(): Move {
    const { dice, world } = this
    const { below, chance, pick } = dice
    const place = () => below(world.oracle.directory.providers.length)
    const via = chance(0.85) ? 1 : 0
    const submit = (slot: Extract<Move, { act: 'submit' }>['slot']): Move => {
      const who = { partner: this.#partner(), person: below(400) }
      return {
        act: 'submit',
        ...who,
        via: chance(0.9) ? 0 : 1,
        token: 'in force',
        email: who.person,
        isUpperCase: false,
        slot,
        more: {},
        answers: 0,
        key: chance(0.1) ? 'own' : 'none',
        serial: this.#serial++,
      }
    }
    const slot = (of: 'soon' | 'offered' | 'held' | 'beside mine') => ({
      provider: place(),
      of,
      pick: below(1_000),
      aside: 0,
    })
    return dice.weighed<Move>([
      [9, () => submit(slot(pick(['soon', 'offered'])))],
      [1.5, () => submit(slot('held'))],
      [0.5, () => submit(slot('beside mine'))],
      [2, () => submit(null)],
      [1, () => ({ act: 'accept', via, request: below(10) })],
      [5, () => ({ act: 'decline', via, request: below(30) })],
      [
        3,
        () => ({
          act: 'assign',
          via,
          request: below(6),
          ofIntakes: true,
          provider: place(),
          slot: chance(0.8) ? slot('soon') : null,
        }),
      ],
      [0.2, () => ({ act: 'decline all', via, partner: 0, since: 3_600_000 })],
      [1.5, () => ({ act: 'add time off', via, provider: place(), absence: this.#absence() })],
      [1.5, () => ({ act: 'remove time off', via, provider: place(), absence: this.#absence() })],
      [2, () => ({ act: 'switch provider', via, provider: place(), active: chance(0.7) })],
      [0.2, () => ({ act: 'switch partner', via, partner: below(3), active: false })],
      [1.2, () => ({ act: 'switch partner', via, partner: this.#idle(), active: true })],
      [0.1, () => ({ act: 'switch organization', via, organization: below(2), active: false })],
      [0.8, () => ({ act: 'switch organization', via, organization: below(2), active: true })],
      [0.3, () => ({ act: 'rotate', via, partner: below(3), cutover: pick([0, 0, 1_000, 60_000]) })],
      [0.1, () => ({ act: 'revoke', via, partner: below(3) })],
      [0.8, () => ({ act: 'issue', via, partner: below(3) })],
      [3, () => ({ act: 'load', via, file: this.#changedFile() })],
    ])
  }

  #absence() {
    const today = Math.floor(this.world.oracle.now / dayMillis)
    // Not behind what is watched of clocks.
    return absenceFrom(this.dice, Math.min(today, this.#today + spanDays - 10))
  }

  /** A partner who is deactivated, if any is. */
  #idle(): number {
    return Math.max(
      0,
      this.world.oracle.partners.findIndex(({ active }) => !active),
    )
  }

  /** The directory as it is, but for some entries. */
  #changedFile(): DirectoryFile {
    const { dice } = this
    const { regions, providers } = this.world.oracle.directory
    const asOf = <T extends { active?: boolean }>({ said, active }: { said: T; active: boolean }): T =>
      said.active === active ? said : { ...said, active }
    const file = changed(dice, { regions: regions.map(asOf), providers: providers.map(asOf) }, this.#today)
    if (dice.chance(0.15)) return withKnownRegions(withNewcomer(dice, file, this.#today))
    if (dice.chance(0.85)) return file
    return { ...file, providers: file.providers.toSpliced(dice.below(file.providers.length), 1) }
  }
}

async function go(seed: number, tell: (line: string) => void): Promise<void> {
  const dice = diceFrom(seed)
  const startsAt = beginnings[seed % beginnings.length] as number
  const today = Math.floor(startsAt / dayMillis)
  const directory = new WatchedDirectory(startsAt, startsAt + spanDays * dayMillis)
  await using world = await openWorld(
    startsAt,
    { openRequests: null, emailConflicts: null },
    wardrobe,
    directory,
  )
  const { service } = world.site.via(0)
  const server = await service.listen('localhost', 0, baseUrl)
  try {
    world.site.running.splice(0, 1, { service, ask: (path, init) => askOver(server.port, path, init) })
    await world.site.start()
    await carryOut(world, { act: 'load', via: 1, file: manyProviders(dice, providerCount, today) })
    const lines: string[] = []
    let step = 1
    const way = new Way(world, dice, server.port, (line) => {
      lines.push(`${step} ${line}`)
      tell(`${step} ${line}`)
    })
    for (; step <= steps; step++) {
      await way.step().catch((error) => {
        const now = new Date(world.oracle.now).toISOString()
        const last = lines.slice(-24).join('\n')
        throw new Error(`STALENESS_SEED=${seed}, step ${step} at ${now}, after\n${last}\n${error}`)
      })
    }
  } finally {
    await server.stop()
  }
}

/** As partners do. */
async function askOver(port: number, path: string, init: RequestInit = {}) {
  return wholeAnswer(await fetch(`${baseUrl}:${port}${path}`, init))
}

test(`in ${seeds.length} times ${steps} steps no page is stale`, async () => {
  for (const seed of seeds) await go(seed, again ? console.log : () => {})
})

test('such steps meet with all that can make a page stale', () => {
  if (again) return
  const kinds = [...seen.keys()].map((kind) => kind.replace(/: (HEAD )?/, ': '))
  const causes = [
    'clock',
    'submit',
    'decline',
    'assign',
    'add time off',
    'remove time off',
    'switch provider',
    'load',
  ]
  expect(kinds).toEqual(
    expect.arrayContaining([
      ...['200 identity', '200 gzip', '200 zstd', '304', '400', '401', '200 elsewhere', 'afresh'].map(
        (kind) => `search: ${kind}`,
      ),
      ...causes.flatMap((cause) => ['gzip', 'zstd'].map((coding) => `changed by ${cause}: 200 ${coding}`)),
      ...['submit: 201', 'submit: slot_unavailable', 'decline: done', 'assign: done', 'rotate: done'],
      ...['crossed: true', 'search: meanwhile'],
    ]),
  )
})
