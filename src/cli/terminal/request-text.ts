import type { RequestRecord, ScreeningAnswer } from '../../domain/booking-request'
import { languageName } from '../../domain/language'
import type { Member } from '../../domain/member'
import type { Provider } from '../../domain/provider'
import { regionRef } from '../../domain/region'
import type { NinthItem } from '../../domain/screening'
import { presentBookingRequest } from '../../http/endpoints/booking-request'
import type { Context } from '../../operations/context'
import type { MemberTime } from '../../operations/members'
import type { Screening } from '../../operations/requests'
import type { Reason, Suggestion, Suggestions } from '../../operations/suggest-providers'
import type { AssignmentWarning } from '../../operations/transitions'
import { formatInstant, minuteMillis } from '../../scheduling/calendar'
import { formatLocal } from '../../scheduling/time-zone'
import { stateOf } from '../command'
import { providerStanding } from '../commands/away'
import { namesOf, presentRow } from '../commands/request-list'
import {
  type Columns,
  type CommonFlags,
  columnsOf,
  instantText,
  printJson,
  printLines,
  printRecord,
  printTable,
} from './output'
import { contactLines, fullName, timeText } from './persons'

/** The contract's own shape; one whose person was erased has nobody in it. */
export function presentRequest(request: RequestRecord) {
  const { member } = request
  if (member) return presentBookingRequest({ ...request, member })
  const nobody = { profile: {} } as Member
  return { ...presentBookingRequest({ ...request, member: nobody }), member: null }
}

/** What the clock shows where a member is: now, and when their slot begins. */
interface MemberTimes {
  readonly time: MemberTime | null
  readonly slotTime: MemberTime | null
}

/** One request for people. @param notes how many staff have written on it */
export async function printRequest(
  context: Context,
  request: RequestRecord,
  { time, slotTime }: MemberTimes,
  notes: number,
): Promise<void> {
  const { authorizationNumber, acceptedAt, declinedAt, member } = request
  const row = presentRow(request, await namesOf(context, [request]))
  const provider = providerOf(context, request)
  printRecord({
    id: row.id,
    kind: row.kind,
    state: row.state,
    submitted: row.submittedAt,
    provider: provider ? `${provider.ref} ${fullName(provider)}${markOf(providerStanding(provider))}` : null,
    slot: row.utcStartTime,
    // Nobody is told their hour in UTC.
    ...(request.startsAt !== null && {
      local: localText(context, request),
      "member's time": timeText(slotTime),
    }),
    'authorization number': authorizationNumber,
    accepted: instantText(acceptedAt),
    declined: instantText(declinedAt),
    ...(notes > 0 && { notes: `${notes}: anteroom request notes ${row.id}` }),
    member: member ? `${member.id}${markOf(stateOf(member))}` : 'erased',
    ...(member && {
      partner: row.partner,
      "partner's id": row.externalUserId,
      ...contactLines(member, time),
    }),
  })
}

function markOf(state: string): string {
  return state === 'active' ? '' : ` (${state})`
}

/** When its slot begins by the provider's clock: `Wed 2026-12-02 09:00 America/Toronto`; null where that is not known. */
function localText({ directory }: Context, { providerId, startsAt }: RequestRecord): string | null {
  const zone = providerId === null ? null : directory.findAnyListing(providerId)?.calendar.schedule.zone
  if (!zone || startsAt === null) return null
  return `${formatLocal(zone, startsAt / minuteMillis)} ${zone.name}`
}

/** The provider whom a request is for, or whom it is assigned to. */
export function providerOf({ directory }: Context, { providerId }: RequestRecord): Provider | undefined {
  return directory.listProviders().find(({ id }) => id === providerId)
}

/** The answers as they were given, and what can be said of them. */
export function printScreening({ answers, score }: Screening): void {
  printLines('')
  const rows = answers.map(({ question, answer }, index) => ({ place: index + 1, question, answer }))
  printTable(rows, screeningColumns, 'No screening answers are held.')
  if (answers.length === 0) return
  printLines('', totalLine(score))
  if (score.unread.length > 0) printLines(`Could not be read: answer ${score.unread.join(', ')}.`)
  printLines(`Ninth item: ${ninthItemLines[score.ninthItem]}`)
}

