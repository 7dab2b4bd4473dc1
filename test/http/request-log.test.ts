import { expect, test } from 'bun:test'
import { repeatedly } from '../../src/http/errors'
import { type LogEntry, logEntryOf, withLogEntries } from '../../src/http/log'
import { FakeClock } from '../support/held-time'
import { nextTurn } from '../support/turns'

async function sightOf(method: string, isLate: boolean): Promise<{ entry: LogEntry[]; answer: Response }> {
  using time = new FakeClock()
  const entry: LogEntry[] = []
  const answer = (request: Request) => {
    const sight = logEntryOf(request)
    sight.bytes = 5
    return new Response('12345', { status: 418, headers: sight.headers })
  }
  const answerLate = async (request: Request) => {
    await nextTurn()
    time.pass(5)
    return answer(request)
  }
  const handle = isLate ? answerLate : answer
  const fetch = withLogEntries(handle, [(sight) => void entry.push(sight)], { 'X-Always': 'so' })
  return { answer: await fetch(new Request('http://localhost/', { method })), entry }
}

test.each([
  ['GET', false, 5],
  ['GET', true, 5],
  ['HEAD', false, 0],
])(
  'http: a %s request is logged once, with the id and size of its response',
  async (method, isLate, bytes) => {
    const { entry, answer } = await sightOf(method, isLate)
    const id = answer.headers.get('x-request-id') as string
    expect(id).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
    expect(answer.headers.get('x-always')).toBe('so')
    expect(entry).toMatchObject([
      { id, method, status: 418, bytes, route: null, partnerId: null, refusedFor: null },
    ])
    expect(entry[0]?.millis).toBe(isLate ? 5 : 0)
  },
)

test('http: a repeated 401 never carries the RateLimit headers of another request', () => {
  const refuse = repeatedly('token_invalid', 'words')
  const refusedWith = (more: Record<string, string>) => {
    const entry = logEntryOf(new Request('http://localhost/'))
    const { headers } = refuse({ ...entry, headers: { ...entry.headers, ...more } }, 'a.b.c')
    return [headers.get('ratelimit'), headers.get('x-request-id') === entry.id]
  }
  expect(refusedWith({ RateLimit: '"bookings";r=1;t=1' })).toEqual([null, true])
  expect(refusedWith({})).toEqual([null, true])
})
