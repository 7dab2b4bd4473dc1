import { startSandbox } from '../support/process'
import { type Load, measure } from './load'

/** What one partner does to another, in processes of their own. */
export async function benchNeighbours(): Promise<void> {
  await using sandbox = await startSandbox(['--providers', '10000'])
  const { baseUrl, examples } = sandbox.report
  const search = `/partners/v1/providers/?region_id=${examples.regionId}`
  const base = { baseUrl, seconds: 2, perSecond: null, connections: 1 }
  const [flooding, other] = [sandbox.token('active', 0), sandbox.token('active', 1)]

  const { count } = (await sandbox.get(`${search}&page_size=1`)).body
  const pages = Array.from(
    { length: Math.floor(count / 100) },
    (_, page) => `${search}&page_size=100&page=${page + 1}`,
  )
  const small = {
    'region list': '/partners/v1/provider-regions/?country_code=CA',
    'page of 1': `${search}&page_size=1`,
  }
  for (const [name, path] of Object.entries(small)) {
    const probe: Load = { ...base, token: other, paths: [path] }
    const idle = await p50Of(probe)
    for (const [flood, paths] of [
      ['one page', pages.slice(0, 1)],
      ['every page', pages],
    ] as const) {
      const ends = measure({ ...base, token: flooding, paths, connections: 8, seconds: 4 })
      await Bun.sleep(1_000)
      const beside = await p50Of(probe)
      const { perSecond } = (await ends)['200'] ?? { perSecond: 0 }
      const told = `p50 ${idle} -> ${beside} ms, ${perSecond} such pages a second`
      console.log(
        `${name} beside 8 connections that ask for ${flood} of 100 / idle: ${(beside / idle).toFixed(1)} (${told})`,
      )
    }
  }
}

async function p50Of(load: Load): Promise<number> {
  return (await measure(load))['200']?.p50 ?? Number.NaN
}
