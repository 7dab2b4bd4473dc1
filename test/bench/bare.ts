import type { Received } from './asks'

// A bare Bun.serve in its own process. The server reads the response from stdin and prints its port.

interface Prepared {
  readonly status: number
  readonly headers: Record<string, string>
  readonly base64: string
}

/** The headers that a client needs to decode the body. The bare server repeats only these headers of the service. */
const neededHeaders = ['content-type', 'content-encoding']

/** A bare server that repeats one response of a service. Disposing it ends the process. */
export class Bare implements AsyncDisposable {
  private constructor(
    readonly baseUrl: string,
    private readonly child: Bun.Subprocess,
  ) {}

  get pid(): number {
    return this.child.pid
  }

  static async start({ status, headers, bytes }: Received): Promise<Bare> {
    const kept = [...headers].filter(([name]) => neededHeaders.includes(name))
    const base64 = Buffer.from(bytes).toString('base64')
    const prepared: Prepared = { status, headers: Object.fromEntries(kept), base64 }
    const child = Bun.spawn([process.execPath, import.meta.path], {
      stdin: Buffer.from(JSON.stringify(prepared)),
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const { value } = await child.stdout.getReader().read()
    return new Bare(`http://127.0.0.1:${Number(new TextDecoder().decode(value))}`, child)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill()
    await this.child.exited
  }
}

if (import.meta.main) {
  const { status, headers, base64 }: Prepared = await Bun.stdin.json()
  const bytes = base64 === '' ? null : Buffer.from(base64, 'base64')
  const init = { status, headers }
  const fetch = () => new Response(bytes, init)
  console.log(Bun.serve({ hostname: '127.0.0.1', port: 0, development: false, fetch }).port)
}
