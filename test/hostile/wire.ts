import { expect } from 'bun:test'
import { connect } from 'node:net'
import { authenticationRefusals } from '../../src/auth/token'
import { errorCodes } from '../../src/http/errors'
import { expectAbsent } from '../contract/contract'

export interface WireAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Exchange {
  /** The responses in the order of arrival, except interim responses (100 Continue). */
  readonly answers: readonly WireAnswer[]
  /** `closed` if the server closed the connection, `open` if nothing more arrived before the timeout. */
  readonly ending: 'closed' | 'open'
}

/** A step on a connection: bytes to send, a number of ms to wait, a wait for the first response, or a way to close. */
export type Step = Buffer | number | 'answered' | 'half-close' | 'reset'

interface ExchangeOptions {
  /** The number of expected responses. Further responses are awaited only with the short timeout. */
  readonly due: number
  /** True for HEAD: the response has a Content-Length but no body. */
  readonly isHead?: boolean
}

const longTimeoutMillis = 10_000
const shortTimeoutMillis = 150

/** Sends raw bytes over a new connection and reads all responses. */
export function exchange(
  port: number,
  steps: readonly Step[],
  { due, isHead = false }: ExchangeOptions,
): Promise<Exchange> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
    let received = Buffer.alloc(0)
    let timer: Timer | undefined
    let isSent = false
    const finish = (ending: Exchange['ending']) => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ answers: answersIn(received, isHead), ending })
    }
    const wait = () => {
      clearTimeout(timer)
      const isPatient = !isSent || answersIn(received, isHead).length < due
      timer = setTimeout(() => finish('open'), isPatient ? longTimeoutMillis : shortTimeoutMillis)
    }
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      wait()
    })
    socket.on('end', () => finish('closed'))
    socket.on('close', () => finish('closed'))
    // The server may reset the connection while we write. The responses that arrived before still count.
    socket.on('error', () => finish('closed'))
    socket.on('connect', async () => {
      for (const step of steps) {
        if (typeof step === 'number') await Bun.sleep(step)
        else if (step === 'answered') await hasCome(() => answersIn(received, isHead).length > 0)
        else if (step === 'half-close') socket.end()
        else if (step === 'reset') socket.resetAndDestroy()
        else socket.write(step)
      }
      isSent = true
      wait()
    })
  })
}

/** Waits until a condition holds, up to the long timeout. */
async function hasCome(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + longTimeoutMillis
  while (!isSo() && performance.now() < deadline) await Bun.sleep(5)
}

/** Parses the complete responses at the start of the received bytes. */
function answersIn(received: Buffer, isHead: boolean): WireAnswer[] {
  const answers: WireAnswer[] = []
  for (let at = 0; at < received.length; ) {
    const headEnd = received.indexOf('\r\n\r\n', at)
    if (headEnd < 0) break
    const [statusLine = '', ...lines] = received.subarray(at, headEnd).toString('latin1').split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3})\b/.exec(statusLine)?.[1])
    if (!status) throw new Error(`not a response: ${statusLine}`)
    const headers = new Headers(lines.map((line) => line.split(/:(.*)/s).slice(0, 2) as [string, string]))
    const length = isHead || status < 200 ? 0 : Number(headers.get('content-length') ?? 0)
    const end = headEnd + 4 + length
    if (end > received.length) break
    if (status >= 200) answers.push({ status, headers, text: received.toString('utf8', headEnd + 4, end) })
    at = end
  }
  return answers
}

export function message(lines: readonly string[], body: string | Buffer = ''): Buffer {
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)])
}

/**
 * Asserts that an error response has one of the contract's two shapes. Bun's own refusals of invalid HTTP, without a
 * body, also pass.
 * @param absent texts that the response must not contain
 */
export function expectOneOfTheShapes(answer: WireAnswer, absent: readonly string[] = []): void {
  const { status, headers, text } = answer
  const code = headers.get('x-error-code')
  if (code === null) {
    expect(bareStatuses).toContain(status)
    expect([text, headers.get('content-type')]).toEqual(['', null])
  } else {
    const words = status === 401 ? wordsOf(code) : expect.stringMatching(/\S/)
    const body = status === 401 ? { code, message: words } : { message: words, status }
    expect({ code, status, body: JSON.parse(text) }).toEqual({ code, status: statusOf(code), body })
    expect(headers.get('content-type')).toMatch(/^application\/json\b/)
    const challenge = headers.get('www-authenticate')
    expect(challenge?.replace(' error="invalid_token"', '') ?? null).toBe(status === 401 ? 'Bearer' : null)
    expect(status).toBeLessThan(500)
  }
  expect(text.length).toBeLessThan(4_096)
  expectAbsent({ status, headers, body: text }, absent)
}

/** Statuses that Bun sends itself: invalid HTTP, a head or chunk that is too large, or an unsupported version. */
const bareStatuses = [400, 413, 431, 505]

const statusOf = (code: string) => errorCodes[code as keyof typeof errorCodes]?.status
const wordsOf = (code: string) => authenticationRefusals[code as keyof typeof authenticationRefusals]
