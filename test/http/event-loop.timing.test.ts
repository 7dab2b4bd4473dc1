import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { paths, segment } from '../contract/contract'
import { booking } from '../support/builders'
import { mainThreadMillisFor } from '../support/cpu'
import { type Sandbox, startSandbox } from '../support/process'

setDefaultTimeout(300_000)

/** The longest time that one request may block the event loop, in ms. */
const mostMillis = 50
/** Maximum number of attempts at one request. On a busy machine some attempts are slow. */
const mostTries = 12

const manyAtOnce = 100

const bodyLimit = 256 * 1024

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox[Symbol.asyncDispose]())

const whole = booking('neighbour')
const withMember = (name: string, value: string) =>
  JSON.stringify({ ...whole, X: 0 }).replace('"X":0', `"${name}":${value}`)
const withMemberData = (different: object) =>
  JSON.stringify({ ...whole, memberData: { ...whole.memberData, ...different } })
const full = (unit: string, room = bodyLimit - 1_000) => unit.repeat(Math.floor(room / unit.length))
const list = (unit: string, room = bodyLimit - 1_000) => `[${full(`${unit},`, room).slice(0, -1)}]`
const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth)
const members = (name: (index: number) => string, value: string, room = bodyLimit - 2_000) => {
  const parts: string[] = []
  for (let size = 0, index = 0; size < room; index++) {
    const part = `"${name(index)}":${value}`
    parts.push(part)
    size += part.length + 1
  }
  return `{${parts.join(',')}}`
}

const bodies: Record<string, string> = {
  'nested arrays': nested('[', ']', 32_000),
  'nested arrays, unclosed': '['.repeat(bodyLimit),
  'nested objects': nested('{"a":', '}', 20_000).replace(':}', ':1}'),
  'nested arrays as an unknown member': withMember('x', nested('[', ']', 100_000)),
  'nested objects as bookingData': withMember(
    'bookingData',
    `${'{"bookingData":'.repeat(12_000)}1${'}'.repeat(12_000)}`,
  ),
  'nested arrays as a name': withMemberData({ firstName: 0 }).replace(
    '"firstName":0',
    `"firstName":${nested('[', ']', 30_000)}`,
  ),
  'many arrays of the deepest allowed nesting': withMember('x', list(nested('[', ']', 29))),
  'brackets in a text': JSON.stringify(full('[{')),
  'escaped quotes in a text': `{"x":"${full('\\"[')}"}`,
  'empty objects as answers': withMember('phq9Data', list('{}')),
  'numbers as answers': withMember('phq9Data', list('0')),
  'thousands of answers': withMember('phq9Data', list('{"question":"a","answer":"b"}')),
  'a hundred large answers of the wrong type': withMember(
    'phq9Data',
    list(`{"question":[${full('0,', 2_000)}0],"answer":{}}`),
  ),
  'an array for the whole body': list('{}'),
  'an array of numbers': list('1e308'),
  'one number with very many digits': withMember('x', full('9')),
  'one fraction with very many digits': withMember('x', `0.${full('1')}`),
  'thousands of members': members((index) => `m${index}`, '0'),
  'thousands of members in memberData': `{"user":{"external_user_id":"u"},"phq9Data":[],"memberData":${members((index) => `m${index}`, '{}')}}`,
  'thousands of misspelt members': members((index) => `memberDat${index % 10}${index}`, '{}'),
  'long misspelt members in memberData': `{"memberData":${members((index) => `preferredSpokenLanguag${index}`, '1')}}`,
  'one member repeated': members(() => 'memberData', '{}'),
  'members with numbers as names': members((index) => String(index * 7_919), '0'),
  '__proto__ repeated': members(() => '__proto__', '{"user":{}}'),
  'a name as long as the body limit': withMemberData({ firstName: full('x', 250_000) }),
  'a name of emojis': withMemberData({ firstName: full('😀', 120_000) }),
  'an address of dots': withMemberData({ email: `${full('a.', 250_000)}@` }),
  'a phone number of hyphens': withMemberData({ phoneNumber: `+1${full('-', 400)}` }),
  'a language of hyphens': withMemberData({ preferredSpokenLanguage: full('a-', 499) }),
  'white space': `${full(' ', bodyLimit - 2)}{}`,
}

