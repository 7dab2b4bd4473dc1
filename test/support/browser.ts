import { eventually } from './eventually'
import { Folder } from './folder'

/** Null if Chromium is not installed. */
export const chromium = Bun.which('chromium')

type Sent = (result: { result?: Json; error?: { message: string } }) => void

interface Json {
  [name: string]: unknown
}

/** A tab of a headless Chromium, over the DevTools protocol. Disposing ends the browser. */
export class Browser implements AsyncDisposable {
  readonly #profile = new Folder()
  readonly #child: Bun.Subprocess<'ignore', 'ignore', 'pipe'>
  readonly #waiting = new Map<number, Sent>()
  #socket!: WebSocket
  #session: string | undefined
  #last = 0
  /** What the page logged as errors, for example violations of its content security policy. */
  readonly errors: string[] = []

  private constructor() {
    this.#child = Bun.spawn(
      [
        chromium as string,
        ...['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--remote-debugging-port=0'],
        ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
        ...['--hide-scrollbars', `--user-data-dir=${this.#profile.path}`, 'about:blank'],
      ],
      { stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' },
    )
  }

  static async start(): Promise<Browser> {
    const browser = new Browser()
    let log = ''
    for await (const part of browser.#child.stderr.pipeThrough(new TextDecoderStream())) {
      log += part
      const [, address] = /listening on (ws:\S+)/.exec(log) ?? []
      if (address) {
        await browser.#connect(address)
        return browser
      }
    }
    throw new Error(`Chromium did not start: ${log}`)
  }

  async #connect(address: string): Promise<void> {
    this.#socket = new WebSocket(address)
    this.#socket.onmessage = ({ data }) => {
      const message = JSON.parse(data) as Json & { id?: number }
      if (message.id === undefined) this.#note(message)
      else this.#waiting.get(message.id)?.(message as Parameters<Sent>[0])
    }
    await new Promise((resolve, reject) => {
      this.#socket.onopen = resolve
      this.#socket.onerror = reject
    })
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true })
    this.#session = sessionId as string
    for (const domain of ['Page', 'Log', 'Runtime']) await this.send(`${domain}.enable`)
  }

  #note({ params }: Json): void {
    const { entry, exceptionDetails } = params as { entry?: { level: string }; exceptionDetails?: Json }
    if (exceptionDetails || entry?.level === 'error') this.errors.push(JSON.stringify(params))
  }

  send(method: string, params: Json = {}): Promise<Json> {
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) => {
        this.#waiting.delete(id)
        if (error) reject(new Error(`${method}: ${error.message}`))
        else resolve(result as Json)
      })
      this.#socket.send(JSON.stringify({ id, method, params, sessionId: this.#session }))
    })
  }

  async open(url: string): Promise<void> {
    await this.send('Page.navigate', { url })
    await eventually('the page to load', () => this.evaluate<boolean>(`document.readyState === 'complete'`))
  }

  /** Shows the page in a window of this width. */
  async show(width: number, scheme: 'light' | 'dark', height = 900): Promise<void> {
    await this.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: false,
    })
    const features = [
      { name: 'prefers-color-scheme', value: scheme },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ]
    await this.send('Emulation.setEmulatedMedia', { features })
  }

  /** Returns the value of an expression in the page. The value may be a promise. */
  async evaluate<Value>(expression: string): Promise<Value> {
    const { result, exceptionDetails } = (await this.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })) as {
      result: { value: Value }
      exceptionDetails?: { exception?: { description: string }; text: string }
    }
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill()
    await this.#child.exited
    this.#profile[Symbol.dispose]()
  }
}
