import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import { listen } from '../../src/http/listening/listen'
import { isLong } from '../support/long'
import { startService } from '../support/service'
import { millisOf, repeatIfStalled } from '../support/standstill'

const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

interface Client {
  readonly connected: Promise<void>
  readonly send: (text: string) => void
  readonly received: string
  /** Resolves when the connection closes: to all received bytes, or to an error code. */
  readonly ended: Promise<string>
}

function client(port: number): Client {
  const socket = connect({ host: '127.0.0.1', port })
  const connected = Promise.withResolvers<void>()
  socket.on('connect', () => connected.resolve())
  const ended = Promise.withResolvers<string>()
  let received = ''
  socket.on('data', (data) => {
    received += data
  })
  socket.on('error', ({ code }: Error & { code?: string }) => ended.resolve(code ?? 'failed'))
  socket.on('close', () => ended.resolve(received))
  return {
    connected: connected.promise,
    send: (text) => socket.write(text),
    ended: ended.promise,
    get received() {
      return received
    },
  }
}

const isLast = /^HTTP\/1\.1 200 OK\r\nConnection: close\r\n/

test('http: an idle server stops at once, even with an open connection', async () => {
  const { port, stop } = listen('127.0.0.1', 0, () => () => new Response())
  const kept = client(port)
  kept.send(get)
  while (kept.received === '') await Bun.sleep(1)
  expect(await millisOf(stop)).toBeLessThan(500)
  expect(await kept.ended).not.toMatch(isLast)
})

test('http: on stop, requests in flight are answered and their connections are closed', async () => {
  const { port, stop } = listen('127.0.0.1', 0, () => async () => {
    await Bun.sleep(800)
    return new Response('done')
  })
  const clients = Array.from({ length: 20 }, () => client(port))
  for (const { send } of clients) send(get)
  await Bun.sleep(50)
  await stop()
  for (const { ended } of clients) {
    const answer = await ended
    expect(answer).toMatch(isLast)
    expect(answer).toEndWith('\r\n\r\ndone')
  }
})

test('http: on stop, a busy server accepts requests for half a second and then refuses connections', async () => {
  const results = await repeatIfStalled(async () => {
    const { port, stop } = listen('127.0.0.1', 0, () => async (request) => {
      if (request.url.endsWith('/slow')) await Bun.sleep(1_200)
      return new Response('done')
    })
    const ask = () => {
      const each = client(port)
      each.send(get)
      return each.ended
    }
    const slow = client(port)
    slow.send('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
    await Bun.sleep(50)
    const stopped = stop()
    const [early, next] = [await ask(), await ask()]
    await Bun.sleep(560)
    const [late, refused] = [await ask(), await client(port).ended]
    await stopped
    return { answered: [early, next, late, await slow.ended], refused }
  })
  for (const answer of results.answered) expect(answer).toMatch(isLast)
  expect(results.refused).toBe('ECONNREFUSED')
})

test('http: on stop, clients that keep sending requests do not delay the stop', async () => {
  const { port, stop } = listen('127.0.0.1', 0, () => () => new Response('done'))
  const asking = setInterval(() => client(port).send(get), 10)
  await Bun.sleep(50)
  expect(await millisOf(stop)).toBeLessThan(3_000)
  clearInterval(asking)
})

test.skipIf(!isLong)(
  'http: on stop, a client that never completes its body is disconnected after 15 seconds',
  async () => {
    const { port, stop } = listen('127.0.0.1', 0, () => async (request) => new Response(await request.text()))
    const stuck = client(port)
    stuck.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\ndo')
    await Bun.sleep(20)
    const millis = await millisOf(stop)
    expect(millis).toBeGreaterThan(14_000)
    expect(millis).toBeLessThan(17_000)
    expect(await stuck.ended).not.toContain('done')
  },
)

test('http: on stop, the server waits for a request body that is still being sent', async () => {
  const { port, stop } = listen('127.0.0.1', 0, () => async (request) => new Response(await request.text()))
  const slow = client(port)
  slow.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\ndo')
  await Bun.sleep(20)
  const stopped = stop()
  await Bun.sleep(800)
  slow.send('ne')
  await stopped
  expect(await slow.ended).toMatch(isLast)
  expect(await slow.ended).toEndWith('\r\n\r\ndone')
})

test('http: on stop, unread requests on new and reused connections are answered', async () => {
  const { port, stop } = listen('127.0.0.1', 0, () => () => new Response('done'))
  const [kept, fresh] = [0, 1].map(() => Array.from({ length: 20 }, () => client(port))) as [
    Client[],
    Client[],
  ]
  for (const { send } of kept) send(get)
  while (kept.some(({ received }) => received === '')) await Bun.sleep(1)
  await Promise.all(fresh.map(({ connected }) => connected))
  // Sends all requests in one turn of the event loop, so that the server has read none of them when it stops.
  for (const { send } of [...kept, ...fresh]) send(get)
  await stop()
  for (const { ended } of kept) expect(await ended).toMatch(/done.*Connection: close.*done$/s)
  for (const { ended } of fresh) expect(await ended).toMatch(isLast)
})

// Only on Linux can the server see connections that have not sent anything yet.
test.if(process.platform === 'linux')(
  'http: on stop, a late request on an open connection is answered',
  async () => {
    const { port, stop } = listen('127.0.0.1', 0, () => () => new Response('done'))
    const slow = Array.from({ length: 20 }, () => client(port))
    await Promise.all(slow.map(({ connected }) => connected))
    const stopped = stop()
    await Bun.sleep(700)
    for (const { send } of slow) send(get)
    await stopped
    for (const { ended } of slow) expect(await ended).toMatch(isLast)
  },
)

test('http: on stop, a client that keeps connecting is answered until its connection is refused', async () => {
  const { port, stop } = listen('127.0.0.1', 0, () => () => new Response('done'))
  const asking = Array.from({ length: 20 }, async () => {
    for (;;) {
      const each = client(port)
      each.send(get)
      const answer = await each.ended
      if (answer === 'ECONNREFUSED') return answer
      expect(answer).toEndWith('done')
    }
  })
  await Bun.sleep(50)
  expect(await millisOf(stop)).toBeLessThan(2_000)
  expect(new Set(await Promise.all(asking))).toEqual(new Set(['ECONNREFUSED']))
})

test('http: on stop, /readyz answers 503 before the server closes', async () => {
  const service = await startService()
  const asking = client(Number(new URL(service.baseUrl).port))
  const readyz = 'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n'
  asking.send(readyz)
  while (asking.received === '') await Bun.sleep(1)
  asking.send(readyz)
  await service.stop()
  const answers = (await asking.ended).split(/(?=HTTP\/1\.1)/)
  expect(answers.map((answer) => answer.slice(9, 12))).toEqual(['200', '503'])
  expect(answers[1]).toContain('Connection: close\r\n')
  expect(answers[1]).toEndWith('{"message":"not ready","status":503}')
})
