import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { systemClock } from '../../src/domain/ports/time'
import { openService } from '../../src/service'
import { paths } from '../contract/contract'
import { booking, provider, region } from '../support/builders'
import { CommandLine } from '../support/command-line'
import type { Answer } from '../support/service'

const everyDay = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
const workingHours = [{ weekdays: [...everyDay], start: '09:00', end: '17:00' }]

test('cli: a partner is onboarded and books, staff assign and accept an intake, and a member is erased', async () => {
  using operator = new CommandLine()
  await operator.do('init')
  const database = operator.settings.ANTEROOM_DATABASE as string
  const opened = await openService({
    ...{ purpose: 'production', database, masterKey: { file: `${database}.key` }, create: false },
    ...{ clock: systemClock, report: () => {} },
  })
  const server = await opened.listen({ host: 'localhost', port: 0 })
  const service = {
    get: (path: string, token: string) =>
      answerOf(fetch(`${server.baseUrl}${path}`, { headers: { Authorization: `Bearer ${token}` } })),
    post: (body: unknown, token: string) =>
      answerOf(
        fetch(`${server.baseUrl}${paths.booking}`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
          body: JSON.stringify(body),
        }),
      ),
  }

  // The partner is onboarded while the service runs.
  const token = await operator.onboard('Lantern', 'North Care')
  const providers = [
    provider('on-1', { workingHours, languagesSpoken: ['fr-CA'] }),
    provider('on-2', { workingHours }),
  ]
  const file = operator.folder.file('directory.json')
  writeFileSync(file, JSON.stringify({ regions: [region()], providers }))
  await operator.do('directory', 'load', file)

  // The partner searches and books.
  const search = async () => (await service.get('/partners/v1/providers/?region_id=1', token)).body.results
  const [first, second] = await search()
  const slot = { providerId: first.providerId, utcStartTime: first.availability[3].utcStartTime }
  const booked = await service.post(booking('robin', slot), token)
  expect(booked.status).toBe(201)
  expect((await search())[0].availability).not.toContainEqual(first.availability[3])
  const why = await operator.ask('provider', 'why', 'on-1', slot.utcStartTime)
  expect(why).toMatchObject({ reason: 'taken', requestId: booked.body.id })

  // A member submits an intake. Staff look at suggested providers, and assign one with a slot.
  const member = { state: 'ON', preferredSpokenLanguage: 'fr' }
  const intake = (await service.post(booking('kim', undefined, member), token)).body
  expect(intake).toMatchObject({ providerId: null, utcStartTime: null })
  const waiting = await operator.ask<{ id: number }[]>('request', 'list', '--state', 'unassigned')
  expect(waiting.map(({ id }) => id)).toEqual([intake.id])
  expect(await operator.do('request', 'suggest', String(intake.id))).toMatch(/^1\. on-1 /m)
  const wanted = second.availability[5].utcStartTime
  await operator.do('request', 'assign', String(intake.id), '--provider', 'on-2', '--slot', wanted)
  expect((await search())[1].availability).not.toContainEqual(second.availability[5])
  await operator.do('request', 'accept', String(intake.id))
  expect(await operator.ask('request', 'show', String(intake.id))).toEqual({
    ...intake,
    providerId: second.providerId,
    authorizationNumber: expect.stringMatching(/^[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$/),
    acceptedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    utcStartTime: wanted,
    cancelledAt: null,
    ...{ kind: 'intake', state: 'accepted', provider: 'on-2', partner: 'Lantern', externalUserId: 'kim' },
    contact: expect.objectContaining({ name: 'Robin Sample', leaveVoicemail: null }),
    risk: { ninthItem: 'not asked', severity: null, unread: false },
    changes: [],
  })

  // A member is deactivated, reactivated and erased.
  const robin = String(booked.body.member.id)
  const lookUp = async () => (await service.get('/partners/v1/user/?external_user_id=robin', token)).status
  await operator.do('member', 'deactivate', robin, '--yes')
  expect(await lookUp()).toBe(403)
  await operator.do('member', 'reactivate', robin)
  expect(await lookUp()).toBe(200)
  await operator.do('member', 'erase', robin, '--yes')
  expect(await lookUp()).toBe(404)

  // The audit log is complete and intact.
  const lines = await operator.ask<{ action: string }[]>('audit', 'list', '--limit', '100')
  // Look-ups and uses of tokens are left out, because they are added to the audit log later, in batches.
  const acts = lines
    .map(({ action }) => action)
    .filter((action) => action !== 'member.look-up' && action !== 'token.use')
  expect(acts).toEqual([
    'organization.add',
    'partner.add',
    'token.issue',
    'directory.load',
    'member.create',
    'member.create',
    'request.list',
    'request.suggest',
    'request.assign',
    'request.accept',
    'request.show',
    'member.deactivate',
    'member.reactivate',
    'member.erase',
  ])
  expect((await operator.run(['audit', 'verify'])).code).toBe(0)
  expect((await operator.run(['doctor'])).code).toBe(0)
  await server.stop()
  await opened.close()
})

async function answerOf(asked: Promise<Response>) {
  const response = await asked
  const body: Answer['body'] = await response.json()
  return { status: response.status, body }
}