const screeningColumns: Columns<ScreeningAnswer & { readonly place: number }> = {
  '#': ({ place }) => place,
  ...columnsOf('question', 'answer'),
}

function totalLine({ total, readCount, isComplete, severity }: Screening['score']): string {
  if (total === null) return 'Total: none, no answer could be read.'
  if (isComplete) return `Total: ${total} of 27, ${severity}.`
  return `Partial total: ${total}, of ${readCount} answers; a severity needs the nine items, all of them read.`
}

const ninthItemLines: Record<NinthItem, string> = {
  'non-zero': '!! NON-ZERO',
  unclear: '?? could not be read: look at it.',
  zero: 'zero.',
  'not asked': 'not asked.',
}

/** Prints what an intake asks for, as it is understood, and the first of the providers who fit. */
export function printSuggestions(
  id: number,
  found: Suggestions,
  { json, limit }: CommonFlags & { readonly limit: number },
): void {
  const needs = presentNeeds(found)
  const shown = found.suggestions.slice(0, limit)
  if (json) {
    printJson({ request: id, ...needs, suggestions: shown.map(presentSuggestion) })
    return
  }
  const { country, state, region, language, preferredModality, modalities } = needs
  const taken = modalities.length > 0 ? modalities.join(' or ') : 'no preference that is known'
  printRecord({
    intake: id,
    region: region ?? `${country}, region unknown${state ? ` (they say "${state}")` : ''}`,
    language: languageName(language),
    modality: preferredModality ? `${taken} (they say "${preferredModality}")` : taken,
  })
  for (const [index, suggestion] of shown.entries()) printSuggestion(index + 1, suggestion)
  const more = found.suggestions.length - shown.length
  if (more > 0) printLines('', `${more} more; --limit shows them.`)
  if (found.suggestions.length === 0) printLines('', 'No provider is licensed there now.')
}

function presentNeeds({ member, whereabouts, wish }: Suggestions) {
  const { country, state, preferredModality } = member.profile
  const region = whereabouts.region && regionRef(whereabouts.region)
  return { country, state, region, language: wish.language, preferredModality, modalities: wish.modalities }
}

function presentSuggestion({ provider, reasons, slots }: Suggestion) {
  const { id, ref, firstName, lastName, timeZone } = provider
  const starts = slots.map(({ startsAt, localTime }) => ({
    utcStartTime: formatInstant(startsAt),
    localTime,
  }))
  return { provider: ref, providerId: id, firstName, lastName, timeZone, reasons, slots: starts }
}

/** What speaks for a provider (+), against them (-), and cannot be told (?). */
function printSuggestion(place: number, { provider, reasons, slots }: Suggestion): void {
  const { ref, credentials, timeZone } = provider
  printLines('', `${place}. ${ref}  ${fullName(provider)}${credentials ? `, ${credentials}` : ''}`)
  for (const reason of reasons) printLines(`   ${signOf(reason)} ${reasonText(reason)}`)
  for (const { startsAt, localTime } of slots) {
    printLines(`       ${formatInstant(startsAt)}  ${localTime} in ${timeZone}`)
  }
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
      return `offers ${reason.fits === false ? 'only ' : ''}${reason.offered.join(', ') || 'no modality there'}`
    case 'slots':
      return reason.fits ? `${reason.free} free slots, the soonest:` : 'no free slot in the next 30 days'
  }
}

/** What the operator should know before a provider is assigned. */
export function warningOf(concern: AssignmentWarning, { ref }: Provider): string {
  return concern.about === 'unlicensed'
    ? `${ref} holds no license in ${concern.region}, where the member is`
    : `the member's region in ${concern.country} cannot be told, nor whether ${ref} is licensed there`
}
