import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { expectOneOfTheShapes } from '../hostile/wire'
import { actsOf } from '../support/acts'
import { booking, provider, region } from '../support/builders'
import { times } from '../support/long'
import { startService } from '../support/service'
import { countRows } from '../support/storage'
import { daily, paths } from './contract'

// A failure prints its seed. FAST_CHECK_SEED=<seed> repeats the run.
const seed = Number(process.env.FAST_CHECK_SEED ?? 20_261_201)

let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  const workingHours = [daily('00:00', '24:00')]
  service = await startService({
    directory: {
      regions: [region({ id: 31 })],
      providers: [provider('p', { timeZone: 'Etc/UTC', workingHours })],
    },
  })
})
afterAll(() => service.stop())

/** Every sent text contains this marker, so that the test notices an echo. */
const canary = 'Qvxkzj'
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    '\u0000',
    '\u202e',
    '%00',
    '../',
    "' OR 1=1 --",
    '<script>',
    '1e400',
    '2026-02-30',
    'null',
  ),
  fc.integer({ min: 1, max: 70_000 }).map((length) => 'x'.repeat(length)),
)
const marked = texts.map((text) => `${canary}${text}`)
const values = fc.oneof(
  fc.constantFrom(null, true, false, 0, -1, 1.5, 2 ** 53, -0, 1e308, [], {}, [[]], [null], { toString: 1 }),
  marked,
  fc.array(marked, { maxLength: 25 }),
  fc.dictionary(fc.constantFrom('__proto__', 'constructor', 'email', 'question', 'x'), marked),
)

const body = (id: string) =>
  booking(
    id,
    { providerId: 1, utcStartTime: '2026-12-07T09:00:00Z' },
    { phoneNumber: '+1 416 555 0100', dob: '1990-02-03' },
  )

type Path = readonly (string | number)[]

/** Lists the paths of all values in a body. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([name, inner]) => pathsIn(inner, [...path, name]))]
}

function changed(value: unknown, [name, ...rest]: Path, to: unknown): unknown {
  if (name === undefined) return to
  const copy: Record<string, unknown> = Array.isArray(value)
    ? (value.slice() as never)
    : { ...(value as object) }
  const inner = changed(copy[name], rest, to)
  if (inner === undefined) delete copy[name]
  else copy[name] = inner
  return copy
}

test('contract: a random value in a body is stored or refused, and no error repeats the value', async () => {
  const before = await countRows(service.storage, 'booking_requests')
  let sent = 0
  let created = 0
  const anywhere = fc.constantFrom(...pathsIn(body('any')))
  const property = fc.asyncProperty(anywhere, fc.option(values, { nil: undefined }), async (path, value) => {
    const text = JSON.stringify(changed(body(`random-${sent++}`), path, value)) ?? ''
    const answer = await service.post(paths.booking, text)
    if (answer.status === 201) {
      created++
      if (answer.body.providerId) await actsOf(service.context).decline(answer.body.id, service.act())
      return
    }
    const refusal = { ...answer, text: JSON.stringify(answer.body) }
    expectOneOfTheShapes(refusal, [canary])
    if (refusal.headers.get('x-error-code') !== 'field_invalid') return
    const top = path[0] ?? 'body|user|bookingData|memberData|phq9Data'
    expect(answer.body.message).toMatch(new RegExp(`^(${top})(\\.|\\[|: )`))
  })
  await fc.assert(property, { seed, numRuns: times(400, 100_000) })
  expect(created).toBeGreaterThan(10)
  expect(await countRows(service.storage, 'booking_requests')).toBe(before + created)
})

test('contract: random query parameters are answered or refused, and no error repeats them', async () => {
  const path = fc.constantFrom(paths.regions, paths.providers, paths.user)
  const names = fc.constantFrom(
    ...['country_code', 'region_id', 'external_user_id', 'page', 'page_size', 'modality', 'language', canary],
  )
  const plain = fc.constantFrom('CA', '31', '1', '100', 'in-video', 'fr', '')
  const query = fc.array(fc.tuple(names, fc.oneof(plain, marked)), { maxLength: 5 })
  const property = fc.asyncProperty(path, query, async (path, query) => {
    const pairs = query.map((pair) =>
      pair.map((text) => encodeURIComponent(text.toWellFormed().slice(0, 999))),
    )
    const answer = await service.get(`${path}?${pairs.map((pair) => pair.join('=')).join('&')}`)
    if (answer.status === 200) return
    expectOneOfTheShapes({ ...answer, text: JSON.stringify(answer.body) }, [canary])
  })
  await fc.assert(property, { seed, numRuns: times(400, 100_000) })
})
