import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { booking, region } from '../support/builders'
import { startService } from '../support/service'
import { expectRefusal, lookUp, paths } from './contract'

const start = () => startService({ directory: { regions: [region({ id: 31 })], providers: [] } })
let service: Awaited<ReturnType<typeof start>>
beforeAll(async () => {
  service = await start()
})
afterAll(() => service.stop())

const submit = (externalUserId: string, email: string) =>
  service.post(paths.booking, booking(externalUserId, undefined, { email }))

describe('contract: external_user_id is compared byte by byte', () => {
  const pairs: [name: string, one: string, other: string][] = [
    ['composed and decomposed (NFC, NFD)', 'ren\u00e9e', 'rene\u0301e'],
    ['a ligature and its letters (NFKC)', '\ufb01ona', 'fiona'],
    ['the Kelvin sign and a K', '\u212a-1', 'K-1'],
    ['a zero-width space and none', 'a\u200bb', 'ab'],
    ['a variation selector and none', 'x\ufe0f', 'x'],
    ['a dotless and a dotted i', 'ism\u0131', 'ismi'],
  ]

  test.each(pairs)('%s belong to two members', async (_, one, other) => {
    const [first, second] = [
      await submit(one, `a-${Bun.hash(one)}@example.com`),
      await submit(other, `b-${Bun.hash(other)}@example.com`),
    ]
    expect([first.status, second.status]).toEqual([201, 201])
    expect(first.body.member.id).not.toBe(second.body.member.id)
    const found = [await lookUp(service, one), await lookUp(service, other)]
    expect(found.map(({ body }) => [body.id, body.externalUserId])).toEqual([
      [first.body.member.id, one],
      [second.body.member.id, other],
    ])
  })

  test('upper- and lower-case percent-encoding in the query find the same member', async () => {
    await submit('caf\u00e9', 'cafe@example.com')
    expect((await service.get(`${paths.user}?external_user_id=caf%C3%A9`)).status).toBe(200)
    expect((await service.get(`${paths.user}?external_user_id=caf%c3%a9`)).status).toBe(200)
    expect((await service.get(`${paths.user}?external_user_id=cafe%CC%81`)).status).toBe(404)
  })
})

describe('contract: an email address', () => {
  test.each([
    ['the Kelvin sign, which folds to k', '\u212aim@example.com'],
    ['a long s, which folds to s', 'ro\u017fe@example.com'],
    ['full-width letters', '\uff4bim@example.com'],
    ['a full-width @', 'kim\uff20example.com'],
    ['a dotted capital I', '\u0130vy@example.com'],
    ['a composed letter', 'ren\u00e9e@example.com'],
    ['a combining mark', 'rene\u0301e@example.com'],
    ['a zero-width space', 'kim\u200b@example.com'],
    ['a soft hyphen', 'k\u00adim@example.com'],
    ['a right-to-left override', '\u202ekim@example.com'],
    ['a non-ASCII domain label', 'kim@ex\u00e4mple.com'],
    ['an ideographic full stop', 'kim@example\u3002com'],
  ])('with %s is rejected', async (_, email) => {
    await submit('kim', 'kim@example.com')
    expectRefusal(await submit('other', email), {
      status: 400,
      kind: 'field_invalid',
      path: 'memberData.email',
      absent: [email],
    })
  })

  test('is stored unchanged and conflicts with the same address in different case', async () => {
    expect((await submit('mixed', 'Mixed.Case@Example.COM')).body.member.email).toBe('Mixed.Case@Example.COM')
    expectRefusal(await submit('second', 'mixed.case@example.com'), { status: 409, kind: 'email_taken' })
  })
})
