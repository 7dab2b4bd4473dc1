import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { booking, provider, region } from '../support/builders'
import { startService, type TestPartner, type TestService } from '../support/service'
import { paths } from './contract'

// Entity tags, conditional requests and compression (RFC 9110 §8.4, §8.8.3, §13.1.2).

let service: TestService & { readonly partner: TestPartner }
const page = `${paths.providers}?region_id=1&page_size=2&page=1`
const nextPage = `${paths.providers}?region_id=1&page_size=2&page=2`
const regions = `${paths.regions}?country_code=CA`

beforeAll(async () => {
  service = await startService({
    directory: { regions: [region()], providers: ['a', 'b', 'c', 'd'].map((ref) => provider(ref)) },
  })
})
afterAll(() => service.stop())

interface Raw {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array<ArrayBuffer>
}

async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Raw> {
  const response = await fetch(service.baseUrl + path, {
    method,
    headers: { Authorization: `Bearer ${service.partner.token}`, 'Accept-Encoding': 'identity', ...headers },
    decompress: false,
  })
  return {
    status: response.status,
    headers: response.headers,
    bytes: new Uint8Array(await response.arrayBuffer()),
  }
}

const decoders: Record<string, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array> = {
  identity: (bytes) => bytes,
  gzip: (bytes) => Bun.gunzipSync(bytes),
  zstd: (bytes) => Bun.zstdDecompressSync(bytes),
}

function read({ headers, bytes }: Raw): unknown {
  const decode = decoders[headers.get('content-encoding') ?? 'identity']
  return JSON.parse(Buffer.from(decode?.(bytes) ?? '').toString())
}

const tagIn = ({ headers }: Raw) => headers.get('etag') ?? 'none'

let booked = 0
async function bookFirst(path = page) {
  const { results } = (await service.get(path)).body
  const [{ providerId, availability }] = results
  const { utcStartTime } = availability[0]
  const answer = await service.post(
    paths.booking,
    booking(`m-${booked++}`, { providerId, utcStartTime }, { email: `m-${booked}@example.com` }),
  )
  expect(answer.status).toBe(201)
}

