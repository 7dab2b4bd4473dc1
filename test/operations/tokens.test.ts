import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { kidOf } from '../../src/auth/token'
import type { Organization, Partner } from '../../src/domain/partner'
import { countRefusalsToday } from '../../src/operations/find-records'
import {
  renameOrganization,
  renamePartner,
  setOrganizationActive,
  setPartnerActive,
  setPartnerNetworks,
  setPartnerOrganization,
} from '../../src/operations/partners'
import {
  cancelCutover,
  concernsAbout,
  issueFirstToken,
  listAddresses,
  revokeToken,
  rotateToken,
  verifyKid,
  verifyToken,
} from '../../src/operations/tokens'
import { endOf } from '../db/furniture'
import { actsOf } from '../support/acts'
import { defaultNow, startService } from '../support/service'

const now = Date.parse(defaultNow)
const act = { actor: 'olive', at: now }

let service: Awaited<ReturnType<typeof startService>>
let fresh: Partner

beforeEach(async () => {
  service = await startService()
  fresh = await actsOf(service.context).addPartner('Fresh', null, act)
})
afterEach(() => service.stop())

const inForce = ({ partner }: { partner: Partner }) =>
  service.context.directory.listKeys().filter((key) => key.partner.id === partner.id && key.endsAt === null)

describe('operations: a token that cannot be stored', () => {
  const keep = () => {
    throw new Error('no room')
  }

  test('a token that cannot be stored is not issued, and a second attempt succeeds', async () => {
    await expect(issueFirstToken(service.context, fresh, act, keep)).rejects.toThrow('no room')
    expect(inForce({ partner: fresh })).toEqual([])
    const kept: string[] = []
    const token = await issueFirstToken(service.context, fresh, act, (one) => kept.push(one))
    expect(kept).toEqual([token])
    expect(inForce({ partner: fresh })).toHaveLength(1)
  })

  test('a token that cannot be stored does not replace the current one', async () => {
    const { partner, token } = service.partner
    await expect(rotateToken(service.context, partner, now, act, keep)).rejects.toThrow('no room')
    expect(await verifyToken(service.context, token, now)).toMatchObject({ refusal: null })
  })
})

describe('operations: rotating a token', () => {
  test('a rotation with an immediate cutover ends the current token at once', async () => {
    const { partner, token } = service.partner
    const next = await rotateToken(service.context, partner, now, act)
    expect(await verifyToken(service.context, next, now)).toMatchObject({ refusal: null })
    expect(await verifyToken(service.context, token, now)).toMatchObject({
      refusal: { kind: 'token_invalid' },
      why: 'another token has replaced it',
    })
  })
})

const hour = 3_600_000
const regions = '/partners/v1/provider-regions/?country_code=CA'
const codeOf = async (token: string) => {
  const { status, headers } = await service.get(regions, token)
  return [status, headers.get('x-error-code')]
}

test('operations: cancelling a cutover keeps the current token in force and ends the new one', async () => {
  const { partner, token } = service.partner
  const next = await rotateToken(service.context, partner, now + hour, act)
  await cancelCutover(service.context, partner, act)
  for (const at of [now, now + hour, now + 1_000 * hour]) {
    service.setNow(at)
    expect([await codeOf(token), await codeOf(next)]).toEqual([
      [200, null],
      [401, 'token_invalid'],
    ])
  }
  expect(await endOf(cancelCutover(service.context, partner, act))).toBe('record_unknown')
})

test('operations: renaming a partner or an organization does not affect requests with its token', async () => {
  const { partner, organization, token } = service.partner
  await renamePartner(service.context, partner, 'Haven', act)
  if (organization) await renameOrganization(service.context, organization, 'Haven Care', act)
  expect(await codeOf(token)).toEqual([200, null])
  expect(service.context.directory.findKey(kidOf(token))?.partner).toMatchObject({
    name: 'Haven',
    organization: { name: 'Haven Care' },
  })
  expect(await verifyToken(service.context, token, now)).toMatchObject({ partner: 'Haven' })
  const rename = async (name: string) =>
    endOf(Promise.resolve().then(() => renamePartner(service.context, partner, name, act)))
  expect([await rename('Fresh'), await rename('Haven'), await rename(''), await rename(' x')]).toEqual([
    'name_taken',
    'name_taken',
    'field_invalid',
    'field_invalid',
  ])
})

