import { join } from 'node:path'
import { dayMinutes, minuteMillis } from '../../src/scheduling/calendar'
import { Folder } from '../support/folder'
import type { Block, Serving, Weight } from './loop-server'
import { median, type Row } from './row'

const providers = 100_000
const rounds = 5
const goal = '<= 50 ms'

/** For how long the event loop is blocked, and what memory the directory takes, with 100,000 providers. */
export async function benchLoop(): Promise<Row[]> {
  using large = new Folder()
  using empty = new Folder()
  const { token } = await run<{ token: string }>('make', large, String(providers))
  await run('make', empty, '0')
  const longest = (name: string, blocks: readonly Block[]): Row => ({
    name: `longest block of the event loop, ${providers} providers: ${name}`,
    figure: `${middle(blocks, 'millis')} ms`,
    reference: `${middle(blocks, 'alone')} ms without the wait for a core`,
    goal,
  })
  const weights = [await run<Weight>('weigh', large), await run<Weight>('weigh', empty)] as const
  const weight = (name: string, of: keyof Weight): Row => {
    const perThousand = ((weights[0][of] - weights[1][of]) / providers) * 1_000
    return {
      name: `memory of 1,000 providers, ${name}`,
      figure: `${(perThousand / 1e6).toFixed(2)} MB`,
      goal: '<= 4 MB',
    }
  }

  const loads: Block[] = []
  for (let round = 1; round < rounds; round++) {
    await using server = await Server.start(large)
    loads.push(server.serving)
  }
  await using server = await Server.start(large)
  loads.push(server.serving)
  const ticks = { minute: [] as Block[], midnight: [] as Block[] }
  let now = Date.UTC(2026, 11, 1, 12)
  const search = () => server.search(token)
  for (let round = 0; round < rounds; round++) {
    for (const [name, millis] of [
      ['minute', minuteMillis],
      ['midnight', dayMinutes * minuteMillis],
    ] as const) {
      await search()
      now = (Math.floor(now / millis) + 1) * millis
      await server.tell(String(now))
      await search()
      ticks[name].push(await server.tell())
    }
  }
  const reload = await server.during(run('change', large), search)
  return [
    longest('a load at the start', loads),
    longest('a reload, another process having changed all', [reload]),
    longest('the next minute, and a search', ticks.minute),
    longest('the next midnight, and a search', ticks.midnight),
    weight('on the heap once loaded', 'heap'),
    weight('resident once loaded', 'resident'),
  ]
}

const middle = (blocks: readonly Block[], of: keyof Block) =>
  median(blocks.map((block) => block[of])).toFixed(1)

const command = (act: string, { path }: Folder, ...words: readonly string[]) => [
  ...[process.execPath, join(import.meta.dir, 'loop-server.ts')],
  ...[act, path, ...words],
]

/** Has a process of its own do something to its end; what it printed. */
async function run<Found>(act: string, folder: Folder, ...words: readonly string[]): Promise<Found> {
  const child = Bun.spawn(command(act, folder, ...words), {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const text = await child.stdout.text()
  if ((await child.exited) !== 0) throw new Error(`${act} has failed`)
  return text === '' ? ({} as Found) : JSON.parse(text)
}

/** The service in a process of its own. Leaving its scope ends it. */
class Server implements AsyncDisposable {
  readonly #child
  readonly #lines: AsyncIterator<string>
  serving = {} as Serving

  private constructor(folder: Folder) {
    this.#child = Bun.spawn(command('serve', folder), { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
    this.#lines = linesOf(this.#child.stdout)
  }

  static async start(folder: Folder): Promise<Server> {
    const server = new Server(folder)
    server.serving = await server.#next()
    return server
  }

  async #next<Found>(): Promise<Found> {
    const { value, done } = await this.#lines.next()
    if (done) throw new Error('the server has ended')
    return JSON.parse(value)
  }

  /** Sets the clock, where an instant is given; the longest block since it was last told something. */
  tell(instant = ''): Promise<Block> {
    this.#child.stdin.write(`${instant}\n`)
    this.#child.stdin.flush()
    return this.#next()
  }

  /** The longest block while something goes on, and something is asked for again and again until after its end. */
  async during(going: Promise<unknown>, ask: () => Promise<void>): Promise<Block> {
    await this.tell()
    let isDone = false
    const ended = going.finally(() => {
      isDone = true
    })
    while (!isDone) {
      await ask()
      await Bun.sleep(5)
    }
    await ended
    await ask()
    return this.tell()
  }

  async search(token: string): Promise<void> {
    const headers = { Authorization: `Bearer ${token}` }
    const found = await fetch(`${this.serving.baseUrl}/partners/v1/providers/?country_code=CA&region_id=9`, {
      headers,
    })
    const { providers } = (await found.json()) as { providers?: unknown[] }
    if (!found.ok) throw new Error(`a search was answered ${found.status} ${providers}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill()
    await this.#child.exited
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}
