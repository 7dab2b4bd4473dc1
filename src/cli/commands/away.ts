import type { Command } from 'commander'
import type { Provider, TimeOff } from '../../domain/provider'
import { regionRef } from '../../domain/region'
import type { Context } from '../../operations/context'
import { requireProvider } from '../../operations/find-records'
import { type Away, parseAway, parseTimeOff, removeTimeOff, takeAway } from '../../operations/providers'
import type { Offer } from '../../operations/suggest-providers'
import { formatInstant } from '../../scheduling/calendar'
import type { Service } from '../../service'
import { dateAtClinic } from '../clinic-zone'
import { type Call, commandGroup, commandsOn, json, serviceCommand, stateOf } from '../command'
import { makeAct, withContext } from '../storage'
import { type Answer, shellWord, type Text } from '../terminal/output'
import { calledName, fullName, voicemailText } from '../terminal/persons'
import { columnsOf, rowsAnswer } from '../terminal/table'
import { memberTimeText, presentAppointment, providerTimeText } from './appointments'

const absenceForm = 'a date, a local time (2026-12-01T13:00), or a UTC instant (2026-12-01T18:00:00Z)'

export function timeOffCommand(): Command {
  return commandGroup(
    'time-off',
    [
      onProvider({
        name: 'remove',
        description: 'Remove an absence; write its start and end as time-off list shows them',
        words: [
          ['<from>', absenceForm],
          ['<until>', 'the end, in the same form as the start; a date includes the whole day'],
        ],
        options: [json()],
        examples: ['anteroom provider time-off remove on-001 2026-12-21 2026-12-24'],
        async run({ context, act }: Call<Context>, provider: Provider, from: string, until: string) {
          const { isOfDirectory } = await removeTimeOff(context, provider, parseTimeOff(from, until), act())
          const line = `Removed the time off of provider ${provider.ref} from ${from} to ${until}.`
          const again = isOfDirectory
            ? ' It came from the directory files: remove it there too, or the next load adds it again.'
            : ''
          return { json: { provider: provider.ref, from, until, isOfDirectory }, text: `${line}${again}` }
        },
      }),
      onProvider({
        name: 'list',
        description: 'List the absences of a provider, and where each was entered',
        options: [json()],
        examples: ['anteroom provider time-off list on-001'],
        run: (_call, provider) =>
          rowsAnswer(absencesBySource(provider), absenceColumns, 'There is no time off.'),
      }),
    ],
    'List and remove absences of providers',
  )
}

/** The source is `staff` if a command added the absence, and `directory` if a load added it. */
type SourcedAbsence = TimeOff & { readonly source: 'directory' | 'staff' }

export function absencesBySource({ timeOff, staffTimeOff }: Provider): SourcedAbsence[] {
  return [
    ...timeOff.map(({ from, until }) => ({ from, until, source: 'directory' as const })),
    ...staffTimeOff.map(({ from, until }) => ({ from, until, source: 'staff' as const })),
  ]
}

export const absenceColumns = columnsOf<SourcedAbsence>('from', 'until', 'source')

interface Flags {
  readonly dryRun?: boolean
}

const boundaryForm = 'today, tomorrow, a date, a local date and time (2026-12-01T13:00), or a UTC instant'

export function awayCommand(): Command {
  return serviceCommand({
    name: 'away',
    settings: ['clinicZone'],
    description: 'Record an absence of a provider, and list the members to call with other slots to offer',
    words: [
      ['<provider>', 'ref, id or name'],
      ['<from>', boundaryForm],
      ['<until>', 'the end, in the same form as the start; a date includes the whole day'],
    ],
    options: [['--dry-run', 'list the members, but record nothing'], json()],
    examples: [
      'anteroom provider away on-001 tomorrow tomorrow',
      'anteroom provider away on-001 today 2026-12-04 --dry-run',
    ],
    run: away,
  })
}

async function away(call: Call<Service, Flags>, ref: string, from: string, until: string): Promise<Answer> {
  const { context: service, flags, tried } = call
  const { context, zones } = service
  const provider = requireProvider(context, ref)
  tried.id = provider.id
  const now = context.clock.now()
  const [first, last] = [from, until].map((word) => dateAtClinic(zones, flags, word, now)) as [string, string]
  const absence = parseAway(context, provider, { from: first, until: last }, now)
  const act = flags.dryRun ? makeAct() : call.act()
  const found = await takeAway(context, zones, provider, absence, act, flags.dryRun)
  return {
    json: presentAway(provider, absence, found, flags),
    text: awayText(provider, absence, found, flags),
  }
}

function presentAway(provider: Provider, absence: TimeOff, { isKnown, affected }: Away, { dryRun }: Flags) {
  return {
    provider: provider.ref,
    ...absence,
    added: !(isKnown || dryRun),
    undo: undoOf(provider, absence),
    concerned: affected.map(({ appointment, offers }) => ({
      ...presentAppointment(appointment),
      region: offers?.region ? regionRef(offers.region) : null,
      isLicensedThere: offers?.region ? offers.isLicensed : null,
      afterwards: (offers?.afterwards ?? []).map((offer) => presentMove(appointment.request.id, offer)),
      elsewhere: (offers?.elsewhere ?? []).map((offer) => presentMove(appointment.request.id, offer, true)),
    })),
  }
}

