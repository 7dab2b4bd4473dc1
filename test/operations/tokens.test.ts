import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { authenticate } from '../../src/auth/authenticate'
import type { Partner } from '../../src/domain/partner'
import { issueFirstToken, rotateToken, verifyToken } from '../../src/operations/tokens'
import { endOf } from '../db/furniture'
import { defaultNow, startService } from '../support/service'

const now = Date.parse(defaultNow)
const act = { actor: 'olive', at: now }

let service: Awaited<ReturnType<typeof startService>>
let fresh: Partner

beforeEach(async () => {
  service = await startService()
  fresh = await service.context.store.addPartner('Fresh', null, act)
})
afterEach(() => service.stop())

const inForce = ({ partner }: { partner: Partner }) =>
  service.context.directory.listKeys().filter((key) => key.partner.id === partner.id && key.endsAt === null)

describe('a first token', () => {
  test('asked for six times at once is given once, works, and the others are token_exists', async () => {
    const given = await Promise.allSettled(
      Array.from({ length: 6 }, () => issueFirstToken(service.context, fresh, act)),
    )
    const tokens = given.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const kinds = given.flatMap((one) => (one.status === 'rejected' ? [one.reason.kind] : []))
    expect(kinds).toEqual(Array(5).fill('token_exists'))
    expect(tokens).toHaveLength(1)
    expect(inForce({ partner: fresh })).toHaveLength(1)
    const find = (kid: string) => service.context.directory.findKey(kid)
    expect((await authenticate(tokens[0] as string, find, now)).partner.id).toBe(fresh.id)
  })
})

describe('a token that cannot be kept', () => {
  const keep = () => {
    throw new Error('no room')
  }

  test('is not issued, and the next one is', async () => {
    await expect(issueFirstToken(service.context, fresh, act, keep)).rejects.toThrow('no room')
    expect(inForce({ partner: fresh })).toEqual([])
    const kept: string[] = []
    const token = await issueFirstToken(service.context, fresh, act, (one) => kept.push(one))
    expect(kept).toEqual([token])
    expect(inForce({ partner: fresh })).toHaveLength(1)
  })

  test('takes the place of none', async () => {
    const { partner, token } = service.partner
    await expect(rotateToken(service.context, partner, now, act, keep)).rejects.toThrow('no room')
    expect(await verifyToken(service.context, token, now)).toMatchObject({ refusal: null })
  })
})

describe('a rotation', () => {
  test('to an instant in the past is field_invalid, and the token in force goes on', async () => {
    const { partner, token } = service.partner
    for (const past of [now - 1, now - 86_400_000]) {
      expect(await endOf(rotateToken(service.context, partner, past, act))).toBe('field_invalid')
    }
    expect(await verifyToken(service.context, token, now)).toMatchObject({ refusal: null })
    expect(inForce(service.partner)).toHaveLength(1)
  })

  test('to this very instant ends the token in force with it', async () => {
    const { partner, token } = service.partner
    const next = await rotateToken(service.context, partner, now, act)
    expect(await verifyToken(service.context, next, now)).toMatchObject({ refusal: null })
    expect(await verifyToken(service.context, token, now)).toMatchObject({
      refusal: { kind: 'token_invalid' },
      why: 'another token has taken its place',
    })
  })
})
