import type { RequestRecord, ScreeningAnswer } from '../../domain/booking-request'
import { languageName } from '../../domain/language'
import type { Member } from '../../domain/member'
import type { Provider } from '../../domain/provider'
import { regionRef } from '../../domain/region'
import type { NinthItem } from '../../domain/screening'
import { presentCurrent } from '../../http/endpoints/current-request'
import type { Context } from '../../operations/context'
import type { MemberTime } from '../../operations/members'
import type { ShownRisk } from '../../operations/queue'
import type { Screening } from '../../operations/requests'
import type { Reason, Suggestion, Suggestions } from '../../operations/suggest-providers'
import type { AssignmentWarning } from '../../operations/transitions'
import { formatInstant, minuteMillis } from '../../scheduling/calendar'
import { formatLocal } from '../../scheduling/time-zone'
import { stateOf } from '../command'
import { bothTimes, presentOffer, providerState } from '../commands/away'
import type { presentRow } from '../commands/request-list'
import { type Answer, instantText, type Text } from './output'
import { contactLines, fullName, timeText } from './persons'
import { type Columns, columnsOf, fields, table } from './table'

/** Returns a request as the API returns it, except that `member` is null if the member was erased. */
export function presentRequest(request: RequestRecord) {
  const { member } = request
  if (member) return presentCurrent({ ...request, member })
  const erased = { profile: {} } as Member
  return { ...presentCurrent({ ...request, member: erased }), member: null }
}

export function requestText(
  context: Context,
  request: RequestRecord,
  row: ReturnType<typeof presentRow>,
  { time, slotTime }: Record<'time' | 'slotTime', MemberTime | null>,
  notes: number,
  risk: ShownRisk,
): Text {
  const { authorizationNumber, acceptedAt, declinedAt, cancelledAt, member } = request
  const provider = providerOf(context, request)
  return fields({
    risk: riskText(risk),
    id: row.id,
    kind: row.kind,
    state: row.state,
    submitted: row.submittedAt,
    provider: provider ? `${provider.ref} ${fullName(provider)}${markOf(providerState(provider))}` : null,
    slot: row.utcStartTime,
    // Local times, because staff read them to the member by phone.
    ...(request.startsAt !== null && {
      local: localText(context, request),
      "member's time": timeText(slotTime),
    }),
    'authorization number': authorizationNumber,
    accepted: instantText(acceptedAt),
    declined: instantText(declinedAt),
    ...(cancelledAt !== null && { cancelled: instantText(cancelledAt) }),
    ...(notes > 0 && { notes: `${notes}: anteroom request notes ${row.id}` }),
    member: member ? `${member.id}${markOf(stateOf(member))}` : 'erased',
    ...(member && {
      partner: row.partner,
      "partner's id": row.externalUserId,
      ...contactLines(member, time),
    }),
  })
}

/** For example `!! ninth item raised, severe, answers not read yet`. */
function riskText({ risk, isUnread }: ShownRisk): string {
  if (risk === null) return 'no screening answers'
  return [ninthItemTexts[risk.ninthItem], risk.severity ?? 'incomplete', isUnread && 'answers not read yet']
    .filter(Boolean)
    .join(', ')
}

const ninthItemTexts: Record<NinthItem, string> = {
  'non-zero': '!! ninth item raised',
  unclear: '?? ninth item unclear',
  zero: 'ninth item zero',
  'not asked': 'ninth item not asked',
}

function markOf(state: string): string {
  return state === 'active' ? '' : ` (${state})`
}

/** For example `Wed 2026-12-02 09:00 America/Toronto`, in the provider's zone. Null if the zone is unknown. */
export function localText({ directory }: Context, { providerId, startsAt }: RequestRecord): string | null {
  const zone = providerId === null ? null : directory.findAnyListing(providerId)?.calendar.schedule.zone
  if (!zone || startsAt === null) return null
  return `${formatLocal(zone, startsAt / minuteMillis)} ${zone.name}`
}

export function providerOf({ directory }: Context, { providerId }: RequestRecord): Provider | undefined {
  return directory.listProviders().find(({ id }) => id === providerId)
}

