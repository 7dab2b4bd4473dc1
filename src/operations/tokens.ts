import { authenticate } from '../auth/authenticate'
import { newKey, signToken } from '../auth/token'
import type { Act } from '../domain/audit'
import { Refusal } from '../domain/errors'
import { type KeyRecord, keyStateAt, type Partner } from '../domain/partner'
import type { Context, Records } from './context'

/**
 * A partner's first token, or the first after the last was revoked. It is told here and never again.
 *
 * @throws Refusal token_exists while the partner has one that is in force or waits
 */
export async function issueFirstToken(
  { store, directory }: Records,
  partner: Partner,
  act: Act,
): Promise<string> {
  const key = { ...newKey(), startsAt: act.at }
  await store.issueKey(partner.id, key, act)
  await directory?.catchUp()
  return signToken({ ...key, issuedAt: act.at })
}

/**
 * A token that takes the place of the one in force at `cutoverAt` (ms), with no overlap; one that waited is
 * cancelled. It is told here and never again.
 *
 * @throws Refusal field_invalid for a cutover in the past, record_unknown if no token is in force
 */
export async function rotateToken(
  { store, directory }: Records,
  partner: Partner,
  cutoverAt: number,
  act: Act,
): Promise<string> {
  const key = { ...newKey(), startsAt: cutoverAt }
  await store.rotateKey(partner.id, key, act)
  await directory?.catchUp()
  return signToken({ ...key, issuedAt: act.at })
}

/** Ends a partner's token at once and cancels one that waits. @throws Refusal record_unknown for neither */
export async function revokeToken({ store, directory }: Records, { id }: Partner, act: Act): Promise<void> {
  await store.revokeKeys(id, act)
  await directory?.catchUp()
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
    return { refusal: error, why: whyNot(error), partner: null }
  }
}

async function verdictOf(context: Context, token: string, kid: string, now: number): Promise<TokenVerdict> {
  const record = (await context.store.listKeys()).find((key) => key.kid === kid)
  const partner = context.directory.findKey(kid)?.partner ?? null
  const told = { partner: partner?.name ?? null }
  try {
    await authenticate(token, (id) => context.directory.findKey(id), now)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const why = error.kind === 'partner_inactive' ? error.message : endOf(record, now)
    return { ...told, refusal: error, why }
  }
  if (!partner?.organization) {
    const why = 'the partner has no organization'
    return { ...told, refusal: new Refusal('organization_not_configured', why), why }
  }
  if (!partner.organization.active) {
    const why = "the partner's organization is deactivated"
    return { ...told, refusal: new Refusal('organization_deactivated', why), why }
  }
  return { ...told, refusal: null, why: 'the token is in force' }
}

function endOf(record: KeyRecord | undefined, now: number): string {
  if (record && keyStateAt(record, now) === 'waiting') return 'its cutover is still to come'
  return record?.endReason === 'rotated'
    ? 'another token has taken its place'
    : `the token was ${record?.endReason}`
}

function whyNot({ kind, message }: Refusal): string {
  return kind === 'token_invalid' ? 'it is malformed, or its signature does not fit' : message
}
