import type { AuditAction, AuditLine } from '../audit'
import type { RequestRecord } from '../booking-request'
import { noRates, type PartnerRates, ratesText } from '../limits'
import { type KeyRecord, keyStateAt, type Organization, type Partner } from '../partner'

export type TrailLine = Pick<AuditLine, 'id' | 'at' | 'action' | 'record' | 'outcome'>

/** Returns the newest line of each compared act of a record. */
type LinesOf = (record: string) => readonly TrailLine[]

/** The state of a record after an act. */
const states = {
  'organization.add': 'active',
  'organization.deactivate': 'deactivated',
  'organization.reactivate': 'active',
  'partner.add': 'active',
  'partner.deactivate': 'deactivated',
  'partner.reactivate': 'active',
  'request.assign': 'pending',
  'request.move': 'pending',
  'request.accept': 'accepted',
  'request.decline': 'declined',
  'request.close': 'closed',
  'request.reopen': 'pending',
  'request.cancel': 'cancelled',
  'request.reschedule': 'pending',
} as const
const tokenActions = ['token.issue', 'token.rotate', 'token.revoke', 'token.cancel', 'partner.add'] as const

export const comparedActions = [
  ...(Object.keys(states) as (keyof typeof states)[]),
  ...tokenActions,
  ...(['partner.set-rates', 'partner.set-networks', 'partner.set-organization'] as const),
]

export function organizationOutcome(organization: Pick<Organization, 'id'> | null): string {
  return `done: ${organization ? `organization ${organization.id}` : 'none'}`
}

export function ratesOutcome(rates: PartnerRates): string {
  // Lines from before this limit existed do not mention it.
  return `done: ${ratesText(rates).replace(', e-mail conflicts default', '')}`
}

/** Describes what differs from the newest lines. A record without lines is not judged, because they may have been pruned. */
export function untracedPartners(
  organizations: readonly Organization[],
  partners: readonly Partner[],
  keys: readonly KeyRecord[],
  linesOf: LinesOf,
): string[] {
  const ofState = (noun: string, { id, name, active }: Organization) =>
    stateFaults(`${noun} ${id} (${name})`, active ? 'active' : 'deactivated', linesOf(`${noun} ${id}`))
  return [
    ...organizations.flatMap((organization) => ofState('organization', organization)),
    ...partners.flatMap((partner) => {
      const [named, lines] = [`partner ${partner.id} (${partner.name})`, linesOf(`partner ${partner.id}`)]
      const theirs = keys.filter(({ partnerId }) => partnerId === partner.id)
      return [
        ...ofState('partner', partner),
        ...valueFaults(named, 'partner.set-rates', ratesOutcome(partner), lines, ratesOutcome(noRates)),
        ...valueFaults(named, 'partner.set-networks', networksOutcome(partner), lines, networksOutcome()),
        ...valueFaults(named, 'partner.set-organization', organizationOutcome(partner.organization), lines),
        ...keyFaults(named, theirs, lines),
      ]
    }),
  ]
}

export function networksOutcome({ networks }: Pick<Partner, 'networks'> = { networks: null }): string {
  return `done: calls from ${networks ?? 'any address'}`
}

/** @param prunedAt ms. The lines of older requests may have been pruned. */
export function untracedRequests(
  requests: readonly Pick<RequestRecord, 'id' | 'isIntake' | 'state' | 'submittedAt'>[],
  prunedAt: number,
  linesOf: LinesOf,
): string[] {
  return requests.flatMap(({ id, isIntake, state, submittedAt }) => {
    const lines = linesOf(`request ${id}`)
    const first = isIntake ? 'unassigned' : 'pending'
    if (lines.length > 0) return stateFaults(`request ${id}`, state, lines, first)
    const isFirst = state === first
    return isFirst || submittedAt <= prunedAt ? [] : [`request ${id} is ${state}, but no audit line says so`]
  })
}

/** By id, because times are out of order if the clock was set back. */
function newest(lines: readonly TrailLine[], actions: readonly AuditAction[]): TrailLine | undefined {
  return lines.filter(({ action }) => actions.includes(action)).sort((a, b) => b.id - a.id)[0]
}

function sourceOf({ id, action }: TrailLine): string {
  return `audit line ${id} (${action})`
}

/** @param reopened the state after `request reopen` */
function stateFaults(named: string, state: string, lines: readonly TrailLine[], reopened = ''): string[] {
  const line = newest(lines, Object.keys(states) as (keyof typeof states)[])
  const said = line?.action === 'request.reopen' ? reopened : states[line?.action as keyof typeof states]
  return !line || said === state ? [] : [`${named} is ${state}, but ${sourceOf(line)} made it ${said}`]
}

function valueFaults(
  named: string,
  action: AuditAction,
  value: string,
  lines: readonly TrailLine[],
  first?: string,
): string[] {
  const line = newest(lines, [action, 'partner.add'])
  const said = line?.action === 'partner.add' && first ? first : line?.outcome
  // Lines of older versions have no values.
  if (!line || said === 'done' || said === value) return []
  return [`${named} has ${value}, but ${sourceOf(line)} says ${said}`.replaceAll('done: ', '')]
}

/** Judges the keys as they were after the newest act: which of them had not ended? */
function keyFaults(named: string, keys: readonly KeyRecord[], lines: readonly TrailLine[]): string[] {
  const line = newest(lines, tokenActions)
  if (!line) return []
  const at = Math.max(...lines.filter(({ action }) => action.startsWith('token.')).map((one) => one.at))
  const live = keys.filter((key) => keyStateAt(key, at) !== 'ended')
  const isIssued = line.action === 'token.issue' || line.action === 'token.rotate'
  const isCancelled = line.action === 'token.cancel'
  const current = keys.findLast(({ issuedAt, endReason }) =>
    isIssued ? issuedAt === line.at : isCancelled && endReason !== 'cancelled',
  )
  // Until the cutover, the replaced key is in force.
  const isRight = (key: KeyRecord) =>
    key === current ? key.endsAt === null : key.endReason === 'rotated' && key.endsAt === current?.startsAt
  const wrong = isIssued && current ? [current, ...live.filter((key) => key !== current)] : live
  return wrong
    .filter((key) => !isRight(key))
    .map(({ kid }) => `${named}: token ${kid} differs from ${sourceOf(line)}`)
}
