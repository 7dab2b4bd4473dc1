import { join } from 'node:path'
import { Folder } from '../support/folder'
import type { Bookable } from './bookable'
import type { Asked } from './store-node'

/** A node without HTTP, in its own process. */
export class StoreNode implements AsyncDisposable {
  readonly #child: Bun.Subprocess<'pipe', 'pipe', 'inherit'>
  readonly #lines: AsyncIterator<string>

  private constructor(on: Bookable) {
    this.#child = Bun.spawn([process.execPath, join(import.meta.dir, 'store-node.ts'), JSON.stringify(on)], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    this.#lines = linesOf(this.#child.stdout)
  }

  static async startAll(count: number, database: string) {
    await using stack = new AsyncDisposableStack()
    const folder = stack.use(new Folder())
    const all: StoreNode[] = []
    for (let started = 0; started < count; started++) {
      const node = stack.use(new StoreNode({ folder: folder.path, database }))
      await node.#line()
      all.push(node)
    }
    const ending = stack.move()
    let booked = 0
    return {
      /** Books with the first `count` nodes concurrently. Returns the total bookings per second. */
      async book({ count, ...rest }: Pick<Asked, 'callers' | 'millis'> & { readonly count: number }) {
        const asked = all.slice(0, count).map((node, index) => {
          return node.#book({ ...rest, first: booked + index, step: count })
        })
        const rates = await Promise.all(asked)
        // Skips more slots than the nodes can have booked.
        booked += mostPerSecond * Math.ceil(rest.millis / 1_000)
        return rates.reduce((sum, each) => sum + each, 0)
      },
      [Symbol.asyncDispose]: () => ending.disposeAsync(),
    }
  }

  async #book(asked: Asked): Promise<number> {
    this.#child.stdin.write(`${JSON.stringify(asked)}\n`)
    await this.#child.stdin.flush()
    return Number(await this.#line())
  }

  async #line(): Promise<string> {
    const { value, done } = await this.#lines.next()
    if (done) throw new Error('a node has ended')
    return value
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill()
    await this.#child.exited
  }
}

const mostPerSecond = 10_000

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true })
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    yield* lines
  }
}
