import { expect, test } from 'bun:test'
import { paths } from '../contract/contract'
import { withActs } from '../support/acts'
import { booking } from '../support/builders'
import { startService } from '../support/service'

test('operations: a look-up of a known member adds an audit line, even if the member is deactivated', async () => {
  const service = await startService()
  const { notebook } = service.context
  const store = withActs(service.context)
  const lookUp = (externalUserId: string) =>
    service.get(`${paths.user}?external_user_id=${externalUserId}`).then(({ status }) => status)
  const [shown, paused] = [
    await service.post(paths.booking, booking('shown')),
    await service.post(paths.booking, booking('paused')),
  ]
  await store.setMemberActive(paused.body.member.id, false, service.act())
  expect([await lookUp('shown'), await lookUp('paused'), await lookUp('nobody')]).toEqual([200, 403, 404])
  await notebook.flush(store)
  const lines = (await store.listAudit(10)).filter(({ action }) => action === 'member.look-up')
  expect(lines.map(({ actor, record }) => [actor, record])).toEqual(
    [shown, paused].map(({ body }) => [`partner ${service.partner.partner.id}`, `member ${body.member.id}`]),
  )
  await service.stop()
})
