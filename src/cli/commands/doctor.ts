import type { Command } from 'commander'
import { type Flags, readValues } from '../../config'
import { Refusal } from '../../domain/errors'
import { type Finding, finding, withRemedy } from '../../domain/ports/maintenance'
import {
  listShiftedBookings,
  listUnavailableBookings,
  type ShiftedBooking,
  type UnavailableBooking,
} from '../../operations/check-bookings'
import type { Context, Records } from '../../operations/context'
import { checkDatabase, zoneDataNote } from '../../operations/maintenance'
import { membersDue } from '../../operations/members'
import { listEmailConflicts } from '../../operations/partners'
import { formatInstant, yearsBefore } from '../../scheduling/calendar'
import { json, storageCommand } from '../command'
import { exitCodes } from '../exit-code'
import { withRecords, withService } from '../storage'
import { counted, firstOf } from '../terminal/layout'
import { type CommonFlags, printAnswer, type Text } from '../terminal/output'
import { absenceTexts, fullName } from '../terminal/persons'
import { columnsOf, table } from '../terminal/table'
import { conflictText } from './status'

export function doctorCommand(): Command {
  return storageCommand({
    name: 'doctor',
    settings: ['backupMaxAge', 'retention', 'emailConflictsPerHour'],
    options: [['--all', 'decrypt every sealed value (default: a sample of 1,000 of each kind)'], json()],
    examples: ['anteroom doctor --backup-max-age 36h'],
    run: examine,
  })
}

async function examine(flags: Flags & CommonFlags & { all?: boolean }): Promise<undefined> {
  // Runs before the records are opened, because a process cannot open the same database file twice.
  const ofDirectory = await directoryFindings(flags)
  await withRecords(flags, async (records) => {
    const { backupMaxAge = null, retention, emailConflictsPerHour } = readValues(flags)
    const ofDatabase = await checkDatabase(records, backupMaxAge, flags.all ?? false)
    const ofRetention = retention === undefined ? [] : [await retentionFinding(records, retention)]
    const ofConflicts = await whereReadable('e-mail conflicts', async () => {
      const near = await listEmailConflicts(records, emailConflictsPerHour, records.clock.now())
      const detail = firstOf(near.map(conflictText), mostNamed, '; ')
      const fine = finding('e-mail conflicts', null, 'no partner is near its limit')
      return near.length > 0 ? { ...fine, state: 'note', detail } : fine
    })
    const ofHost = await records.maintenance.checkHost()
    const all = [...ofDatabase, ...ofRetention, ofConflicts, ...ofDirectory, ...ofHost]
    const findings = all.map((found) => withRemedy(found, { whenNoted, whenBad }))
    printAnswer(flags, { json: findings, text: findingsText(findings) })
    if (findings.some(({ state }) => state === 'bad')) process.exitCode = exitCodes.unhealthy
  })
}

async function retentionFinding(records: Records, years: number): Promise<Finding> {
  const due = await Array.fromAsync(membersDue(records, yearsBefore(records.clock.now(), years)))
  const isDue = `${counted(due.length, 'member')} had the last request more than ${counted(years, 'year')} ago`
  if (due.length === 0) return finding('retention', null, 'no member is due')
  const remedy = `anteroom member due --older-than ${years}y`
  return { check: 'retention', state: 'note', detail: isDue, remedy }
}

/** Returns findings that need the directory. A failed load is a finding too, so that the other checks still run. */
async function directoryFindings(flags: object): Promise<Finding[]> {
  const found: Finding[] = []
  const inService = withService(flags, async ({ context, zones }) => {
    const now = context.clock.now()
    found.push(
      await whereReadable('bookings', () => unavailableFinding(listUnavailableBookings(context, now))),
      await whereReadable('booked times', async () =>
        bookedFinding(await listShiftedBookings(context, zones, now)),
      ),
      await whereReadable('providers', () => listedFinding(context.directory.listUnlisted())),
      finding('zone data', zoneDataNote(zones, now), `${zones.edition}, ${zones.folder ?? 'built in'}`),
    )
  })
  await inService.catch((error) => {
    if (!(error instanceof Refusal) || error.kind !== 'storage_failed') throw error
    found.push({ check: 'directory', state: 'bad', detail: `it could not be loaded: ${error.message}` })
  })
  return found
}