function presentMove(requestId: number, offer: Offer, isOther = false) {
  return { ...presentOffer(offer), command: moveOf(requestId, offer, isOther) }
}

export function presentOffer({ provider, startsAt, local, memberTime, isDaytime }: Offer) {
  return {
    provider: provider.ref,
    utcStartTime: formatInstant(startsAt),
    localTime: local,
    timeZone: provider.timeZone,
    memberEarliestTime: memberTime?.earliest ?? null,
    memberLatestTime: memberTime?.latest ?? null,
    isMemberDaytime: memberTime && isDaytime,
  }
}

function awayText(provider: Provider, absence: TimeOff, { isKnown, affected }: Away, { dryRun }: Flags) {
  const name = `${provider.ref} ${fullName(provider)}`
  const when = `from ${absence.from} to ${absence.until}`
  const done = dryRun
    ? `Provider ${name} would have time off ${when}. Nothing was changed: this was a dry run.`
    : `Provider ${name} has time off ${when}. Slots in that time are no longer offered.`
  return [
    isKnown ? `Provider ${name} already had time off ${when}.` : done,
    isKnown || !dryRun ? ['To undo this:', `  ${undoOf(provider, absence)}`] : [],
    affected.length === 0
      ? ['', 'There are no appointments in that time.']
      : affectedText(provider, affected),
  ]
}

function affectedText(provider: Provider, affected: Away['affected']): Text {
  const count = affected.length
  const which = count === 1 ? '1 appointment is' : `${count} appointments are`
  const each = affected.map((one, index) => affectedAppointmentText(index + 1, provider, one))
  return ['', `${which} in that time, and booked until you move or decline the request:`, each]
}

function affectedAppointmentText(
  place: number,
  provider: Provider,
  { appointment, offers }: Away['affected'][number],
): Text {
  const { request, partner } = appointment
  const { id, state, member } = request
  const title = `${place}. ${bothTimes(appointment)}`
  if (!member || !offers) {
    return ['', title, `   the member was erased; free the slot with anteroom request decline ${id}`]
  }
  const { phoneNumber, leaveVoicemail, preferredModality } = member.profile
  const region = offers.region && regionRef(offers.region)
  const unlicensed = offers.isLicensed ? '' : `, who has no license in ${region}, the member's region`
  const unknown = region === null ? ' (the region of the member is unknown; ask for it)' : ''
  return [
    '',
    title,
    `   ${calledName(member)}  phone ${phoneNumber || '-'}  voicemail: ${voicemailText(leaveVoicemail)}`,
    `   request ${id}, ${state}, ${preferredModality || 'no preferred modality'}, ${partner}'s ${member.externalUserId}`,
    offersText(`with ${fullName(provider)} after the absence${unlicensed}`, id, offers.afterwards, false),
    offersText(`with other suitable providers${unknown}`, id, offers.elsewhere, true),
  ]
}

function offersText(title: string, requestId: number, offers: readonly Offer[], isOther: boolean): Text {
  const lines = offers.map((offer) => {
    const { ref } = offer.provider
    const name = isOther ? `, ${ref} ${fullName(offer.provider)}` : ''
    return [`   - ${bothTimes(offer)}${name}`, `     ${moveOf(requestId, offer, isOther)}`]
  })
  return [`   ${title}:${offers.length === 0 ? ' no free slot in the next 30 days' : ''}`, lines]
}

type Start = Parameters<typeof providerTimeText>[0] & Pick<Offer, 'memberTime'>

/** For example `Tue 2026-12-01 09:00 Toronto, member's time 06:00 Vancouver (at night)`. */
export function bothTimes(slot: Start & { readonly isDaytime?: boolean }): string {
  const providers = providerTimeText(slot, '')
  const theirs = memberTimeText(slot.memberTime, (slot.local ?? '').slice(4, 14))
  const isSame = theirs !== null && providers.endsWith(theirs)
  const members = isSame ? 'the same for the member' : `member's time ${theirs ?? 'unknown'}`
  return `${providers}, ${members}${slot.isDaytime === false ? ' (at night)' : ''}`
}

function moveOf(requestId: number, { startsAt, provider }: Offer, isOther: boolean): string {
  const whose = isOther ? ` --provider ${shellWord(provider.ref)}` : ''
  return `anteroom request move ${requestId} --slot ${formatInstant(startsAt)}${whose}`
}

function undoOf({ ref }: Provider, { from, until }: TimeOff): string {
  return `anteroom provider time-off remove ${shellWord(ref)} ${from} ${until}`
}

export const onProvider = commandsOn(withContext, ['<provider>', 'ref, id or name'], requireProvider)

/** Staff suspend providers. The directory deactivates providers. */
export function providerState(provider: { active?: boolean; suspended: boolean }): string {
  const { active = true, suspended } = provider
  if (suspended) return active ? 'suspended' : 'suspended, deactivated'
  return stateOf({ active })
}
