import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Glob } from 'bun'
import { scripts } from '../../package.json'
import { eventually } from './eventually'
import type { Exit } from './exit'
import { Folder } from './folder'
import { onceInRun } from './once-in-run'
import type { Answer } from './service'

export { type Exit, eventually, Folder }

const root = new URL('../..', import.meta.url).pathname

const given = process.env.TEST_EXECUTABLE
/** The command of the program: TEST_EXECUTABLE, or a build with long timeouts. */
export const theProgram: readonly string[] = [given ? resolve(given) : builtExecutable()]

/** `theProgram` with its real timeouts. */
export const programWithRealTimeouts: readonly string[] = ['env', 'TEST_PATIENCE=real', ...theProgram]

function builtExecutable(): string {
  const folder = onceInRun(`built-${fingerprintSources()}`, (folder) => build(join(folder, 'anteroom')))
  return join(folder, 'anteroom')
}

function build(executable: string): void {
  const { exitCode, stderr } = Bun.spawnSync(
    [process.execPath, ...buildArguments(executable, 'test/support/program.ts')],
    { cwd: root },
  )
  if (exitCode !== 0) throw new Error(`the executable could not be built: ${stderr}`)
}

function fingerprintSources(): string {
  const files = [
    'src/**',
    'db/**',
    'fixtures/**',
    'docs/integrating.md',
    'deploy/release/**',
    'test/support/*.ts',
    '*.json',
    'bun.lock',
  ].flatMap((pattern) => Array.from(new Glob(pattern).scanSync(root)))
  const marks = files.map((file) => {
    const { mtimeMs, size } = statSync(join(root, file))
    return `${file} ${mtimeMs} ${size}`
  })
  return Bun.hash([root, ...marks.sort()].join('\n')).toString(36)
}

export function buildArguments(executable: string, ...entry: string[]): string[] {
  const words = scripts.build.split(' ')
  return [...words.slice(words.indexOf('src/with-bun.mjs') + 1, -1), executable, ...entry]
}

/** The command of the program with a limit on file sizes, in blocks of 512 bytes. */
export function withFileSizeLimit(blocks: number): readonly string[] {
  // With SIGXFSZ ignored, a write beyond the limit fails with an error.
  return ['sh', '-c', `trap '' XFSZ; ulimit -S -f ${blocks}; exec "$@"`, 'sh', ...theProgram]
}

export interface ProgramOptions {
  readonly command?: readonly string[]
  readonly cwd?: string
  /** The complete environment; by default that of this process. */
  readonly env?: Record<string, string>
}

/** The program as a child process. Disposing kills it. */
export class Program implements AsyncDisposable {
  readonly #child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
  /** Temporary files of the program. They are removed even if the program is killed. */
  readonly #temporary = new Folder()
  readonly #read: Promise<unknown>
  stdout = ''
  stderr = ''

