import { regionList, search } from './asks'
import { type Load, measure } from './load'
import { comparing, type Row, rounds } from './row'
import { Serving } from './service'

const providers = 10_000
const largePages = providers / 100

/** What one partner does to another. */
export async function benchNeighbours(): Promise<Row[]> {
  await using serving = await Serving.start(providers)
  const { baseUrl, token: flooding } = serving
  const other = await serving.onboard('Other')
  const load = (token: string, paths: string[], connections: number, seconds: number): Load => {
    return { baseUrl, token, paths, connections, seconds, perSecond: null }
  }
  const list = search(serving).path.replace(/&page=\d+$/, '')
  const pages = Array.from({ length: largePages }, (_, page) => `${list}&page_size=100&page=${page + 1}`)
  const rows: Row[] = []
  for (const [name, path] of [
    ['region list', regionList(serving).path],
    ['page of 1', `${list}&page_size=1`],
  ] as const) {
    for (const [flood, paths] of [
      ['one page', pages.slice(0, 1)],
      ['every page', pages],
    ] as const) {
      const figures: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] }
      for (let round = 0; round < rounds; round++) {
        figures.theirs.push(await p50Of(load(other, [path], 1, 0.5)))
        const flooded = measure(load(flooding, paths, 8, 1.5))
        await Bun.sleep(500)
        figures.ours.push(await p50Of(load(other, [path], 1, 0.5)))
        await flooded
      }
      const told = { name: `p50 of a ${name} beside 8 connections that ask for ${flood} of 100` }
      rows.push(comparing(told, { ...figures, unit: 'ms', beside: 'idle' }))
    }
  }
  return rows
}

async function p50Of(load: Load): Promise<number> {
  return (await measure(load))['200']?.p50 ?? Number.NaN
}