describe.each([
  ['a page of search', page],
  ['a list of regions', regions],
])('contract: caching of %s', (_, path) => {
  test('sends an ETag, private no-cache, and Vary: Accept-Encoding', async () => {
    const { status, headers } = await ask(path)
    expect(status).toBe(200)
    expect(headers.get('etag')).toMatch(/^W\/"[a-z0-9]+"$/)
    expect(headers.get('cache-control')).toBe('private, no-cache')
    expect(headers.get('vary')).toBe('Accept-Encoding')
    expect(headers.get('content-type')).toBe('application/json')
  })

  test('sends the same bytes and ETag again, in every content coding', async () => {
    const [one, other] = [await ask(path), await ask(path)]
    expect(other.bytes).toEqual(one.bytes)
    for (const coding of ['gzip', 'zstd']) {
      const compressed = await ask(path, { 'Accept-Encoding': coding })
      expect(compressed.headers.get('content-encoding')).toBe(coding)
      expect(decoders[coding]?.(compressed.bytes)).toEqual(one.bytes)
      expect(tagIn(compressed)).toBe(tagIn(one))
      expect((await ask(path, { 'Accept-Encoding': coding })).bytes).toEqual(compressed.bytes)
    }
    expect(tagIn(other)).toBe(tagIn(one))
  })

  test.each([
    ['its ETag', (tag: string) => tag],
    ['its ETag as a strong one', (tag: string) => tag.slice(2)],
    ['its ETag among others', (tag: string) => `"other", W/"another",${tag} `],
    ['*', () => '*'],
  ])('answers 304 without a body if If-None-Match is %s', async (_, named) => {
    const known = await ask(path)
    for (const method of ['GET', 'HEAD']) {
      for (const coding of ['identity', 'gzip', 'zstd']) {
        const sent = { 'If-None-Match': named(tagIn(known)), 'Accept-Encoding': coding }
        const { status, headers, bytes } = await ask(path, sent, method)
        expect([status, bytes.length]).toEqual([304, 0])
        expect(tagIn({ status, headers, bytes })).toBe(tagIn(known))
        expect(headers.get('cache-control')).toBe('private, no-cache')
        expect(headers.get('vary')).toBe('Accept-Encoding')
        expect(headers.get('content-encoding')).toBeNull()
        expect(headers.get('content-type')).toBeNull()
      }
    }
  })

  test.each([
    ['another ETag', '"other"'],
    ['a part of the ETag', 'W/"'],
    ['empty', ''],
    ['the ETag without quotes', 'bare'],
  ])('answers 200 if If-None-Match is %s', async (_, named) => {
    const tag = tagIn(await ask(path))
    const sent = named === 'bare' ? tag.slice(3, -1) : named
    expect((await ask(path, { 'If-None-Match': sent })).status).toBe(200)
  })

  test.each<[acceptEncoding: string, coding: string | null]>([
    ['gzip', 'gzip'],
    ['zstd', 'zstd'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip;q=0.5, zstd;q=0.4', 'gzip'],
    ['gzip;q=0, zstd;q=0', null],
    ['*', 'gzip'],
    ['identity, gzip;q=0.9, zstd;q=0.9', null],
    ['br', null],
    ['gzip;q=nonsense', null],
  ])(
    'answers Accept-Encoding %p with Content-Encoding %p and a correct Content-Length',
    async (acceptEncoding, coding) => {
      const plain = await ask(path)
      const answer = await ask(path, { 'Accept-Encoding': acceptEncoding })
      expect(answer.headers.get('content-encoding')).toBe(coding)
      expect(answer.headers.get('content-length')).toBe(String(answer.bytes.length))
      expect(read(answer)).toEqual(read(plain))
    },
  )

  test('answers HEAD with the headers of GET, including Content-Length, in every content coding', async () => {
    for (const coding of ['identity', 'gzip', 'zstd']) {
      const got = await ask(path, { 'Accept-Encoding': coding })
      const { status, headers, bytes } = await ask(path, { 'Accept-Encoding': coding }, 'HEAD')
      expect([status, bytes.length]).toEqual([200, 0])
      const stable = (of: Headers) =>
        [...of].filter(([name]) => name !== 'date' && name !== 'x-request-id').sort()
      expect(stable(headers)).toEqual(stable(got.headers))
      expect(headers.get('content-length')).toBe(String(got.bytes.length))
    }
  })
})

describe('contract: a page of search after a booking', () => {
  beforeEach(async () => {
    for (const path of [page, nextPage]) await ask(path)
  })

  test('has a new ETag, and other pages keep their ETags', async () => {
    const [before, others] = [await ask(page), await ask(nextPage)]
    await bookFirst()
    const after = await ask(page, { 'If-None-Match': tagIn(before) })
    expect(after.status).toBe(200)
    expect(tagIn(after)).not.toBe(tagIn(before))
    expect(read(after)).not.toEqual(read(before))
    expect((await ask(nextPage, { 'If-None-Match': tagIn(others) })).status).toBe(304)
  })

  test('is sent uncompressed to the first request and compressed to the second', async () => {
    await ask(page, { 'Accept-Encoding': 'gzip' })
    await bookFirst()
    await bookFirst(nextPage)
    const first = await ask(nextPage, { 'Accept-Encoding': 'gzip' })
    const second = await ask(nextPage, { 'Accept-Encoding': 'gzip' })
    expect(first.headers.get('content-encoding')).toBeNull()
    expect(second.headers.get('content-encoding')).toBe('gzip')
    expect(read(second)).toEqual(read(first))
    expect(tagIn(second)).toBe(tagIn(first))
  })

  test.each(['identity;q=0, gzip', 'zstd, *;q=0'])(
    'is compressed even for the first request if the client accepts no uncompressed body: %s',
    async (acceptEncoding) => {
      await bookFirst()
      await bookFirst(nextPage)
      const { headers } = await ask(nextPage, { 'Accept-Encoding': acceptEncoding })
      expect(headers.get('content-encoding')).toBeOneOf(['gzip', 'zstd'])
    },
  )

  test('is still compressed at once if the booking changed only another page', async () => {
    for (const _ of [1, 2]) await ask(nextPage, { 'Accept-Encoding': 'zstd' })
    await bookFirst()
    const answer = await ask(nextPage, { 'Accept-Encoding': 'zstd' })
    expect(answer.headers.get('content-encoding')).toBe('zstd')
  })
})

test('contract: responses about a member and error responses have no ETag', async () => {
  await service.post(paths.booking, booking('kept', undefined, { email: 'kept@example.com' }))
  const asked = { 'If-None-Match': '*', 'Accept-Encoding': 'gzip' }
  for (const [path, status] of [
    [`${paths.user}?external_user_id=kept`, 200],
    [`${paths.user}?external_user_id=nobody`, 404],
    [`${paths.providers}?region_id=99`, 400],
    [paths.booking, 405],
  ] as const) {
    const answer = await ask(path, asked)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('etag')).toBeNull()
    expect(answer.headers.get('content-encoding')).toBeNull()
  }
})

test('contract: a page of search has the same ETag in another process', async () => {
  await using other = await startAgain()
  expect(await other.tagOf(page)).toBe(tagIn(await ask(page)))
})

async function startAgain() {
  const { openService } = await import('../../src/service')
  const { context, storage } = service
  const opened = await openService({
    purpose: 'sandbox',
    ...storage,
    create: false,
    clock: context.clock,
    report: () => {},
  })
  // The links in a page contain the base URL. Both services must use the same base URL.
  const server = await opened.listen({ host: 'localhost', port: 0, baseUrl: service.baseUrl })
  return {
    async tagOf(path: string) {
      const headers = { Authorization: `Bearer ${service.partner.token}` }
      return (await fetch(`http://localhost:${server.port}${path}`, { headers })).headers.get('etag')
    },
    async [Symbol.asyncDispose]() {
      await server.stop()
      await opened.close()
    },
  }
}

test('contract: a new count and a new next link change the ETag of a page', async () => {
  const directory = (...refs: string[]) => ({
    regions: [region()],
    providers: refs.map((ref) => provider(ref)),
  })
  const own = await startService({ directory: directory('a', 'b') })
  try {
    const before = await own.get(page)
    await own.load(directory('a', 'b', 'c'))
    const after = await own.get(page)
    expect(after.body).toEqual({ ...before.body, count: 3, next: expect.stringContaining('page=2') })
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
  } finally {
    await own.stop()
  }
})
