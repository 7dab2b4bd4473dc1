import { authenticate } from '../auth/authenticate'
import { newKey, signToken } from '../auth/token'
import type { Act } from '../domain/audit'
import { Refusal } from '../domain/errors'
import { type KeyRecord, keyStateAt, type NewKey, type Partner } from '../domain/partner'
import { type Context, type Records, thenShow } from './context'

/** Takes a token before it is in force: what cannot be kept is not made. */
type Keep = (token: string) => void

/**
 * A partner's first token, or the first after the last was revoked. It is told here and never again.
 *
 * @throws Refusal token_exists while the partner has one that is in force or waits; whatever `keep` throws
 */
export function issueFirstToken(records: Records, { id }: Partner, act: Act, keep?: Keep): Promise<string> {
  return hand({ ...newKey(), startsAt: act.at }, act, keep, (key) =>
    thenShow(records, records.store.issueKey(id, key, act)),
  )
}

/**
 * A token that takes the place of the one in force at `cutoverAt` (ms), with no overlap; one that waited is
 * cancelled. It is told here and never again.
 *
 * @throws Refusal field_invalid for a cutover in the past, record_unknown if no token is in force; whatever `keep` throws
 */
export function rotateToken(
  records: Records,
  { id }: Partner,
  cutoverAt: number,
  act: Act,
  keep?: Keep,
): Promise<string> {
  return hand({ ...newKey(), startsAt: cutoverAt }, act, keep, (key) =>
    thenShow(records, records.store.rotateKey(id, key, act)),
  )
}

async function hand(
  key: NewKey,
  { at }: Act,
  keep: Keep = () => {},
  putInForce: (key: NewKey) => Promise<unknown>,
): Promise<string> {
  const token = await signToken({ ...key, issuedAt: at })
  keep(token)
  await putInForce(key)
  return token
}

/** Ends a partner's token at once and cancels one that waits. @throws Refusal record_unknown for neither */
export function revokeToken(records: Records, { id }: Partner, act: Act): Promise<void> {
  return thenShow(records, records.store.revokeKeys(id, act))
}

/** The keys of a partner, in order of issue. */
export async function listTokens({ store }: Records, partner: Partner): Promise<KeyRecord[]> {
  return (await store.listKeys()).filter(({ partnerId }) => partnerId === partner.id)
}

/** What the API would make of a token: nothing to refuse, or the refusal; and why, in the operator's words. */
export interface TokenVerdict {
  readonly refusal: Refusal | null
  readonly why: string
  readonly partner: string | null
}

/** @param now ms */
export async function verifyToken(context: Context, token: string, now: number): Promise<TokenVerdict> {
  // The signature decides whether anything may be told of a key, whatever its times are.
  const untimed = (kid: string) => {
    const key = context.directory.findKey(kid)
    return key && { ...key, startsAt: -Infinity, endsAt: null, partner: { ...key.partner, active: true } }
  }
  try {
    const { kid } = await authenticate(token, untimed, now)
    return await verdictOf(context, token, kid, now)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const isForged = error.kind === 'token_invalid'
    const why = isForged ? 'it is malformed, or its signature does not fit' : error.message
    return { refusal: error, why, partner: null }
  }
}

async function verdictOf(context: Context, token: string, kid: string, now: number): Promise<TokenVerdict> {
  const record = (await context.store.listKeys()).find((key) => key.kid === kid)
  const partner = context.directory.findKey(kid)?.partner ?? null
  const verdict = (refusal: Refusal | null, why: string) => ({ refusal, why, partner: partner?.name ?? null })
  try {
    await authenticate(token, (id) => context.directory.findKey(id), now)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return verdict(error, error.kind === 'partner_inactive' ? error.message : endOf(record, now))
  }
  if (!partner?.organization) {
    const why = 'the partner has no organization'
    return verdict(new Refusal('organization_not_configured', why), why)
  }
  if (!partner.organization.active) {
    const why = "the partner's organization is deactivated"
    return verdict(new Refusal('organization_deactivated', why), why)
  }
  return verdict(null, 'the token is in force')
}

function endOf(record: KeyRecord | undefined, now: number): string {
  if (record && keyStateAt(record, now) === 'waiting') return 'its cutover is still to come'
  return record?.endReason === 'rotated'
    ? 'another token has taken its place'
    : `the token was ${record?.endReason}`
}