const queryLimit = 12_000
const queries: Record<string, string> = {
  'unknown parameters': `${paths.providers}?${full('a&', queryLimit)}`,
  'a number with very many digits': `${paths.providers}?region_id=${full('9', queryLimit)}`,
  'a language of hyphens': `${paths.providers}?region_id=1&language=${full('a-', queryLimit)}`,
  'percent signs': `${paths.user}?external_user_id=${full('%41', queryLimit)}`,
  'broken percent signs': `${paths.user}?${full('%', queryLimit)}=1`,
  'one parameter repeated': `${paths.providers}?${full('page=1&', queryLimit)}`,
  'a page number that is too large': `${paths.regions}?country_code=CA&page=9007199254740993&page_size=100`,
}

const headers: Record<string, Record<string, string>> = {
  'a token with nested arrays as its header': {
    Authorization: `Bearer ${segment(nested('[', ']', 4_000))}.e30.AAAA`,
  },
  'a token of dots': { Authorization: `Bearer ${full('.', 10_000)}` },
  'a token header with very many members': {
    Authorization: `Bearer ${segment(members((index) => `k${index}`, '0', 7_000))}.e30.AAAA`,
  },
  'an Authorization header full of spaces': { Authorization: `Bearer${full(' ', 10_000)}x` },
  'a content type with many parameters': {
    'Content-Type': `application/json${full(';charset=utf-8', 10_000)}`,
  },
  'a cookie with many pairs': { Cookie: full('a=1; ', 10_000) },
}

/** Returns the main-thread time of a request in ms: the shortest of several attempts. */
async function leastMillisOf(send: () => Promise<Response>): Promise<number> {
  let least = Infinity
  for (let tried = 0; tried < mostTries && least >= mostMillis; tried++) {
    const millis = await mainThreadMillisFor(sandbox.pid, async () => {
      const response = await send()
      await response.arrayBuffer()
      expect(response.status).toBeLessThan(500)
    })
    least = Math.min(least, millis)
  }
  return least
}

function submit(body: string): Promise<Response> {
  return fetch(sandbox.report.baseUrl + paths.booking, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${sandbox.token()}` },
    body,
  })
}

describe('http: the event loop is blocked for less than 50 ms', () => {
  test.each(Object.entries(bodies))('by a body of %s', async (_, body) => {
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(bodyLimit)
    expect(await leastMillisOf(() => submit(body))).toBeLessThan(mostMillis)
  })

  test.each(Object.entries(queries))('by a query of %s', async (_, target) => {
    const least = await leastMillisOf(() =>
      fetch(sandbox.report.baseUrl + target, { headers: { Authorization: `Bearer ${sandbox.token()}` } }),
    )
    expect(least).toBeLessThan(mostMillis)
  })

  test.each(Object.entries(headers))('by %s', async (_, different) => {
    const least = await leastMillisOf(() =>
      fetch(sandbox.report.baseUrl + paths.booking, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          Authorization: `Bearer ${sandbox.token()}`,
          ...different,
        },
        body: '{}',
      }),
    )
    expect(least).toBeLessThan(mostMillis)
  })
})

/** Sends requests of another partner until `answered` resolves. Returns the longest response time in ms. */
async function longestDelay(answered: Promise<unknown>): Promise<number> {
  let isUnderWay = true
  const ended = answered.finally(() => {
    isUnderWay = false
  })
  let millis = 0
  do {
    const since = performance.now()
    await sandbox.get(`${paths.regions}?country_code=IE`, sandbox.token('active', 1))
    millis = Math.max(millis, performance.now() - since)
  } while (isUnderWay)
  await ended
  return millis
}

test('http: many large bodies of one partner delay another partner by at most a quarter of the total time', async () => {
  const body = withMember('x', list('{}'))
  let least = 1
  for (let tried = 0; tried < mostTries && least > 0.25; tried++) {
    const since = performance.now()
    const statuses = Promise.all(
      Array.from({ length: manyAtOnce }, async () => {
        const response = await submit(body)
        await response.arrayBuffer()
        return response.status
      }),
    )
    const millis = await longestDelay(statuses)
    expect(await statuses).toEqual(Array(manyAtOnce).fill(201))
    least = Math.min(least, millis / (performance.now() - since))
  }
  expect(least).toBeLessThan(0.25)
})
