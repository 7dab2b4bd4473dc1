import { expect, spyOn, test } from 'bun:test'
import { FairQueue } from '../../src/http/admission'
import { type LogEntry, logEntryOf } from '../../src/http/log'
import { Representation } from '../../src/http/representation'
import { respond } from '../../src/http/respond'

const entryWith = (headers: Record<string, string>): LogEntry => ({ ...logEntryOf(sent({})), headers })
const sent = (headers: Record<string, string>) => new Request('http://localhost/', { headers })

const refund = () => {}

test('http: a page is compressed once for many concurrent requests', async () => {
  const blob = new Blob([JSON.stringify(Array.from({ length: 1000 }, (_, at) => ({ at })))])
  const body = new Representation(blob, 'W/"tag"')
  const readings = spyOn(blob, 'bytes')
  const kept = spyOn(body, 'keep')
  const queue = new FairQueue()
  const ask = (_: unknown, place: number) =>
    respond(
      { body },
      {
        request: sent({ 'Accept-Encoding': 'gzip' }),
        partnerId: place % 3,
        status: 200,
        entry: entryWith({}),
        refund,
      },
      queue,
    )
  const answers = await Promise.all(Array.from({ length: 200 }, ask))
  expect([readings.mock.calls.length, kept.mock.calls.length]).toEqual([1, 1])
  for (const answer of answers) {
    expect(Bun.gunzipSync(await answer.arrayBuffer())).toEqual(await blob.bytes())
  }
})

test.each<[ifNoneMatch: string, status: number]>([
  ['*', 304],
  [' * ', 304],
  ['"other", W/"tag"', 304],
  ['"tag"', 304],
  ['"a,*,b"', 200],
  ['"other tag"', 200],
  ['"atag", "tagb"', 200],
])('http: If-None-Match %p is answered with %i', async (ifNoneMatch, status) => {
  const body = new Representation(new Blob(['[]']), 'W/"tag"')
  const request = sent({ 'If-None-Match': ifNoneMatch })
  const answer = await respond(
    { body },
    { request, partnerId: 1, status: 200, entry: entryWith({}), refund },
    new FairQueue(),
  )
  expect(answer.status).toBe(status)
})

test.each<[name: string, acceptEncoding: string, coding: string | null]>([
  ['an Accept-Encoding of 1,000 characters is obeyed', `gzip,${','.repeat(995)}`, 'gzip'],
  ['an Accept-Encoding of more than 1,000 characters is ignored', `gzip,${','.repeat(996)}`, null],
])('http: %s', async (_, acceptEncoding, coding) => {
  const body = new Representation(new Blob(['[]']), 'W/"tag"')
  const request = sent({ 'Accept-Encoding': acceptEncoding })
  const asked = { request, partnerId: 1, status: 200, entry: entryWith({}), refund }
  const answer = await respond({ body }, asked, new FairQueue())
  expect(answer.headers.get('content-encoding')).toBe(coding)
})

test('http: a response with a cached page has the RateLimit headers of the current request', async () => {
  const body = new Representation(new Blob(['[]']), 'W/"tag"')
  const rateHeadersOf = async (limit: Record<string, string>, ifNoneMatch = '') => {
    const request = sent({ 'If-None-Match': ifNoneMatch })
    const { headers } = await respond(
      { body },
      { request, partnerId: 1, status: 200, entry: entryWith(limit), refund },
      new FairQueue(),
    )
    return [headers.get('ratelimit-policy'), headers.get('ratelimit')]
  }
  const limited = (left: number) => ({
    'RateLimit-Policy': '"reads";q=9;w=60',
    RateLimit: `"reads";r=${left};t=1`,
  })
  for (const tag of ['', '*']) {
    expect(await rateHeadersOf(limited(8), tag)).toEqual(['"reads";q=9;w=60', '"reads";r=8;t=1'])
    expect(await rateHeadersOf({}, tag)).toEqual([null, null])
    expect(await rateHeadersOf(limited(7), tag)).toEqual(['"reads";q=9;w=60', '"reads";r=7;t=1'])
  }
})

test('http: sending a cached page to a second request does not change the headers of the first response', async () => {
  const body = new Representation(new Blob(['[]']), 'W/"tag"')
  const answerWith = (left: string) =>
    respond(
      { body },
      { request: sent({}), partnerId: 1, status: 200, entry: entryWith({ RateLimit: left }), refund },
      new FairQueue(),
    )
  const [first, second] = [await answerWith('1'), await answerWith('2')]
  expect([first.headers.get('ratelimit'), second.headers.get('ratelimit')]).toEqual(['1', '2'])
})
