import type { AuditAction, AuditLine } from '../audit'
import type { RequestRecord } from '../booking-request'
import { ratesText } from '../limits'
import { type KeyRecord, keyStateAt, type Organization, type Partner } from '../partner'

export type TrailLine = Pick<AuditLine, 'id' | 'at' | 'action' | 'record' | 'outcome'>

/** Maps each act that sets a state to the state afterwards. */
const stateAfter: Partial<Record<AuditAction, string>> = {
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
}
const stateActions = Object.keys(stateAfter) as AuditAction[]
const tokenActions: readonly AuditAction[] = ['token.issue', 'token.rotate', 'token.revoke', 'token.cancel']
const valueActions: readonly AuditAction[] = [
  'partner.set-rates',
  'partner.set-organization',
  'partner.set-networks',
]

/** The acts whose newest lines are compared with the stored records. */
export const comparedActions = [...stateActions, ...tokenActions, ...valueActions]

const defaultRates = { readsPerMinute: null, bookingsPerMinute: null, intakesPerHour: null }

/** A line with its values in the outcome, for example `done: organization 2`. */
export function organizationOutcome(organization: Pick<Organization, 'id'> | null): string {
  return `done: ${organization ? `organization ${organization.id}` : 'none'}`
}

/** Describes what differs from the newest audit lines of each record. Does not judge records without a line. */
export function untracedPartners(
  organizations: readonly Organization[],
  partners: readonly Partner[],
  keys: readonly KeyRecord[],
  linesOf: LinesOf,
): string[] {
  const ofOrganizations = organizations.flatMap(({ id, name, active }) => {
    const record = `organization ${id}`
    return stateFaults(`${record} (${name})`, stateText(active), linesOf(record))
  })
  const ofPartners = partners.flatMap((partner) => {
    const record = `partner ${partner.id}`
    const [named, lines] = [`${record} (${partner.name})`, linesOf(record)]
    return [
      ...stateFaults(named, stateText(partner.active), lines),
      ...valueFaults(named, 'partner.set-rates', ratesOutcome(partner), lines, ratesOutcome(defaultRates)),
      ...valueFaults(named, 'partner.set-networks', networksOutcome(partner), lines, networksOutcome()),
      ...valueFaults(named, 'partner.set-organization', organizationOutcome(partner.organization), lines),
      ...keyFaults(
        named,
        keys.filter(({ partnerId }) => partnerId === partner.id),
        lines,
      ),
    ]
  })
  return [...ofOrganizations, ...ofPartners]
}

export function ratesOutcome(rates: Pick<Partner, keyof typeof defaultRates>): string {
  return `done: ${ratesText(rates)}`
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
    if (lines.length > 0) return stateFaults(`request ${id}`, state, lines)
    if (submittedAt <= prunedAt || state === first) return []
    return [`request ${id} is ${state}, but no audit line says so`]
  })
}

/** Returns the newest line of each compared act of a record. */
type LinesOf = (record: string) => readonly TrailLine[]

/** By id, because times are out of order if the clock was set back. */
function newest(lines: readonly TrailLine[], actions: readonly AuditAction[]): TrailLine | undefined {
  return lines.filter(({ action }) => actions.includes(action)).sort((a, b) => b.id - a.id)[0]
}

function stateText(active: boolean): string {
  return active ? 'active' : 'deactivated'
}

function stateFaults(named: string, state: string, lines: readonly TrailLine[]): string[] {
  const line = newest(lines, stateActions)
  if (!line || stateAfter[line.action] === state) return []
  return [`${named} is ${state}, but ${sourceOf(line)} made it ${stateAfter[line.action]}`]
}

function valueFaults(
  named: string,
  action: AuditAction,
  value: string,
  lines: readonly TrailLine[],
  first?: string,
): string[] {
  const line = newest(lines, [action, 'partner.add'])
  const said = line?.action === 'partner.add' && first !== undefined ? first : line?.outcome
  // Lines of older versions have no values.
  if (!line || said === undefined || said === 'done' || said === value) return []
  const [is, was] = [value, said].map((text) => text.replace('done: ', ''))
  return [`${named} has ${is}, but ${sourceOf(line)} says ${was}`]
}

function sourceOf({ id, action }: TrailLine): string {
  return `audit line ${id} (${action})`
}

/** Judges the keys as they were after the newest act: which of them had not ended? */
function keyFaults(named: string, keys: readonly KeyRecord[], lines: readonly TrailLine[]): string[] {
  const line = newest(lines, [...tokenActions, 'partner.add'])
  if (!line) return []
  const at = Math.max(...lines.filter(({ action }) => tokenActions.includes(action)).map((one) => one.at))
  const live = keys.filter((key) => keyStateAt(key, at) !== 'ended')
  const isIssued = line.action === 'token.issue' || line.action === 'token.rotate'
  const current = isIssued
    ? live.findLast(({ issuedAt }) => issuedAt === line.at)
    : line.action === 'token.cancel'
      ? keys.findLast(({ endReason }) => endReason !== 'cancelled')
      : undefined
  // Until the cutover, the replaced key is in force.
  const isReplaced = ({ endsAt, endReason }: KeyRecord) =>
    line.action === 'token.rotate' && endReason === 'rotated' && endsAt === current?.startsAt
  const wrong = live.filter((key) => !(key === current && key.endsAt === null) && !isReplaced(key))
  const faults = wrong.map(({ kid }) => `${named}: token ${kid} differs from ${sourceOf(line)}`)
  return isIssued && !current ? [`${named}: the token of ${sourceOf(line)} has ended`, ...faults] : faults
}
