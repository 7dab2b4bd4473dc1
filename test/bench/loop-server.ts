import '../../src/production'
import { heapStats } from 'bun:jsc'
import { openSync, readFileSync, readSync } from 'node:fs'
import { builtInDirectory, withGenerated } from '../../src/directory-files/sandbox'
import { loadDirectory } from '../../src/operations/load-directory'
import { addOrganization, addPartner } from '../../src/operations/partners'
import { issueFirstToken } from '../../src/operations/tokens'
import { dayMinutes, minuteMillis } from '../../src/scheduling/calendar'
import { openService } from '../../src/service'

// The service with a large directory and a clock that is set, in a process of its own. Words: what to do, the folder of
// the database, and a number. It prints what it found as lines of JSON.

/** The longest that the event loop was busy with one thing, in ms. */
export interface Block {
  readonly millis: number
  /** The longest without what it waited for a core that another process had. */
  readonly alone: number
}

/** What there is to ask, and by whom. */
export interface Serving extends Block {
  readonly baseUrl: string
}

/** What a process takes once all garbage is gone, in bytes. */
export interface Weight {
  readonly heap: number
  readonly resident: number
}

const [act = '', folder = '', number = '0'] = process.argv.slice(2)
const written = { actor: 'bench', at: Date.UTC(2026, 11, 1, 12) }
let now = written.at
const print = (found: object) => console.log(JSON.stringify(found))

const open = (create: boolean) =>
  openService({
    purpose: 'sandbox',
    database: `${folder}/service.sqlite`,
    masterKey: { file: `${folder}/key` },
    create,
    clock: { now: () => now },
    report: () => {},
  })

/** The directory of so many providers, with another text in each provider's record for each `edition`. */
function document(providers: number, edition: string): unknown {
  const directory = builtInDirectory(written.at / minuteMillis / dayMinutes)
  const models = directory.providers.map((provider) => ({ ...provider, credentials: edition }))
  return withGenerated({ ...directory, providers: models }, Math.max(0, providers - models.length))
}

const schedule = openSync('/proc/thread-self/schedstat', 'r')
const words = Buffer.alloc(64)

/** How long this thread has waited for a core, by what Linux tells. */
function waitedMillis(): number {
  const length = readSync(schedule, words, 0, words.length, 0)
  return Number(words.toString('latin1', 0, length).split(' ')[1]) / 1e6
}

const acts: Record<string, () => Promise<void>> = {
  /** Makes the database, with so many providers or none. */
  async make() {
    const { context, close } = await open(true)
    if (number !== '0') await loadDirectory(context, document(Number(number), 'MSW'), written)
    const organization = await addOrganization(context, 'Bench', written)
    const partner = await addPartner(context, 'Bench', organization, written)
    print({ token: await issueFirstToken(context, partner, { ...written, at: 0 }) })
    await close()
  },

  /** Changes every provider in one transaction. */
  async change() {
    const { context, close } = await open(false)
    const count = context.directory.listProviders().length
    await loadDirectory(context, document(count, 'PhD'), written)
    await close()
  },

  async weigh() {
    const { context } = await open(false)
    Bun.gc(true)
    await Bun.sleep(200)
    Bun.gc(true)
    const resident = Number(/VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024
    const { heapSize, extraMemorySize } = heapStats()
    print({ heap: heapSize + extraMemorySize, resident } satisfies Weight)
    // Used once more, so that it was there to be weighed.
    context.directory.listUnlisted()
    process.exit()
  },

  /** Serves, and takes lines: set the clock to an instant, or tell the longest block since the last line. */
  async serve() {
    let longest: Block = { millis: 0, alone: 0 }
    let last = { at: performance.now(), waited: waitedMillis() }
    const look = () => {
      const now = { at: performance.now(), waited: waitedMillis() }
      const millis = now.at - last.at
      longest = {
        millis: Math.max(longest.millis, millis),
        alone: Math.max(longest.alone, millis - (now.waited - last.waited)),
      }
      last = now
    }
    setInterval(look, 1)
    const takeLongest = (): Block => {
      look()
      const found = longest
      longest = { millis: 0, alone: 0 }
      return found
    }
    // The modules, the zones and the code are not loaded for each request, nor when the directory is.
    const empty = await openService({
      purpose: 'sandbox',
      database: `${folder}/empty.sqlite`,
      masterKey: { file: `${folder}/key` },
      create: true,
      clock: { now: () => now },
      report: () => {},
    })
    await empty.close()
    await Bun.sleep(10)
    takeLongest()
    const service = await open(false)
    const found = takeLongest()
    const { baseUrl } = await service.listen('127.0.0.1', 0)
    print({ baseUrl, ...found } satisfies Serving)
    for await (const line of console) {
      if (line !== '') now = Number(line)
      print(takeLongest())
    }
    process.exit()
  },
}

await acts[act]?.()
