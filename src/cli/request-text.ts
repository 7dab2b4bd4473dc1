import type { RequestRecord, ScreeningAnswer } from '../domain/booking-request'
import { languageName } from '../domain/language'
import type { Member } from '../domain/member'
import type { Partner } from '../domain/partner'
import type { Provider } from '../domain/provider'
import { regionRef } from '../domain/region'
import type { NinthItem } from '../domain/screening'
import { presentBookingRequest } from '../http/booking-request'
import type { AssignmentConcern } from '../operations/assign-provider'
import type { Context } from '../operations/context'
import { listPartners } from '../operations/partners'
import type { Screening } from '../operations/requests'
import type { Reason, Suggestion, Suggestions } from '../operations/suggest-providers'
import { formatInstant } from '../scheduling/calendar'
import { memberLines } from './member'
import { type Columns, columnsOf, instantText, printLine, printRecord, printTable } from './output'

/** What ids stand for. */
interface Names {
  /** Refs by id. */
  readonly providers: ReadonlyMap<number, string>
  readonly partners: ReadonlyMap<number, Partner>
}

/** The names that tables show for ids. */
export async function namesOf(context: Context): Promise<Names> {
  return {
    providers: new Map(context.directory.listProviders().map(({ id, ref }) => [id, ref])),
    partners: new Map((await listPartners(context)).map((partner) => [partner.id, partner])),
  }
}

const kindOf = ({ isIntake }: RequestRecord) => (isIntake ? 'intake' : 'booking request')

/** A request of the queue: what it takes to tell it from others, and nobody's name. */
export function presentRow(request: RequestRecord, { providers, partners }: Names) {
  const { id, state, providerId, startsAt, submittedAt, member } = request
  return {
    id,
    kind: kindOf(request),
    state,
    submittedAt: formatInstant(submittedAt),
    provider: providerId === null ? null : (providers.get(providerId) ?? null),
    utcStartTime: instantText(startsAt),
    member: member?.id ?? null,
    partner: (member && partners.get(member.partnerId)?.name) ?? null,
    externalUserId: member?.externalUserId ?? null,
  }
}

type Row = ReturnType<typeof presentRow>

export const columns: Columns<Row> = {
  ...columnsOf('id', 'kind', 'state'),
  SUBMITTED: ({ submittedAt }) => submittedAt,
  ...columnsOf('provider'),
  SLOT: ({ utcStartTime }) => utcStartTime,
  ...columnsOf('member', 'partner'),
  "PARTNER'S ID": ({ externalUserId }) => externalUserId,
}

const ninthItemMarks: Record<NinthItem, string> = {
  'non-zero': '!! NON-ZERO',
  unclear: '?? look at it',
  zero: 'zero',
  'not asked': 'not asked',
}

/** With the mark by which intakes are worked, before all the rest. */
export const intakeColumns: Columns<Row & { readonly ninthItem?: NinthItem | null }> = {
  'NINTH ITEM': ({ ninthItem }) => (ninthItem ? ninthItemMarks[ninthItem] : null),
  ...columns,
}

/** The contract's own shape; one whose person was erased has nobody in it. */
export function presentRequest(request: RequestRecord) {
  const { member } = request
  if (member) return presentBookingRequest({ ...request, member })
  const nobody = { profile: {} } as Member
  return { ...presentBookingRequest({ ...request, member: nobody }), member: null }
}

/** One request for people. */
export function printRequest(context: Context, request: RequestRecord, names: Names): void {
  const { authorizationNumber, acceptedAt, declinedAt, member } = request
  const row = presentRow(request, names)
  printRecord({
    id: row.id,
    kind: row.kind,
    state: row.state,
    submitted: row.submittedAt,
    provider: providerText(context, request),
    slot: row.utcStartTime,
    'authorization number': authorizationNumber,
    accepted: instantText(acceptedAt),
    declined: instantText(declinedAt),
    member: member ? `${member.id}${member.active ? '' : ' (deactivated)'}` : 'erased',
    ...(member && {
      partner: row.partner,
      "partner's id": row.externalUserId,
      'first name': member.profile.firstName,
      ...memberLines(member),
    }),
  })
}

function providerText({ directory }: Context, { providerId }: RequestRecord): string | null {
  const provider = directory.listProviders().find(({ id }) => id === providerId)
  if (!provider) return null
  const { ref, firstName, lastName, active } = provider
  return `${ref} ${firstName} ${lastName}${active ? '' : ' (deactivated)'}`
}

/** The answers as they were given, and what can be said of them. */
export function printScreening({ answers, score }: Screening): void {
  printLine('')
  const rows = answers.map(({ question, answer }, index) => ({ place: index + 1, question, answer }))
  printTable(rows, screeningColumns, 'No screening answers are held.')
  if (answers.length === 0) return
  printLine('')
  printLine(totalLine(score))
  if (score.unread.length > 0) printLine(`Could not be read: answer ${score.unread.join(', ')}.`)
  printLine(`Ninth item: ${ninthItemLines[score.ninthItem]}`)
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

/** What an intake asks for, as it is understood. */
export function presentNeeds({ member, whereabouts, wish }: Suggestions) {
  const { country, state, preferredModality } = member.profile
  const region = whereabouts.region && regionRef(whereabouts.region)
  return { country, state, region, language: wish.language, preferredModality, modalities: wish.modalities }
}

/** The same for people. */
export function printNeeds(id: number, found: Suggestions): void {
  const { country, state, region, language, preferredModality, modalities } = presentNeeds(found)
  const where = region ?? `${country}, region unknown${state ? ` (they say "${state}")` : ''}`
  const taken = modalities.length > 0 ? modalities.join(' or ') : 'no preference that is known'
  printRecord({
    intake: id,
    region: where,
    language: languageName(language),
    modality: preferredModality ? `${taken} (they say "${preferredModality}")` : taken,
  })
  if (found.suggestions.length > 0) return
  printLine('')
  printLine('No provider is licensed there now.')
}

/** A provider who fits, for programs. */
export function presentSuggestion({ provider, reasons, slots }: Suggestion) {
  const { id, ref, firstName, lastName, timeZone } = provider
  return {
    provider: ref,
    providerId: id,
    firstName,
    lastName,
    timeZone,
    reasons,
    slots: slots.map(({ startsAt, localTime }) => ({ utcStartTime: formatInstant(startsAt), localTime })),
  }
}

/** The same for people: what speaks for them (+), against them (-), and cannot be told (?). */
export function printSuggestion(place: number, { provider, reasons, slots }: Suggestion): void {
  const { ref, firstName, lastName, credentials, timeZone } = provider
  printLine('')
  printLine(`${place}. ${ref}  ${firstName} ${lastName}${credentials ? `, ${credentials}` : ''}`)
  for (const reason of reasons) printLine(`   ${markOf(reason)} ${reasonText(reason)}`)
  for (const { startsAt, localTime } of slots) {
    printLine(`       ${formatInstant(startsAt)}  ${localTime} in ${timeZone}`)
  }
}

function markOf({ fits }: Reason): string {
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
export function warningOf(concern: AssignmentConcern, { ref }: Provider): string {
  return concern.about === 'unlicensed'
    ? `${ref} holds no license in ${concern.region}, where the member is`
    : `the member's region in ${concern.country} cannot be told, nor whether ${ref} is licensed there`
}
