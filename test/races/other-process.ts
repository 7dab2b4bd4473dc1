import { join } from 'node:path'
import type { Storage } from '../support/storage'
import type { Command, Ended } from './commands'
import { type Other, openOtherService } from './other'

interface Asked {
  /** The instant of the command in ms. */
  readonly at: number
  readonly asked: Command
}

/** A second process on a database, which runs one command at a time. Disposing it ends the process. */
export class OtherProcess implements Other {
  readonly #child: Bun.Subprocess<'pipe', 'pipe', 'inherit'>
  readonly #waiting: PromiseWithResolvers<Ended>[] = []

  private constructor(storage: Storage) {
    const program = join(import.meta.dir, 'other-process.ts')
    this.#child = Bun.spawn([process.execPath, program, JSON.stringify(storage)], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    void this.#listen()
  }

  /** Starts the process and waits until it has opened the database. */
  static async on(storage: Storage): Promise<OtherProcess> {
    const other = new OtherProcess(storage)
    await other.#next()
    return other
  }

  do(asked: Command, at: number): Promise<Ended> {
    const ended = this.#next()
    this.#child.stdin.write(`${JSON.stringify({ at, asked } satisfies Asked)}\n`)
    this.#child.stdin.flush()
    return ended
  }

  #next(): Promise<Ended> {
    const waiting = Promise.withResolvers<Ended>()
    this.#waiting.push(waiting)
    return waiting.promise
  }

  async #listen(): Promise<void> {
    for await (const line of linesOf(this.#child.stdout)) this.#waiting.shift()?.resolve(JSON.parse(line))
    for (const { reject } of this.#waiting) reject(new Error('the other process has ended'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end()
    await this.#child.exited
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

if (import.meta.main) {
  const other = await openOtherService(JSON.parse(process.argv[2] as string) as Storage)
  const say = (ended: Ended) => process.stdout.write(`${JSON.stringify(ended)}\n`)
  say({ refusal: null, token: null })
  for await (const line of linesOf(Bun.stdin.stream())) {
    const { at, asked } = JSON.parse(line) as Asked
    say(await other.do(asked, at))
  }
  await other[Symbol.asyncDispose]()
}
