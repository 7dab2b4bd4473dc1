import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:tls'
import { type Listening, listen, type TlsIdentity } from '../../src/http/listening/listen'
import { makeCertificate } from '../support/certificates'
import { eventually } from '../support/eventually'
import { Folder } from '../support/folder'

const folder = new Folder()
let [one, two] = [{} as TlsIdentity, {} as TlsIdentity]

beforeAll(() => {
  const [first, second] = [makeCertificate(folder, 'one'), makeCertificate(folder, 'two')]
  one = { cert: first.cert, key: first.pem }
  two = { cert: second.cert, key: second.pem }
})
afterAll(() => folder[Symbol.dispose]())

/** A TLS connection that sends requests on demand. */
class Client {
  readonly #socket
  #received = ''
  #arrived = Promise.withResolvers<void>()
  readonly #ready

  constructor({ port }: Listening) {
    this.#socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
    const [ready, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()]
    this.#socket.on('secureConnect', ready.resolve)
    this.#socket.on('error', gone.reject)
    this.#socket.on('close', () => gone.reject(new Error('closed')))
    gone.promise.catch(() => {})
    this.#ready = Promise.race([ready.promise, gone.promise])
    this.gone = gone.promise
    this.#socket.on('data', (bytes) => {
      this.#received += bytes
      this.#arrived.resolve()
    })
  }

  readonly gone: Promise<never>

  /** Returns the common name of the server's certificate. */
  async name(): Promise<string> {
    await this.#ready
    return String(this.#socket.getPeerCertificate().subject.CN)
  }

  async ask(): Promise<string> {
    await this.#ready
    this.#received = ''
    this.#socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    while (!this.#received.endsWith('\r\n\r\nanswer')) {
      this.#arrived = Promise.withResolvers()
      await Promise.race([this.#arrived.promise, this.gone])
    }
    return this.#received
  }

  close(): void {
    this.#socket.destroy()
  }
}

const answering = () => async () => {
  await Bun.sleep(1)
  return new Response('answer')
}

test('http: after a replacement, new connections get the new certificate', async () => {
  const slow = () => async () => {
    await Bun.sleep(300)
    return new Response('answer')
  }
  const listening = listen('127.0.0.1', 0, slow, one)
  const before = new Client(listening)
  expect(await before.name()).toBe('one')
  const answer = before.ask()
  await Bun.sleep(100)
  listening.replaceCertificate(two)
  expect(listening.underWay()).toBe(1)
  const after = Array.from({ length: 20 }, () => new Client(listening))
  expect(new Set(await Promise.all(after.map((client) => client.name())))).toEqual(new Set(['two']))
  expect(await answer).toEndWith('answer')
  await expect(before.gone).rejects.toThrow('closed')
  for (const client of after) client.close()
  await listening.stop()
})

test('http: replacing a certificate under load fails only connections that are being opened', async () => {
  const listening = listen('127.0.0.1', 0, answering, one)
  let [asked, isOver] = [0, false]
  const names = new Set<string>()
  const faults: unknown[] = []
  const knock = async () => {
    while (!isOver) {
      const client = new Client(listening)
      try {
        names.add(await client.name())
        await client.ask()
        asked++
      } catch (error) {
        faults.push(error)
      }
      client.close()
    }
  }
  const clients = Array.from({ length: 20 }, knock)
  for (let turn = 0; turn < 10; turn++) {
    await eventually('more answers', () => asked > 12 * (turn + 1))
    listening.replaceCertificate(turn % 2 === 0 ? two : one)
  }
  isOver = true
  await Promise.all(clients)
  await listening.stop()
  expect(faults.length).toBeLessThan(10 * clients.length)
  expect(faults.filter((fault) => !/closed|ECONNRESET/.test(String(fault)))).toEqual([])
  expect(asked).toBeGreaterThan(100)
  expect([...names].sort()).toEqual(['one', 'two'])
})

test('http: an unusable certificate is rejected, and the old certificate stays in use', async () => {
  const listening = listen('127.0.0.1', 0, answering, one)
  const broken = { cert: two.cert, key: one.key }
  expect(() => listening.replaceCertificate(broken)).toThrow(
    'the TLS library rejects the TLS certificate or its key',
  )
  const client = new Client(listening)
  expect(await client.name()).toBe('one')
  expect(await client.ask()).not.toContain('Connection: close')
  client.close()
  await listening.stop()
})

test('http: a second server cannot listen on a TLS port in use', async () => {
  const listening = listen('127.0.0.1', 0, answering, one)
  expect(() => listen('127.0.0.1', listening.port, answering, two)).toThrow('in use')
  expect(() => listen('127.0.0.1', listening.port, answering)).toThrow('in use')
  await listening.stop()
})

test('http: stopping a TLS server waits for requests in flight and closes idle connections', async () => {
  const slow = () => async () => {
    await Bun.sleep(1_500)
    return new Response('answer')
  }
  const listening = listen('127.0.0.1', 0, slow, one)
  const [silent, asking] = [new Client(listening), new Client(listening)]
  await Promise.all([silent.name(), asking.name()])
  const answer = asking.ask()
  await Bun.sleep(50)
  const before = performance.now()
  await listening.stop()
  expect(await answer).toStartWith('HTTP/1.1 200')
  expect(performance.now() - before).toBeLessThan(5_000)
  await expect(silent.gone).rejects.toThrow()
})

test('http: TLS 1.2 accepts only forward-secret AEAD ciphers, also after a certificate is replaced', async () => {
  const listening = listen('127.0.0.1', 0, answering, one)
  const spoken = (cipher: string) => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const asked = { ciphers: cipher, maxVersion: 'TLSv1.2' } as const
    const socket = connect({ host: '127.0.0.1', port: listening.port, rejectUnauthorized: false, ...asked })
    socket.on('secureConnect', () => resolve(socket.getCipher().name))
    socket.on('error', () => resolve('none'))
    return promise.finally(() => socket.destroy())
  }
  for (const certificate of [one, two]) {
    listening.replaceCertificate(certificate)
    expect(await spoken('ECDHE-ECDSA-AES128-GCM-SHA256')).toBe('ECDHE-ECDSA-AES128-GCM-SHA256')
    expect(await spoken('ECDHE-ECDSA-CHACHA20-POLY1305')).toBe('ECDHE-ECDSA-CHACHA20-POLY1305')
    for (const weak of ['ECDHE-ECDSA-AES128-SHA', 'AES128-SHA']) expect(await spoken(weak)).toBe('none')
  }
  await listening.stop()
})
