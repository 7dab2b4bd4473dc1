import { expect, test } from 'bun:test'
import { inOnePiece, wouldBeInPieces } from '../../src/http/respond'
import { Uncaught } from '../db/postgres/pools'
import { nextTurn, turns } from '../support/turns'

const headers = { 'Content-Type': 'application/json', ETag: 'W/"1"' }

/** A server whose answers of so many bytes all come in a later turn than what they are asked by. */
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
  'an answer of %i bytes that comes late is as it was made, with its length',
  async (size) => {
    await using late = serveLate(size)
    const response = await fetch(late.url)
    expect([response.status, await response.bytes()]).toEqual([203, late.body])
    const { date: _, ...told } = Object.fromEntries(response.headers)
    expect(told).toEqual({
      'content-type': 'application/json',
      etag: 'W/"1"',
      'content-length': String(size),
    })
  },
)

test.each([
  [15_359, false],
  [15_360, true],
])('Bun would send %i bytes in pieces: %p', (size, would) => {
  expect(wouldBeInPieces(size)).toBe(would)
})

test('a large answer reaches whoever reads it late, and hurts nobody where its client goes in the middle', async () => {
  using uncaught = new Uncaught()
  const size = 8_000_000
  await using late = serveLate(size)
  const going = await Promise.all(Array.from({ length: 20 }, () => readSome(late.url, false)))
  expect(going.every((received) => received < size)).toBe(true)
  // With its headers.
  expect(await readSome(late.url, true)).toBeGreaterThan(size)
  expect(uncaught.list).toEqual([])
})

/** Asks, and reads nothing for a while. Then it reads all, or goes. Tells how many bytes it was sent. */
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
