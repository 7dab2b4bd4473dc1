import { expect, test } from 'bun:test'
import { inOnePiece, wouldBeInPieces } from '../../src/http/respond'
import { Uncaught } from '../db/postgres/pools'
import { nextTurn, turns } from '../support/turns'

const headers = { 'Content-Type': 'application/json', ETag: 'W/"1"' }

function serveLate(size: number) {
  const body = new Uint8Array(size).map((_, place) => place % 251)
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    fetch: async () => {
      await nextTurn()
      return inOnePiece(body, { status: 203, headers })
    },
  })
  return { body, url: server.url, [Symbol.asyncDispose]: () => server.stop(true) }
}

test.each([1, 100, 15_359, 15_360, 20_000, 300_000, 3_000_000])(
  'http: an asynchronous response of %i bytes is complete and has a Content-Length',
  async (size) => {
    await using late = serveLate(size)
    const response = await fetch(late.url)
    expect([response.status, await response.bytes()]).toEqual([203, late.body])
    const { date: _, ...received } = Object.fromEntries(response.headers)
    expect(received).toEqual({
      'content-type': 'application/json',
      etag: 'W/"1"',
      'content-length': String(size),
    })
  },
)

test.each([
  [15_359, false],
  [15_360, true],
])('http: Bun would send %i bytes in several writes: %p', (size, would) => {
  expect(wouldBeInPieces(size)).toBe(would)
})

test('http: a slow reader receives a large response, and a client that disconnects causes no error', async () => {
  using uncaught = new Uncaught()
  const size = 8_000_000
  await using late = serveLate(size)
  const going = await Promise.all(Array.from({ length: 20 }, () => readSome(late.url, false)))
  expect(going.every((received) => received < size)).toBe(true)
  expect(await readSome(late.url, true)).toBeGreaterThan(size)
  expect(uncaught.list).toEqual([])
})

/** Sends a request and pauses. Then reads the whole response or disconnects. Returns the number of received bytes. */
async function readSome(url: URL, all: boolean): Promise<number> {
  let received = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  const socket = await Bun.connect({
    hostname: url.hostname,
    port: Number(url.port),
    socket: {
      data: (_, bytes) => {
        received += bytes.length
      },
      close: () => resolve(),
    },
  })
  socket.pause()
  socket.write(request)
  await turns(100)
  if (!all) {
    socket.terminate()
    return received
  }
  socket.resume()
  await promise
  return received
}

const request = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
