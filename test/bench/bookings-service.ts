import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cpuMicrosOf } from '../support/cpu'
import type { Bookable } from './bookable'
import type { Serving } from './bookings-server'
import { type Load, type Measured, measure } from './load'

const seconds = 2
const searchingConnections = 64

/** A service in its own process. Disposing it ends the process. */
export class BookingsService implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'anteroom-bench-'))
  readonly #child: Bun.Subprocess<'ignore', 'pipe', 'inherit'>
  #asked = 0

  constructor(on: Omit<Bookable, 'folder'> = {}) {
    const word = JSON.stringify({ folder: this.folder, ...on } satisfies Bookable)
    const command = [process.execPath, join(import.meta.dir, 'bookings-server.ts'), word]
    this.#child = Bun.spawn(command, { stdout: 'pipe', stderr: 'inherit', stdin: 'ignore' })
  }

  serving = {} as Serving

  async start(): Promise<this> {
    const { value } = await this.#child.stdout.getReader().read()
    this.serving = JSON.parse(new TextDecoder().decode(value))
    return this
  }

  /** Books free slots, in a closed loop or at a fixed rate. */
  async book(connections: number, perSecond: number | null): Promise<Measured> {
    const { baseUrl, token, providerIds, starts } = this.serving
    const slots = { providerIds, starts, booked: this.#asked }
    const measured = await measure({ baseUrl, token, paths: [], slots, connections, seconds, perSecond })
    this.#asked += Object.values(measured).reduce((sum, { count }) => sum + count, 0)
    return measured
  }

  /** Submits intakes in a closed loop. */
  submitIntakes(connections: number): Promise<Measured> {
    const { baseUrl, token } = this.serving
    return measure({ baseUrl, token, paths: [], connections, seconds, perSecond: null })
  }

  /** Returns how many searches for the default page are answered per second. */
  async search(): Promise<number> {
    const { baseUrl, token, regionId } = this.serving
    const paths = [`/partners/v1/providers/?region_id=${regionId}`]
    const load: Load = { baseUrl, token, paths, connections: searchingConnections, seconds, perSecond: null }
    return (await measure(load))['200']?.perSecond ?? 0
  }

  cpuMicros(): Promise<number> {
    return cpuMicrosOf(this.#child.pid)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill()
    await this.#child.exited
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export function storedIn(measured: Measured): number {
  return measured['201']?.perSecond ?? 0
}
