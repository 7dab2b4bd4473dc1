import { expect, test } from 'bun:test'
import { inTransaction } from '../../../db/postgres/client/connection'
import { taking } from '../../../db/postgres/locks'
import { describeOnPostgres } from '../../support/postgres-databases'
import { fill } from '../furniture'
import { connectTo } from './connections'
import { openPostgresEngine, openPostgresPlace } from './place'

describeOnPostgres('postgres: the audit lines of submissions', () => {
  const creations = { actions: ['member.create'] as const }

  test('a submission of a new member does not wait for the audit lock', async () => {
    await using place = await openPostgresPlace()
    await using other = connectTo(place.url)
    const { intake } = await fill(place)
    await other.on((connection) =>
      inTransaction(connection, [taking('audit')], async () => {
        expect(await intake('robin')).toMatchObject({ state: 'unassigned' })
      }),
    )
  })

  test('the lines that a killed server left are appended when the database is next opened', async () => {
    await using place = await openPostgresPlace()
    const { intake } = await fill(place)
    for (const name of ['robin', 'kim']) await intake(name)
    const opened = await openPostgresEngine(place.url)
    const lines = await opened.store.listAudit(10, creations)
    expect(lines.map(({ actor, record, outcome }) => [actor, record, outcome])).toEqual([
      ['partner 1', 'member 1', 'done'],
      ['partner 1', 'member 2', 'done'],
    ])
    expect(await opened.maintenance.verifyAudit(null)).toMatchObject({ intact: true })
    await opened.close()
  })
})
