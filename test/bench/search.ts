import { search, settled, unchanged } from './asks'
import { Bare } from './bare'
import { searchAfterBooking } from './booked'
import { attempt, type Row, rounds, type Told } from './row'
import { Serving } from './service'
import { besideBare, comparingRounds, type Round, run, takeTurns } from './wrk'

const [few, many] = [60, 100_000]
const pageSize = 20
const middle = { ofFew: 2, ofMany: many / pageSize / 2 }
/** Two of nine providers fit. */
const filter = { text: '&language=fr&modality=telephonic', middle: Math.floor(many / 9 / pageSize) }
/** The first page is asked for before, to tell its size. */
const coldPagesOfRound = Math.floor((many / pageSize - 1) / (rounds + 1))

/** Searches beside a bare server with the same bytes, of few providers and of many. */
export async function benchSearch(): Promise<Row[]> {
  await using large = await Serving.start(many)
  await using small = await Serving.start(few)
  const page = search(small)
  const deep = { server: large, ask: search(large, middle.ofMany) }
  // First, while nothing is remembered.
  const cold = await attempt({ name: 'cold search: no page asked for before', goal: '>= 0.22' }, (told) =>
    coldSearch(told, large),
  )
  return [
    await attempt({ name: `warm search of ${pageSize} providers`, goal: '>= 0.90' }, (told) =>
      besideBare(told, small, page),
    ),
    await attempt({ name: 'the same with gzip', goal: '>= 0.65' }, (told) =>
      besideBare(told, small, search(small, 1, 'gzip')),
    ),
    await attempt({ name: 'the same with zstd', goal: '>= 0.65' }, (told) =>
      besideBare(told, small, search(small, 1, 'zstd')),
    ),
    await attempt({ name: 'If-None-Match, answered 304', goal: '>= 0.60' }, async (told) =>
      besideBare(told, small, unchanged(page, await settled(small.baseUrl, page))),
    ),
    await attempt({ name: 'search after a booking', goal: '>= 0.50' }, (told) =>
      searchAfterBooking(told, small, 'identity'),
    ),
    await attempt({ name: 'the same asked for with gzip' }, (told) =>
      searchAfterBooking(told, small, 'gzip'),
    ),
    cold,
    await attempt({ name: `search in the middle of ${many} providers`, goal: '>= 0.90' }, (told) =>
      takeTurns(told, deep, { server: small, ask: search(small, middle.ofFew) }, `in the middle of ${few}`),
    ),
    await attempt({ name: `filtered search in ${many} providers`, goal: '>= 0.90' }, (told) => {
      const ask = search(large, filter.middle, 'identity', filter.text)
      return takeTurns(told, { server: large, ask }, deep, 'unfiltered')
    }),
  ]
}

/** Each round asks for pages that nobody has asked for before; so does one that comes first and is not counted. */
async function coldSearch(told: Told, serving: Serving): Promise<Row> {
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
  return comparingRounds(told, taken)
}
