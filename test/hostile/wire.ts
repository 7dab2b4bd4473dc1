import { expect } from 'bun:test'
import { connect } from 'node:net'
import { authenticationRefusals } from '../../src/auth/token'
import { errorCodes } from '../../src/http/errors'
import { expectAbsent } from '../contract/contract'

/** A response as it stood on the wire. */
export interface WireAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** What came back over a connection. */
export interface Exchange {
  /** In order; interim ones (100 Continue) left out. */
  readonly answers: readonly WireAnswer[]
  /** How it ended: the server closed it, or nothing more came. */
  readonly ending: 'closed' | 'open'
}

/** What is done to a connection: bytes are sent, so many milliseconds or an answer waited for, perhaps an end made. */
export type Step = Buffer | number | 'answered' | 'half-close' | 'reset'

interface ExchangeOptions {
  /** How many answers, or else an end, are waited for with patience; what comes beyond them, for a moment only. */
  readonly due: number
  /** Whether the request is a HEAD, whose answer tells a length and has no body. */
  readonly isHead?: boolean
}

const patienceMillis = 10_000
const momentMillis = 150

/** Sends bytes as they are over a connection of their own, and reads all that comes back. */
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
      timer = setTimeout(() => finish('open'), isPatient ? patienceMillis : momentMillis)
    }
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      wait()
    })
    socket.on('end', () => finish('closed'))
    socket.on('close', () => finish('closed'))
    // A reset while we still write: whatever was answered before it counts.
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

/** Waits until something has come, with patience. */
async function hasCome(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + patienceMillis
  while (!isSo() && performance.now() < deadline) await Bun.sleep(5)
}

/** The whole responses at the beginning of what was received. */
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

/** A request's bytes: its lines, those of the head, and its body. */
export function message(lines: readonly string[], body: string | Buffer = ''): Buffer {
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)])
}

/**
 * Asserts that an answer other than a success is whole and says nothing else: in one of the contract's two shapes
 * with its headers, or Bun's own bare refusal of what is no HTTP.
 *
 * @param absent what it must not hold
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

/** What Bun answers by itself, before any of our code: not HTTP, a head or a chunk's too large, a version it does not speak. */
const bareStatuses = [400, 413, 431, 505]

const statusOf = (code: string) => errorCodes[code as keyof typeof errorCodes]?.status
const wordsOf = (code: string) => authenticationRefusals[code as keyof typeof authenticationRefusals]