export function screeningText({ answers, score }: Screening): Text {
  const rows = answers.map(({ question, answer }, index) => ({ place: index + 1, question, answer }))
  const given = ['', table(rows, screeningColumns, 'There are no screening answers.')]
  if (answers.length === 0) return given
  return [
    given,
    '',
    totalLine(score),
    score.unread.length > 0 ? `Could not be read: answer ${score.unread.join(', ')}.` : [],
    `Ninth item: ${ninthItemLines[score.ninthItem]}`,
  ]
}

const screeningColumns: Columns<ScreeningAnswer & { readonly place: number }> = {
  '#': ({ place }) => place,
  ...columnsOf('question', 'answer'),
}

function totalLine({ total, readCount, isComplete, severity }: Screening['score']): string {
  if (total === null) return 'Total: none, because no answer could be read.'
  if (isComplete) return `Total: ${total} of 27, ${severity}.`
  return `Partial total: ${total} from ${readCount} answers. The severity needs all nine items.`
}

const ninthItemLines: Record<NinthItem, string> = {
  'non-zero': '!! NON-ZERO',
  unclear: '?? could not be read. Read the answer.',
  zero: 'zero.',
  'not asked': 'not asked.',
}

export function suggestionsAnswer(id: number, found: Suggestions, limit: number): Answer {
  const needs = presentNeeds(found)
  const shown = found.suggestions.slice(0, limit)
  const { country, state, region, language, preferredModality, modalities } = needs
  const taken = modalities.length > 0 ? modalities.join(' or ') : 'no known preference'
  const wanted = fields({
    intake: id,
    region: region ?? `${country}, region unknown${state ? ` (given as "${state}")` : ''}`,
    language: languageName(language),
    modality: preferredModality ? `${taken} (given as "${preferredModality}")` : taken,
  })
  const more = found.suggestions.length - shown.length
  return {
    json: { request: id, ...needs, suggestions: shown.map(presentSuggestion) },
    text: [
      wanted,
      shown.map((suggestion, index) => suggestionText(index + 1, suggestion)),
      more > 0 ? ['', `${more} more. Use --limit to show them.`] : [],
      found.suggestions.length === 0 ? ['', 'No provider has a license there now.'] : [],
    ],
  }
}

function presentNeeds({ member, whereabouts, wish }: Suggestions) {
  const { country, state, preferredModality } = member.profile
  const region = whereabouts.region && regionRef(whereabouts.region)
  return { country, state, region, language: wish.language, preferredModality, modalities: wish.modalities }
}

function presentSuggestion({ provider, reasons, slots }: Suggestion) {
  const { id, ref, firstName, lastName, timeZone } = provider
  const starts = slots.map(presentOffer)
  return { provider: ref, providerId: id, firstName, lastName, timeZone, reasons, slots: starts }
}

/** Lists the reasons: for the provider (+), against the provider (-), or unknown (?). */
function suggestionText(rank: number, { provider, reasons, slots }: Suggestion): Text {
  const { ref, credentials } = provider
  return [
    '',
    `${rank}. ${ref}  ${fullName(provider)}${credentials ? `, ${credentials}` : ''}`,
    reasons.map((reason) => `   ${signOf(reason)} ${reasonText(reason)}`),
    slots.map((slot) => `     ${formatInstant(slot.startsAt)}  ${bothTimes(slot)}`),
  ]
}

function signOf({ fits }: Reason): string {
  if (fits === null) return '?'
  return fits ? '+' : '-'
}

function reasonText(reason: Reason): string {
  switch (reason.about) {
    case 'license':
      return `licensed in ${reason.regions.join(', ')}${reason.fits ? '' : "; the member's region is not known"}`
    case 'language':
      return `speaks ${reason.fits ? '' : 'only '}${reason.spoken.map(languageName).join(', ')}`
    case 'modality':
      return `offers ${reason.fits === false ? 'only ' : ''}${reason.offered.join(', ') || 'no modality in this region'}`
    case 'slots':
      return reason.fits
        ? `${reason.free} free slots, the best times first:`
        : 'no free slot in the next 30 days'
  }
}

export function warningOf(warning: AssignmentWarning, { ref }: Provider): string {
  return warning.about === 'unlicensed'
    ? `${ref} has no license in ${warning.region}, where the member is`
    : `the member's region in ${warning.country} is unknown, so check that ${ref} has a license there`
}
