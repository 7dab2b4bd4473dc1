import { expect, setDefaultTimeout } from 'bun:test'
import { isLong, tellFigure, times } from '../support/long'
import { newDatabase, testOnPostgres } from '../support/postgres-databases'
import { Campaign, failedAtOthers } from './campaign'
import { Nodes } from './nodes'
import { RoundRobin } from './proxy'

setDefaultTimeout(isLong ? 3_600_000 : 300_000)

testOnPostgres('nodes that are restarted one after another behind a proxy fail no request', async () => {
  await using database = await newDatabase()
  await using nodes = await Nodes.start(
    Array.from({ length: times(3, 4) }, () => database.url),
    times(20, 150),
  )
  using proxy = new RoundRobin(nodes)
  const campaign = new Campaign(
    nodes,
    () => database.url,
    3,
    () => proxy.port,
  )
  const restarts = times(3, 40)
  const report = await campaign.run({
    title: `${restarts} restarts behind a proxy`,
    victims: [],
    async inject() {
      for (let restart = 0; restart < restarts; restart++) {
        const at = restart % nodes.nodes.length
        expect((await nodes.node(at).stop()).code).toBe(0)
        await nodes.begin(at)
        await Bun.sleep(300)
      }
    },
  })
  tellFigure(`${proxy.refused} connections were refused and handed to the next`)
  expect(report.faults).toEqual([])
  expect(failedAtOthers(report)).toEqual({})
})
