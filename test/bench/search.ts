import { search, settled, unchanged } from './asks'
import { Bare } from './bare'
import { searchAfterBooking } from './booked'
import { attempt, type Row, type RowSpec, rounds } from './row'
import { Serving } from './service'
import { compareWithBare, comparingRounds, type Round, run, takeTurns } from './wrk'

const [few, many] = [60, 100_000]
const pageSize = 20
const middle = { ofFew: 2, ofMany: many / pageSize / 2 }
/** A filter that two of nine providers match. */
const filter = { text: '&language=fr&modality=telephonic', middle: Math.floor(many / 9 / pageSize) }
/** Excludes the first page, because an earlier request has already cached that page. */
const coldPagesOfRound = Math.floor((many / pageSize - 1) / (rounds + 1))

/** Compares searches of few and of many providers with a bare server that sends the same bytes. */
export async function benchSearch(): Promise<Row[]> {
  await using large = await Serving.start(many)
  await using small = await Serving.start(few)
  const page = search(small)
  const deep = { server: large, ask: search(large, middle.ofMany) }
  // The cold search runs first, while no page is cached.
  const cold = await attempt({ name: 'cold search, no page cached', goal: '>= 0.22' }, (spec) =>
    coldSearch(spec, large),
  )
  return [
    await attempt({ name: `warm search of ${pageSize} providers`, goal: '>= 0.90' }, (spec) =>
      compareWithBare(spec, small, page),
    ),
    await attempt({ name: `warm search of ${pageSize} providers with gzip`, goal: '>= 0.65' }, (spec) =>
      compareWithBare(spec, small, search(small, 1, 'gzip')),
    ),
    await attempt({ name: `warm search of ${pageSize} providers with zstd`, goal: '>= 0.65' }, (spec) =>
      compareWithBare(spec, small, search(small, 1, 'zstd')),
    ),
    await attempt({ name: 'search with If-None-Match, answered with 304', goal: '>= 0.60' }, async (spec) =>
      compareWithBare(spec, small, unchanged(page, await settled(small.baseUrl, page))),
    ),
    await attempt({ name: 'search after a booking', goal: '>= 0.50' }, (spec) =>
      searchAfterBooking(spec, small, 'identity'),
    ),
    await attempt({ name: 'search after a booking, with gzip' }, (spec) =>
      searchAfterBooking(spec, small, 'gzip'),
    ),
    cold,
    await attempt({ name: `search in the middle of ${many} providers`, goal: '>= 0.90' }, (spec) =>
      takeTurns(
        spec,
        deep,
        { server: small, ask: search(small, middle.ofFew) },
        `in the middle of ${few} providers`,
      ),
    ),
    await attempt({ name: `filtered search in ${many} providers`, goal: '>= 0.90' }, (spec) => {
      const ask = search(large, filter.middle, 'identity', filter.text)
      return takeTurns(spec, { server: large, ask }, deep, 'unfiltered')
    }),
  ]
}

/** Each round requests pages that were not requested before. The first round is not counted. */
async function coldSearch(spec: RowSpec, serving: Serving): Promise<Row> {
  const ask = search(serving)
  const answer = await settled(serving.baseUrl, ask)
  const bytes = answer.bytes.length
  await using bare = await Bare.start(answer)
  const taken: [Round, Round][] = []
  for (let round = -1; round < rounds; round++) {
    const walk = { count: coldPagesOfRound, first: 2 + (round + 1) * coldPagesOfRound }
    const pair: [Round, Round] = [
      await run({ server: serving, ask }, bytes, walk),
      await run({ server: bare, ask }, bytes, walk),
    ]
    if (round >= 0) taken.push(pair)
  }
  return comparingRounds(spec, taken)
}
