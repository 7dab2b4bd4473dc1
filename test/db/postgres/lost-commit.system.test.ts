import { expect, spyOn, test } from 'bun:test'
import { Connection } from '../../../db/postgres/client/connection'
import { DatabaseFailure } from '../../../db/postgres/client/failure'
import { sharing, taking } from '../../../db/postgres/locks'
import { paths } from '../../contract/contract'
import { booking, provider, region } from '../../support/builders'
import { describeOnPostgres } from '../../support/postgres-databases'
import { startService } from '../../support/service'
import { ask, newStorageOnPostgres } from '../../support/storage'
import { act, endOf, fill, now, stored, update } from '../furniture'
import { openPostgresPlace } from './place'

const losses = [
  ['before the server commits', false],
  ['after the server commits and before it answers', true],
] as const

/**
 * Runs `work` and breaks the connection at a COMMIT. The client then does not know the outcome.
 *
 * @param lock a statement. Only a transaction with this statement loses its connection
 */
async function losingCommit<T>(lock: string, isCommitted: boolean, work: () => Promise<T>): Promise<T> {
  const { send, commit } = Connection.prototype
  const begun = new WeakSet<Connection>()
  let isLost = false
  using _sending = spyOn(Connection.prototype, 'send').mockImplementation(function (this: Connection, text) {
    if (text.includes(lock)) begun.add(this)
    return send.call(this, text)
  })
  using _committing = spyOn(Connection.prototype, 'commit').mockImplementation(async function (
    this: Connection,
    pending,
  ) {
    if (isLost || !begun.has(this)) return commit.call(this, pending)
    if (isCommitted) await commit.call(this, pending)
    isLost = true
    this.close()
    await Promise.allSettled(pending)
    throw new DatabaseFailure('lost', 'ERR_POSTGRES_CONNECTION_CLOSED')
  })
  const done = await work()
  if (!isLost) throw new Error('no COMMIT was lost')
  return done
}

describeOnPostgres('postgres: a connection that breaks at COMMIT', () => {
  test.each(losses)('an intake is stored once if the connection breaks %s', async (_, isCommitted) => {
    await using place = await openPostgresPlace()
    const { store } = place
    const { intake } = await fill(place)
    const submitting = () => stored(intake('robin'))
    const answer = await losingCommit(sharing('directory'), isCommitted, submitting)
    const record = {
      ...answer,
      isIntake: true,
      submittedAt: now,
      localOffsetMinutes: null,
      cancelledAt: null,
    }
    expect(await store.listRequests({})).toEqual([record])
    expect(await store.listMembers(Number.MAX_SAFE_INTEGER, 10)).toEqual([answer.member])
  })

  test.each(losses)(
    'a logged refusal adds one audit line if the connection breaks %s',
    async (_, isCommitted) => {
      await using place = await openPostgresPlace()
      const { store } = place
      const { intake, partner } = await fill(place)
      const { member } = await stored(intake('robin'))
      const { id } = await store.auditHead()
      const conflicting = () => endOf(intake('sam', { member: { ...update, email: member.profile.email } }))
      expect(await losingCommit(taking('audit'), isCommitted, conflicting)).toBe('email_taken')
      expect(await store.listAudit(10, { after: id })).toEqual([
        {
          id: id + 1,
          at: now,
          actor: `partner ${partner.id}`,
          action: 'member.email-conflict',
          record: `member ${member.id}`,
          outcome: 'email_taken',
          hash: expect.any(String),
        },
      ])
    },
  )

  test.each(
    losses.flatMap(([when, isCommitted]) =>
      (['cancel', 'reschedule'] as const).map((act) => [act, when, isCommitted] as const),
    ),
  )("a partner's %s is made once if the connection breaks %s", async (act, _, isCommitted) => {
    await using place = await newStorageOnPostgres()
    const directory = { regions: [region()], providers: [provider('on-1')] }
    const service = await startService({ storage: place.storage, directory })
    const [providerId] = service.context.directory.listProviders().map(({ id }) => id) as [number]
    const [slot, other] = ['14:00', '14:45'].map((time) => ({
      providerId,
      utcStartTime: `2026-12-02T${time}:00Z`,
    }))
    const { id } = (await service.post(paths.booking, booking('robin', slot))).body
    const change = () => service.post(paths[act].replace('{id}', id), booking('', other).bookingData)
    const first = await losingCommit(taking('audit'), isCommitted, change)
    expect([first.status, (await change()).body]).toEqual([200, first.body])
    const changes = `SELECT (SELECT count(*) FROM audit WHERE action = 'request.${act}') AS lines, count(*) AS placed FROM request_positions WHERE position > 1`
    expect(await ask<object>(place.storage, changes)).toEqual([{ lines: 1, placed: 1 }])
    await service.stop()
  })

  test.each(losses)('a change by staff is made once if the connection breaks %s', async (_, isCommitted) => {
    await using place = await openPostgresPlace()
    const { store } = place
    const { id } = await store.auditHead()
    const adding = () => store.addOrganization('Harbour', act)
    const organization = await losingCommit(taking('audit'), isCommitted, adding)
    expect(await store.listOrganizations()).toEqual([organization])
    expect(await store.listAudit(10, { after: id })).toEqual([
      {
        ...act,
        id: id + 1,
        action: 'organization.add',
        record: `organization ${organization.id}`,
        outcome: 'done',
        hash: expect.any(String),
      },
    ])
  })
})