function findingsText(findings: readonly Finding[]): Text {
  // If a finding is about several records, each record gets a row.
  const rows = findings.flatMap(({ check, state, detail }) =>
    detail
      .split('; ')
      .map((part, at) => ({ check: at === 0 ? check : '', state: at === 0 ? state : '', detail: part })),
  )
  const toDo = findings.flatMap(({ check, remedy }) => (remedy ? `  ${check}: ${remedy}` : []))
  return [
    table(rows, columnsOf<(typeof rows)[number]>('check', 'state', 'detail'), ''),
    toDo.length > 0 ? ['', 'What to do:', toDo] : [],
  ]
}

const whenNoted = {
  settings: 'stop all other programs that use the database, then restart the service',
  'sealed values': 'if a token key is damaged, run anteroom token rotate; restore other values from a backup',
  'audit log': 'find out who could write to the database file, and compare it with a backup',
  records:
    'find out who could write to the database, then repeat the act that should be in force, for example anteroom token revoke',
  backup: 'anteroom backup FILE',
  bookings: 'anteroom request move ID --slot INSTANT, or anteroom request decline ID',
  'booked times': 'inform the member and the provider, then run anteroom request acknowledge ID',
  'e-mail conflicts': 'call the partner; if its members are real, run anteroom partner set-rates',
  providers: 'correct them in the directory files, then run anteroom directory load',
  'zone data': 'update the folder, or start without --zones',
}

const fromBackup = 'stop the service and restore a backup: anteroom restore'

/** Only findings with the state `bad` get the advice to restore a backup. */
const whenBad = {
  ...whenNoted,
  ...{ schema: fromBackup, integrity: fromBackup, directory: fromBackup, orphans: fromBackup },
}

/** A check that fails becomes a finding, so that the other checks still run. */
async function whereReadable(check: string, find: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await find()
  } catch (error) {
    const why = error instanceof Refusal ? `: ${error.message}` : ''
    return { check, state: 'bad', detail: `it could not be checked${why}` }
  }
}

function listedFinding(unlisted: ReturnType<Context['directory']['listUnlisted']>): Finding {
  // Deactivated providers are not reported, because searches leave them out anyway.
  const missed = unlisted.filter(({ active }) => active)
  const faults = missed.map(({ ref, fault }) => `${ref} is left out of searches: ${fault}`)
  return finding('providers', firstOf(faults, mostNamed, '; '), 'all active providers appear in searches')
}

function bookedFinding(moved: readonly ShiftedBooking[]): Finding {
  const details = moved.map(({ requestId, provider, member, from, to }) => {
    // Shows the member's id only, because looking up a name is audited.
    const who = member ? `member ${member.id}` : 'an erased member'
    const whom = `${provider.ref} (${fullName(provider)})`
    return `request ${requestId}, ${who} with ${whom}: ${from} is now ${to} in ${provider.timeZone}`
  })
  return finding('booked times', firstOf(details, mostNamed, '; '), 'unchanged since the booking')
}

function unavailableFinding(stranded: readonly UnavailableBooking[]): Finding {
  const details = stranded.map(
    ({ requestId, provider, startsAt, reason }) =>
      `request ${requestId}, ${formatInstant(startsAt)}: ${provider} ${absenceTexts[reason]}`,
  )
  const fine = 'all are within the availability of their providers'
  return finding('bookings', firstOf(details, mostNamed, '; '), fine)
}

/** A finding names at most this many records. Further records are only counted. */
const mostNamed = 20
