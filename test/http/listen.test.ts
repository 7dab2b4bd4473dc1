import { expect, spyOn, test } from 'bun:test'
import { connect } from 'node:net'
import { Refusal } from '../../src/domain/errors'
import { listen } from '../../src/http/listening/listen'
import { nextTurn, until } from '../support/turns'

test('http: the client address of a request can be read again after the client has disconnected', async () => {
  const gone = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<string[]>()
  const came = Promise.withResolvers<void>()
  const { port, stop } = listen('127.0.0.1', 0, (_, addressOf) => async (request) => {
    const before = addressOf(request)
    came.resolve()
    request.signal.addEventListener('abort', () => gone.resolve())
    await gone.promise
    await nextTurn()
    asked.resolve([before, addressOf(request)])
    return new Response()
  })
  const socket = connect({ host: '127.0.0.1', port })
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await came.promise
  socket.resetAndDestroy()
  expect(await asked.promise).toEqual(['127.0.0.1', '127.0.0.1'])
  await stop()
})

test('http: the address of a disconnected client can still be read, even with an empty Host header', async () => {
  const gone = Promise.withResolvers<void>()
  const asked: string[] = []
  let came = 0
  const { port, stop } = listen('127.0.0.1', 0, (_, addressOf) => async (request) => {
    came++
    request.signal.addEventListener('abort', () => gone.resolve())
    await gone.promise
    await nextTurn()
    asked.push(addressOf(request))
    return new Response()
  })
  const socket = connect({ host: '127.0.0.1', port })
  socket.write('GET / HTTP/1.1\r\nHost: \r\n\r\n')
  await until(() => came === 1)
  socket.resetAndDestroy()
  const other = connect({ host: '127.0.0.1', port })
  other.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await until(() => asked.length === 2)
  other.destroy()
  await stop()
  expect(asked).toEqual(['127.0.0.1', '127.0.0.1'])
})

test.each([
  ['no-such-host.invalid', 'cannot be resolved to an address'],
  ['not a host', 'cannot be resolved to an address'],
  ['192.0.2.1', 'is not an address of this machine'],
])('http: listening on the invalid host %p fails with one line that names the host', (host, fault) => {
  let error: unknown
  try {
    listen(host, 0, () => () => new Response())
  } catch (thrown) {
    error = thrown
  }
  expect(error).toEqual(new Refusal('settings_invalid', `--host: ${host} ${fault}`))
})

test.each(['EINVAL', 'ENOTFOUND', 'EAGAIN', 'ENOENT'])(
  'http: listening on a host for which the resolver returns %s fails with one line that names the host',
  (code) => {
    using _ = spyOn(Bun, 'serve').mockImplementation(() => {
      throw Object.assign(new Error(code), { code })
    })
    expect(() => listen('api.example.org', 0, () => () => new Response())).toThrow(
      new Refusal('settings_invalid', '--host: api.example.org cannot be resolved to an address'),
    )
  },
)
