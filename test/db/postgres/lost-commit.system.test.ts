import { expect, spyOn, test } from 'bun:test'
import { Connection } from '../../../db/postgres/client/connection'
import { DatabaseFailure } from '../../../db/postgres/client/failure'
import { sharing, taking } from '../../../db/postgres/locks'
import { describeOnPostgres } from '../../support/postgres-databases'
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
