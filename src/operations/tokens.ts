import { authenticate, authenticationRefusals, newKey, signToken } from '../auth/token'
import type { Act } from '../domain/audit'
import type { ActorSpan } from '../domain/decisions/affected'
import {
  currentAndWaiting,
  decideCancellation,
  decideIssue,
  decideRevocation,
  decideRotation,
  type KeyFacts,
} from '../domain/decisions/partners'
import { type Kind, Refusal } from '../domain/errors'
import { type KeyRecord, keyStateAt, type Partner } from '../domain/partner'
import type { Decision } from '../domain/ports/writes'
import { dayMillis } from '../scheduling/calendar'
import { type Context, type Records, thenShow } from './context'
import { countRefusalsToday } from './find-records'
import { matchingLines } from './maintenance'
import { moreAddresses } from './notebook'
import { listPartners } from './partners'

/** Stores a token before its activation. If the function throws, no token is issued. */
type Keep = (token: string) => void

/**
 * Issues a token to a partner without a current or planned token. The token cannot be shown again.
 * @throws Refusal token_exists if a token is in force or waits for its cutover; errors of `keep`
 */
export function issueFirstToken(records: Records, partner: Partner, act: Act, keep?: Keep): Promise<string> {
  return createToken(records, partner, act.at, act, keep, decideIssue)
}

/**
 * Issues a token that replaces the current token at `cutoverAt` (ms), without overlap. Cancels an earlier planned token. The
 * new token cannot be shown again.
 * @throws Refusal field_invalid for a cutover in the past, record_unknown if no token is in force; errors of `keep`
 */
export function rotateToken(records: Records, partner: Partner, cutoverAt: number, act: Act, keep?: Keep) {
  return createToken(records, partner, cutoverAt, act, keep, decideRotation)
}

async function createToken(
  records: Records,
  partner: Partner,
  startsAt: number,
  act: Act,
  keep: Keep = () => {},
  decide: typeof decideIssue,
): Promise<string> {
  const key = { ...newKey(records.random), startsAt }
  const token = await signToken({ ...key, issuedAt: act.at })
  keep(token)
  await changeKeys(records, partner.id, act, (known) => decide(known, key, act))
  return token
}

/** Revokes a partner's current and planned tokens. @throws Refusal record_unknown if the partner has no token */
export function revokeToken(records: Records, partner: Partner, act: Act): Promise<void> {
  return changeKeys(records, partner.id, act, (known) => decideRevocation(known, act))
}

/** Cancels a planned cutover. @throws Refusal record_unknown if no cutover is planned */
export function cancelCutover(records: Records, partner: Partner, act: Act): Promise<void> {
  return changeKeys(records, partner.id, act, (known) => decideCancellation(known, act))
}

/** @throws the refusals of `decide` */
export function changeKeys(records: Records, id: number, act: Act, decide: (known: KeyFacts) => Decision) {
  const changed = records.store.change(
    act,
    ({ partners }) => [partners.find(id), partners.keyRecordsOf(id)],
    (partner, keys) => decide({ partner, keys }),
  )
  return thenShow(records, changed)
}

/** Returns the keys of a partner, or of all partners, in order of issue. */
export async function listTokens({ store }: Records, partner: Partner | null = null): Promise<KeyRecord[]> {
  const keys = await store.read(({ partners }) => partners.listKeyRecords())
  return partner ? keys.filter(({ partnerId }) => partnerId === partner.id) : keys
}

const [oldDays, idleDays, addressDays, mostUses] = [365, 90, 30, 10_000]

/** Returns the reasons why staff should look at a token in force. @param now ms */
export function concernsAbout(key: KeyRecord, now: number): string[] {
  if (keyStateAt(key, now) !== 'in force') return []
  const isIdle = now - (key.lastUsedAt ?? key.startsAt) > idleDays * dayMillis
  return [
    ...(now - key.issuedAt > oldDays * dayMillis ? ['older than a year'] : []),
    ...(isIdle ? [`unused for ${idleDays} days`] : []),
  ]
}

/**
 * Returns the addresses that used a partner's tokens in the last 30 days, newest first. An IPv6 address is shown as its /64
 * network. `lastAt` is the newest UTC day, as the time (ms) of its first call. @param now ms
 */