  constructor(args: readonly string[], { command = theProgram, cwd, env }: ProgramOptions = {}) {
    // The test runner sets NODE_ENV, which would change the program.
    const { NODE_ENV: _, ...inherited } = process.env
    this.#child = Bun.spawn([...command, ...args], {
      ...(cwd !== undefined && { cwd }),
      env: env ?? { ...inherited, TMPDIR: this.#temporary.path },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    this.#read = Promise.all([
      collect(this.#child.stdout, (text) => {
        this.stdout += text
      }),
      collect(this.#child.stderr, (text) => {
        this.stderr += text
      }),
    ])
  }

  get pid(): number {
    return this.#child.pid
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async exit(): Promise<Exit> {
    await within(this.#child.exited, 20_000, 'the program to end')
    await this.#read
    this.#temporary[Symbol.dispose]()
    const { exitCode, signalCode: signal } = this.#child
    return { code: signal === null ? exitCode : null, signal, stdout: this.stdout, stderr: this.stderr }
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.signal(signal)
    return this.exit()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal('SIGKILL')
    await this.#child.exited
    this.#temporary[Symbol.dispose]()
  }
}

export async function runProgram(args: readonly string[], options: ProgramOptions = {}): Promise<Exit> {
  await using program = new Program(args, options)
  return await program.exit()
}

export interface SandboxReport {
  readonly baseUrl: string
  readonly docsUrl: string
  readonly controlUrl: string
  readonly controlToken: string
  readonly openapiUrl: string
  readonly database: string
  readonly now: string
  readonly partners: readonly {
    readonly name: string
    readonly state: string
    readonly token: string
    readonly organization: string | null
  }[]
  readonly examples: {
    readonly deactivatedMember: string
    readonly countryCode: string
    readonly regionId: number
    readonly providerId: number
    readonly utcStartTime: string
    readonly utcEndTime: string
  }
}

export interface OfferedSlot {
  readonly providerId: number
  readonly utcStartTime: string
}

/** A running sandbox. The default token belongs to the first partner. */
export class Sandbox extends Program {
  report = {} as SandboxReport

  token(state = 'active', position = 0): string {
    return this.report.partners.filter((partner) => partner.state === state)[position]?.token ?? ''
  }

  get(path: string, token = this.token()): Promise<Answer> {
    return this.send(path, { headers: { Authorization: `Bearer ${token}` } })
  }

  post(body: unknown, token = this.token()): Promise<Answer> {
    return this.send('/partners/v1/booking-request/', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  }

  async postKeyed(key: string, body: string) {
    const response = await fetch(`${this.report.baseUrl}/partners/v1/booking-request/`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Authorization: `Bearer ${this.token()}`,
        'Idempotency-Key': key,
      },
      body,
    })
    const isReplay = response.headers.get('idempotency-replayed') === 'true'
    return { status: response.status, text: await response.text(), isReplay }
  }

  async send(path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(`${this.report.baseUrl}${path}`, init)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }

  /** Lists the slots of the example's region, alternating between providers. */
  async offered(): Promise<OfferedSlot[]> {
    const { regionId } = this.report.examples
    const { body } = await this.get(`/partners/v1/providers/?region_id=${regionId}&page_size=100`)
    const found: { providerId: number; availability: OfferedSlot[] }[] = body.results
    const longest = Math.max(...found.map(({ availability }) => availability.length))
    return Array.from({ length: longest }, (_, place) =>
      found.flatMap(({ providerId, availability }) => {
        const slot = availability[place]
        return slot ? [{ providerId, utcStartTime: slot.utcStartTime }] : []
      }),
    ).flat()
  }
}

/** Options for a sandbox with three providers and about 1,000 free slots. This sandbox starts three times faster. */
export const withFewProviders: readonly string[] = [
  '--directory',
  join(import.meta.dir, 'few-providers.json'),
]

export async function startSandbox(
  args: readonly string[] = [],
  options: ProgramOptions = {},
): Promise<Sandbox> {
  const sandbox = new Sandbox(['sandbox', '--port', '0', '--json', ...args], options)
  await eventually('the sandbox to be ready', () => sandbox.stdout.includes('\n') || !sandbox.isRunning)
  if (!sandbox.stdout.includes('\n')) {
    throw new Error(`the sandbox ended before it was ready: ${(await sandbox.exit()).stderr}`)
  }
  sandbox.report = JSON.parse(sandbox.stdout.slice(0, sandbox.stdout.indexOf('\n')))
  return sandbox
}

async function within<T>(promise: Promise<T>, timeoutMillis: number, what: string): Promise<T> {
  let timer: Timer | undefined
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited too long for ${what}`)), timeoutMillis)
  })
  try {
    return await Promise.race([promise, tooLong])
  } finally {
    clearTimeout(timer)
  }
}

async function collect(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  for await (const chunk of stream) add(decoder.decode(chunk, { stream: true }))
}
