import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { setOrganizationActive, setPartnerActive } from '../../src/operations/partners'
import { issueFirstToken, revokeToken, rotateToken } from '../../src/operations/tokens'
import { paths } from '../contract/contract'
import { below, randomFrom, seed } from '../hostile/random'
import { actsOf } from '../support/acts'
import { booking } from '../support/builders'
import { times } from '../support/long'
import { type Answer, startService, type TestPartner } from '../support/service'
import { turns } from '../support/turns'

// The service checks the token again after the body has arrived, so it must not store a request of a revoked token.
// Each change of a partner makes the service verify all tokens again. The revocation is a second change, at a random
// time during that verification.

setDefaultTimeout(3_600_000)

let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

/** Ways to revoke a partner's access. `revoke` returns a function that restores the access and returns a valid token. */
const revocations: [
  change: string,
  code: string,
  revoke: (from: TestPartner) => Promise<() => Promise<string>>,
][] = [
  [
    'the partner is deactivated',
    'partner_inactive',
    async ({ partner, token }) => {
      await setPartnerActive(service.context, partner, false, service.act())
      return () => setPartnerActive(service.context, partner, true, service.act()).then(() => token)
    },
  ],
  [
    'the organization is deactivated',
    'organization_deactivated',
    async ({ organization, token }) => {
      if (!organization) throw new Error('the partner has no organization')
      await setOrganizationActive(service.context, organization, false, service.act())
      return () => setOrganizationActive(service.context, organization, true, service.act()).then(() => token)
    },
  ],
  [
    'the token is revoked',
    'token_invalid',
    async ({ partner }) => {
      await revokeToken(service.context, partner, service.act())
      return () => issueFirstToken(service.context, partner, service.act())
    },
  ],
  [
    'the token is rotated',
    'token_invalid',
    async ({ partner }) => {
      const { at } = service.act()
      const token = await rotateToken(service.context, partner, at, service.act())
      return async () => token
    },
  ],
]

test.each(revocations)('races: no request in flight is stored after %s', async (change, code, revoke) => {
  const random = randomFrom(seed)
  const bystander = await service.addPartner(`Bystander if ${change}`)
  let caller = await service.addPartner(`Partner if ${change}`)
  const count = async () => (await actsOf(service.context).listSubmitted(caller.partner.id, 0)).length
  for (let round = 0; round < times(60, 1000); round++) {
    const before = await count()
    const sent = Array.from({ length: 16 }, (_, index) =>
      service.post(paths.booking, booking(`${caller.partner.id}-${round}-${index}`), caller.token),
    )
    await turns(below(random, 10))
    const changed = setPartnerActive(service.context, bystander.partner, false, service.act())
    await turns(below(random, 3))
    const giveBack = await revoke(caller)
    const stored = (await count()) - before
    const answers: Answer[] = await Promise.all(sent)
    await changed
    const codes = answers.map(({ status, headers }) =>
      status === 201 ? 'stored' : headers.get('x-error-code'),
    )
    expect({ seed, round, stored: (await count()) - before }).toEqual({ seed, round, stored })
    expect({ seed, round, codes: new Set(codes).difference(new Set(['stored', code])) }).toEqual({
      seed,
      round,
      codes: new Set(),
    })
    expect(codes.filter((each) => each === 'stored')).toHaveLength(stored)
    const late = await service.post(paths.booking, booking('late'), caller.token)
    expect(late.headers.get('x-error-code')).toBe(code)
    caller = { ...caller, token: await giveBack() }
  }
})
