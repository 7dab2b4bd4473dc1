import { expect, setDefaultTimeout } from 'bun:test'
import { isLong, printFigure, times } from '../support/long'
import { newDatabase, testOnPostgres } from '../support/postgres-databases'
import { Campaign, failedAtOthers } from './campaign'
import { Nodes } from './nodes'
import { RoundRobin } from './proxy'

setDefaultTimeout(isLong ? 3_600_000 : 300_000)

testOnPostgres('nodes: a rolling restart behind a load balancer fails no request', async () => {
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
    title: `${restarts} restarts behind a load balancer`,
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
  printFigure(`${proxy.refused} refused connections were retried at the next node`)
  expect(report.faults).toEqual([])
  expect(failedAtOthers(report)).toEqual({})
})
