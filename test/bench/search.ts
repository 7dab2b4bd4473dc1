import { search, settled, unchanged } from './asks'
import { Bare } from './bare'
import { searchAfterBooking } from './booked'
import { attempt, comparing, type Row, rounds, type Told } from './row'
import { Serving } from './service'
import { besideBare, run, takeTurns } from './wrk'

const [few, many] = [60, 100_000]
const pageSize = 20
const middle = { ofFew: 2, ofMany: many / pageSize / 2 }
/** Two of nine providers fit. */
const filter = { text: '&language=fr&modality=telephonic', middle: Math.floor(many / 9 / pageSize) }
const coldPagesOfRound = Math.floor(many / pageSize / (rounds + 1))

/** Searches beside a bare server with the same bytes, of few providers and of many. */
export async function benchSearch(): Promise<Row[]> {
  await using large = await Serving.start(many)
  await using small = await Serving.start(few)
  const { baseUrl } = small
  const page = search(small)
  const deep = { baseUrl: large.baseUrl, ask: search(large, middle.ofMany) }
  // First, while nothing is remembered.
  const cold = await attempt({ name: 'cold search: no page asked for before', goal: '>= 0.22' }, (told) =>
    coldSearch(told, large),
  )
  return [
    await attempt({ name: 'warm search of 20 providers', goal: '>= 0.90' }, (told) =>
      besideBare(told, { baseUrl, ask: page }),
    ),
    await attempt({ name: 'the same with gzip', goal: '>= 0.65' }, (told) =>
      besideBare(told, { baseUrl, ask: search(small, 1, 'gzip') }),
    ),
    await attempt({ name: 'the same with zstd', goal: '>= 0.65' }, (told) =>
      besideBare(told, { baseUrl, ask: search(small, 1, 'zstd') }),
    ),
    await attempt({ name: 'If-None-Match, answered 304', goal: '>= 0.60' }, async (told) =>
      besideBare(told, { baseUrl, ask: unchanged(page, await settled(baseUrl, page)) }),
    ),
    await attempt({ name: 'search after a booking', goal: '>= 0.50' }, (told) =>
      searchAfterBooking(told, small, 'identity'),
    ),
    await attempt({ name: 'the same asked for with gzip' }, (told) =>
      searchAfterBooking(told, small, 'gzip'),
    ),
    cold,
    await attempt({ name: `search in the middle of ${many} providers`, goal: '>= 0.90' }, (told) =>
      takeTurns(told, deep, { baseUrl, ask: search(small, middle.ofFew) }, `in the middle of ${few}`),
    ),
    await attempt({ name: `filtered search in ${many} providers`, goal: '>= 0.90' }, (told) => {
      const ask = search(large, filter.middle, 'identity', filter.text)
      return takeTurns(told, { baseUrl: large.baseUrl, ask }, deep, 'unfiltered')
    }),
  ]
}

/** Each round asks for pages that nobody has asked for before. What a first page takes more is in none of them. */
async function coldSearch(told: Told, serving: Serving): Promise<Row> {
  const { baseUrl } = serving
  const ask = search(serving, 1)
  const answer = await settled(baseUrl, ask)
  await using bare = await Bare.start(answer)
  const figures: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] }
  for (let round = 0; round < rounds; round++) {
    const walk = { count: coldPagesOfRound, first: 2 + round * coldPagesOfRound }
    figures.ours.push(await run({ baseUrl, ask }, answer.bytes.length, walk))
    figures.theirs.push(await run({ baseUrl: bare.baseUrl, ask }, answer.bytes.length, walk))
  }
  return comparing(told, { ...figures, unit: 'a second' })
}
