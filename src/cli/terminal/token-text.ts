import { currentAndWaiting } from '../../domain/decisions/partners'
import { type KeyRecord, keyStateAt } from '../../domain/partner'
import { concernsAbout } from '../../operations/tokens'
import type { GiveWay } from './layout'
import { instantText } from './output'
import type { Columns } from './table'

/** For example `in force`, `waits until 2026-12-01T14:00:00Z` or `rotated out at ...`. */
export function tokenState(key: KeyRecord, now: number): string {
  const { startsAt, endsAt, endReason } = key
  const state = keyStateAt(key, now)
  if (state === 'waiting') return `waits until ${instantText(startsAt)}`
  if (state === 'in force') return endsAt === null ? state : `in force until ${instantText(endsAt)}`
  if (endReason === 'cancelled') return 'cancelled'
  return `${endReason === 'rotated' ? 'rotated out' : endReason} at ${instantText(endsAt)}`
}

export function presentTokens(keys: readonly KeyRecord[], now: number) {
  return keys.map((key) => ({
    kid: key.kid,
    state: keyStateAt(key, now),
    issuedAt: instantText(key.issuedAt),
    startsAt: instantText(key.startsAt),
    endsAt: instantText(key.endsAt),
    endReason: key.endReason,
    lastUsedAt: instantText(key.lastUsedAt),
    concerns: concernsAbout(key, now),
  }))
}

export const tokenColumns = {
  KID: ({ kid }) => kid,
  STATE: ({ state, endReason, concerns }) =>
    state === 'ended' ? endReason : [state, ...concerns].join(', '),
  ISSUED: ({ issuedAt }) => issuedAt,
  STARTS: ({ startsAt }) => startsAt,
  ENDS: ({ endsAt }) => endsAt,
  'LAST USED': ({ lastUsedAt }) => lastUsedAt,
} satisfies Columns<ReturnType<typeof presentTokens>[number]>

export const tokensGiveWay: GiveWay = { leaveOut: ['ISSUED', 'STARTS', 'ENDS'] }

export function tokenSummary(keys: readonly KeyRecord[], now: number) {
  const { current, waiting } = currentAndWaiting(keys, now)
  const cutover = waiting.map(({ startsAt }) => `cutover ${instantText(startsAt)}`)
  const last = Math.max(0, ...keys.map(({ lastUsedAt }) => lastUsedAt ?? 0))
  return {
    token: [...(current ? ['in force'] : []), ...cutover].join(', ') || 'none',
    lastUsedAt: instantText(last || null),
  }
}