export async function listAddresses({ store }: Pick<Records, 'store'>, now: number, { id }: Partner) {
  const since = now - (now % dayMillis) - addressDays * dayMillis
  const filter = { since, actions: ['token.use'] as const, record: `partner ${id}` }
  const lines = await store.read(({ audit }) => audit.list(mostUses, filter))
  const newest = new Map<string, number>()
  for (const { at, outcome } of lines) {
    const [address] = outcome.split(', kid ', 1) as [string]
    // Moves a known address to the end.
    newest.delete(address)
    newest.set(address, at)
  }
  return [...newest].reverse().map(([address, lastAt]) => ({ partnerId: id, address, lastAt }))
}

/**
 * Finds the days on which an address used tokens, cut to the period. `kid` is undefined if the partner had more addresses
 * than the log keeps, because the address may then be among the omitted ones.
 */
export async function findUseDays({ store }: Records, network: string, { since, until }: Period) {
  const days: (ActorSpan & { readonly actor: string; readonly kid: string | undefined })[] = []
  // The line of a day may be earlier than the part of the day that counts.
  const filter = { since: since - (since % dayMillis), until, actions: ['token.use'] as const }
  for await (const { at, actor, outcome } of matchingLines({ store }, filter)) {
    const [address, kid] = outcome.split(', kid ')
    if (address !== network && address !== moreAddresses) continue
    const day = at - (at % dayMillis)
    days.push({ actor, kid, since: Math.max(since, day), until: Math.min(until, day + dayMillis) })
  }
  return days
}

type Period = Pick<ActorSpan, 'since' | 'until'>

/** Returns a partner's current token, and tokens that wait for their cutover. */
export async function findPartnerTokens(records: Records, partner: Partner) {
  return currentAndWaiting(await listTokens(records, partner), records.clock.now())
}

/** The API's answer to a token, with an explanation for the operator. `refusal` is null if the token is accepted. */
export interface TokenVerdict {
  readonly refusal: Refusal | null
  readonly why: string
  readonly partner: string | null
}

/** @param now ms */
export async function verifyToken(context: Context, token: string, now: number): Promise<TokenVerdict> {
  // Checks the signature before the state of the key: without a valid signature, no details of the key are shown.
  const untimed = (kid: string) => {
    const key = context.directory.findKey(kid)
    return key && { ...key, startsAt: -Infinity, endsAt: null, partner: { ...key.partner, active: true } }
  }
  try {
    const { kid } = await authenticate(token, untimed, now)
    const record = (await listTokens(context)).find((key) => key.kid === kid)
    const partner = context.directory.findKey(kid)?.partner
    return record && partner ? verdictOf(record, partner, now) : unknownKey()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const isForged = error.kind === 'token_invalid'
    const why = isForged ? 'the token is malformed, or its signature does not match' : error.message
    return { refusal: error, why, partner: null }
  }
}

/** Returns the verdict on a token with this kid and a valid signature. `known` is null for an unknown kid, which is not secret. */
export async function verifyKid(records: Records, kid: string) {
  const key = (await listTokens(records)).find((one) => one.kid === kid)
  const partner = (await listPartners(records)).find(({ id }) => id === key?.partnerId)
  if (!key || !partner) return { ...unknownKey(), known: null }
  const now = records.clock.now()
  const refusedToday = await countRefusalsToday(records, now, partner)
  return { ...verdictOf(key, partner, now), known: { key, refusedToday } }
}

function unknownKey(): TokenVerdict {
  const refusal = tokenRefusal('partner_not_found')
  return { refusal, why: 'no token with that kid was issued here', partner: null }
}

function tokenRefusal(kind: keyof typeof authenticationRefusals): Refusal {
  return new Refusal(kind, authenticationRefusals[kind])
}

function verdictOf(key: KeyRecord, partner: Partner, now: number): TokenVerdict {
  const verdict = (refusal: Refusal | null, why: string) => ({ refusal, why, partner: partner.name })
  const refused = (kind: Kind, why: string) => verdict(new Refusal(kind, why), why)
  if (keyStateAt(key, now) !== 'in force') return verdict(tokenRefusal('token_invalid'), endOf(key, now))
  if (!partner.active) return refused('partner_inactive', authenticationRefusals.partner_inactive)
  if (!partner.organization) return refused('organization_not_configured', 'the partner has no organization')
  if (!partner.organization.active)
    return refused('organization_deactivated', "the partner's organization is deactivated")
  const only = partner.networks === null ? '' : `, from ${partner.networks.replaceAll(',', ', ')} only`
  return verdict(null, `the token is in force${only}`)
}

function endOf(key: KeyRecord, now: number): string {
  if (keyStateAt(key, now) === 'waiting') return 'the cutover of the token is in the future'
  return key.endReason === 'rotated' ? 'another token has replaced it' : `the token was ${key.endReason}`
}
