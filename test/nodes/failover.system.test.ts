import { expect, setDefaultTimeout } from 'bun:test'
import { isLong, times } from '../support/long'
import { testOnPostgres } from '../support/postgres-databases'
import { Campaign, failedAtOthers } from './campaign'
import { Nodes } from './nodes'
import { follow, startPair } from './standby'

setDefaultTimeout(isLong ? 3_600_000 : 300_000)

testOnPostgres.each(Array.from({ length: times(1, 8) }, (_, index) => index + 1))(
  'nodes: no acknowledged booking is lost when the primary dies and its synchronous standby is promoted (round %i)',
  async () => {
    const { primary, standby, url } = await startPair()
    await using _primary = primary
    await using _standby = standby
    await using nodes = await Nodes.start(
      Array.from({ length: times(2, 4) }, () => url),
      times(20, 60),
    )
    let current = primary
    const campaign = new Campaign(nodes, () => current.url)
    const lost = await campaign.run({
      title: 'kill -9 of the primary and promotion of the standby',
      victims: nodes.nodes.map((_, node) => node),
      async inject() {
        primary.kill('SIGKILL')
        await Bun.sleep(500)
        await standby.run('SELECT pg_promote()')
        current = standby
      },
    })
    expect(lost.faults).toEqual([])

    await primary.stop('SIGKILL')
    follow(primary, standby)
    const back = await campaign.run({
      title: 'the former primary returns as a standby, and a node is restarted',
      victims: [0],
      async inject() {
        await primary.start()
        await nodes.node(0).stop()
        await nodes.begin(0)
      },
    })
    expect(back.faults).toEqual([])
    expect(failedAtOthers(back)).toEqual({})
  },
)