describe('operations: verifying a token by its kid', () => {
  const at = (partner: Partner, instant: number) => rotateToken(service.context, partner, instant, act)
  const rows: [
    name: string,
    done: (its: { partner: Partner }) => Promise<unknown>,
    code: string | null,
    why: string,
  ][] = [
    ['a token in force', async () => {}, null, 'the token is in force'],
    [
      'a token in force until its cutover',
      ({ partner }) => at(partner, now + hour),
      null,
      'the token is in force',
    ],
    ['a rotated token', ({ partner }) => at(partner, now), 'token_invalid', 'another token has replaced it'],
    [
      'a revoked token',
      ({ partner }) => revokeToken(service.context, partner, act),
      'token_invalid',
      'the token was revoked',
    ],
    [
      'a token of a deactivated partner',
      ({ partner }) => setPartnerActive(service.context, partner, false, act),
      'partner_inactive',
      'the partner is deactivated',
    ],
    [
      'a token of a partner without an organization',
      ({ partner }) => setPartnerOrganization(service.context, partner, null, act),
      'organization_not_configured',
      'the partner has no organization',
    ],
    [
      'a token of a deactivated organization',
      ({ partner }) =>
        setOrganizationActive(service.context, partner.organization as Organization, false, act),
      'organization_deactivated',
      "the partner's organization is deactivated",
    ],
  ]

  test.each(rows)(
    '%s gets the same verdict by kid, by token and from the API',
    async (_, change, code, why) => {
      const { partner, token } = service.partner
      const [theirs] = (await actsOf(service.context).listPartners()).filter(({ id }) => id === partner.id)
      await change({ partner: theirs as Partner })
      const { known, refusal, ...verdictOfKid } = await verifyKid(service.context, kidOf(token))
      const verdict: unknown[] = [refusal?.kind ?? null, verdictOfKid]
      expect(verdict).toEqual([code, { why, partner: partner.name }])
      expect(known?.key.kid).toBe(kidOf(token))
      expect((await codeOf(token))[1]).toBe(code)
      const ofToken: unknown = await verifyToken(service.context, token, now)
      expect(ofToken).toEqual({ refusal, ...verdictOfKid })
    },
  )

  test('a verdict by kid explains a waiting, a cancelled and an unknown token', async () => {
    const { partner } = service.partner
    const waiting = kidOf(await at(partner, now + hour))
    const verdict = async (kid: string) => {
      const { refusal, why, partner: name } = await verifyKid(service.context, kid)
      return [refusal?.kind, why, name]
    }
    expect(await verdict(waiting)).toEqual([
      'token_invalid',
      'the cutover of the token is in the future',
      partner.name,
    ])
    await cancelCutover(service.context, partner, act)
    expect(await verdict(waiting)).toEqual(['token_invalid', 'the token was cancelled', partner.name])
    expect(await verdict('nobody')).toEqual([
      'partner_not_found',
      'no token with that kid was issued here',
      null,
    ])
  })

  test('a verdict by kid lists refusals since midnight UTC, only of the partner of the key', async () => {
    const { partner, token } = service.partner
    const { context } = service
    const midnight = Date.parse('2026-12-01T00:00:00Z')
    const line = (instant: number, record: string, outcome: string) =>
      ({ at: instant, actor: '192.0.2.7', action: 'authentication.refuse', record, outcome }) as const
    const theirs = `partner ${partner.id}`
    await context.store.appendAudit([
      line(midnight - 1, theirs, 'token_invalid, claimed'),
      line(midnight, theirs, 'token_invalid, claimed'),
      line(now, theirs, 'token_invalid, claimed'),
      line(now, theirs, 'partner_inactive'),
      line(now, `partner ${fresh.id}`, 'partner_inactive'),
    ])
    const refused = [
      { partnerId: partner.id, reason: 'token_invalid', isClaimed: true, count: 2, lines: 2, lastAt: now },
      {
        partnerId: partner.id,
        reason: 'partner_inactive',
        isClaimed: false,
        count: 1,
        lines: 1,
        lastAt: now,
      },
    ]
    expect((await verifyKid(context, kidOf(token))).known?.refusedToday).toEqual(refused)
    expect(await countRefusalsToday(context, now, partner)).toEqual(refused)
    expect(await countRefusalsToday(context, midnight + 24 * hour, partner)).toEqual([])
  })
})

describe('operations: tokens to look at', () => {
  const day = 86_400_000
  const key = {
    id: 1,
    partnerId: 1,
    kid: 'k',
    issuedAt: now,
    startsAt: now,
    endsAt: null,
    endReason: null,
    lastUsedAt: null,
  }

  test.each([
    ['a new token', {}, now, []],
    ['a token of 365 days in use', { lastUsedAt: now + 365 * day }, now + 365 * day, []],
    ['an older one', { lastUsedAt: now + 365 * day }, now + 365 * day + 1, ['older than a year']],
    ['a token that was not used for 90 days', { lastUsedAt: now + day }, now + 91 * day, []],
    [
      'one that was not used for longer',
      { lastUsedAt: now + day },
      now + 91 * day + 1,
      ['unused for 90 days'],
    ],
    ['one that was never used', {}, now + 90 * day + 1, ['unused for 90 days']],
    ['both', {}, now + 400 * day, ['older than a year', 'unused for 90 days']],
    ['a revoked one', { endsAt: now + 1 }, now + 400 * day, []],
  ])('%s', (_, different, at, concerns) => {
    expect(concernsAbout({ ...key, ...different }, at)).toEqual(concerns)
  })

  test('the addresses of the last 30 UTC days are listed once, newest first', async () => {
    const { context, partner } = service
    const use = (partnerId: number, address: string, at: number) => {
      const name = `partner ${partnerId}`
      return { at, actor: name, action: 'token.use' as const, record: name, outcome: `${address}, kid k` }
    }
    const midnight = Date.UTC(2026, 10, 1)
    const { id } = partner.partner
    await context.store.appendAudit([
      use(id, '10.0.0.1', midnight - 1),
      use(id, '10.0.0.2', midnight),
      use(id, '10.0.0.3', midnight + day),
      use(fresh.id, '10.0.0.2', midnight + day),
      use(id, '10.0.0.2', midnight + 2 * day),
    ])
    const theirs = [
      { partnerId: id, address: '10.0.0.2', lastAt: midnight + 2 * day },
      { partnerId: id, address: '10.0.0.3', lastAt: midnight + day },
    ]
    expect(await listAddresses(context, now, partner.partner)).toEqual(theirs)
    expect(await listAddresses(context, now, fresh)).toEqual([
      { partnerId: fresh.id, address: '10.0.0.2', lastAt: midnight + day },
    ])
  })

  test("token verify says from which networks a partner's token is accepted", async () => {
    const { context, partner } = service
    await setPartnerNetworks(context, partner.partner, '10.0.0.0/8,192.0.2.0/24', act)
    const verdict = await verifyToken(context, partner.token, now)
    expect(verdict).toMatchObject({
      refusal: null,
      why: 'the token is in force, from 10.0.0.0/8, 192.0.2.0/24 only',
    })
  })
})
