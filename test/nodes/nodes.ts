import { writeFileSync } from 'node:fs'
import { provider, region } from '../support/builders'
import { Operator, type Served } from '../support/operator'
import { type OfferedSlot, programWithRealTimeouts, theProgram } from '../support/process'

const limits = ['bookings-per-minute', 'reads-per-minute', 'intakes-per-hour', 'open-intakes']
const unlimited = limits.flatMap((limit) => [`--${limit}`, 'off'])
/** Eight slots a day keep the page of a provider short. 400 providers have enough slots for all campaigns. */
const daily = {
  weekdays: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'],
  start: '09:00',
  end: '15:00',
}
/** A private-use language (BCP 47: qaa to qtz) that only one provider speaks, to search for that provider. */
const languageOf = (index: number) => `q${letter(Math.floor(index / 26))}${letter(index % 26)}`
const letter = (index: number) => String.fromCharCode(97 + index)

export interface KnownSlot extends OfferedSlot {
  readonly language: string
}

/** Server processes on one database, and an operator. */
export class Nodes implements AsyncDisposable {
  readonly nodes: Served[] = []
  token = ''
  /** Each slot is listed once and starts at least a day ahead. */
  slots: KnownSlot[] = []

  private constructor(
    readonly operator: Operator,
    private readonly addresses: readonly string[],
    private readonly providers: number,
  ) {}

  /**
   * Creates the database with a partner and slots, and starts the nodes.
   *
   * @param addresses the database address of each node; commands use the first
   * @param providers each has about 220 slots
   */
  static async start(addresses: readonly string[], providers: number): Promise<Nodes> {
    const nodes = new Nodes(new Operator(theProgram, addresses[0]), addresses, providers)
    try {
      await nodes.#fill()
      await Promise.all(addresses.map((_, index) => nodes.begin(index)))
      nodes.slots = (
        await Promise.all(Array.from({ length: providers }, (_, at) => nodes.#offered(at)))
      ).flat()
      return nodes
    } catch (error) {
      await nodes[Symbol.asyncDispose]()
      throw error
    }
  }

  async #fill(): Promise<void> {
    const { operator } = this
    this.rename('Fernhill')
    await operator.do('init')
    this.token = await operator.onboard('Lantern', 'North Care')
    await operator.do('directory', 'load', this.directory)
  }

  /** Writes the directory file with another last name, so that loading it changes every provider. */
  rename(lastName: string): void {
    const described = Array.from({ length: this.providers }, (_, index) =>
      provider(`on-${index}`, {
        lastName,
        workingHours: [daily] as never,
        languagesSpoken: [languageOf(index)],
      }),
    )
    writeFileSync(this.directory, JSON.stringify({ regions: [region()], providers: described }))
  }

  get directory(): string {
    return this.operator.folder.file('directory.json')
  }

  /**
   * Starts a node on a free port. If the database server does not answer in time, starts the node again, like a service
   * manager.
   */
  async begin(index: number, again = 5): Promise<void> {
    const words = ['--database', this.addresses[index] as string, ...unlimited]
    try {
      this.nodes[index] = await this.operator.serveBy(programWithRealTimeouts, ...words)
    } catch (error) {
      if (again === 0) throw error
      await this.begin(index, again - 1)
    }
  }

  command(...words: string[]): Bun.Subprocess {
    const { folder, settings: env } = this.operator
    const output = { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' } as const
    return Bun.spawn([...programWithRealTimeouts, ...words], { cwd: folder.path, env: { ...env }, ...output })
  }

  node(index: number): Served {
    return this.nodes[index % this.nodes.length] as Served
  }

  areReady(): Promise<boolean[]> {
    const ask = async ({ port }: Served) => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok
    return Promise.all(this.nodes.map(ask))
  }

  /** Searches with a token at each node. Returns the statuses. */
  statuses(token: string): Promise<number[]> {
    return Promise.all(this.nodes.map(async (node) => (await node.get(searchPath('qaa'), token)).status))
  }

  async #offered(index: number): Promise<KnownSlot[]> {
    const language = languageOf(index)
    const soon = Date.now() + 86_400_000
    const { body } = await this.node(index).get(searchPath(language), this.token)
    return body.results.flatMap(
      ({ providerId, availability }: { providerId: number; availability: OfferedSlot[] }) =>
        availability
          .filter(({ utcStartTime }) => Date.parse(utcStartTime) > soon)
          .map(({ utcStartTime }) => ({ providerId, utcStartTime, language })),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.nodes) {
      // Continues a frozen node, because it could not end.
      if (node.isRunning) node.signal('SIGCONT')
      await node[Symbol.asyncDispose]()
    }
    this.operator[Symbol.dispose]()
  }
}

export function searchPath(language: string): string {
  return `/partners/v1/providers/?region_id=1&language=${language}`
}
