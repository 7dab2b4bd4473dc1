import type { Command } from 'commander'
import { type Flags, readBackupMaxAge } from '../../config'
import { Refusal } from '../../domain/errors'
import { type Finding, type Remedies, withRemedy } from '../../domain/ports/maintenance'
import type { ZoneData } from '../../domain/ports/time'
import {
  listShiftedBookings,
  listUnavailableBookings,
  type ShiftedBooking,
  type UnavailableBooking,
} from '../../operations/check-bookings'
import { checkDatabase, checkHost, zoneDataNote } from '../../operations/maintenance'
import { formatInstant } from '../../scheduling/calendar'
import { json, storageCommand } from '../command'
import { exitCodes } from '../exit-code'
import { withRecords, withService } from '../storage'
import { firstOf } from '../terminal/layout'
import { type CommonFlags, printAnswer, type Text } from '../terminal/output'
import { absenceTexts, fullName } from '../terminal/persons'
import { columnsOf, table } from '../terminal/table'

/** `anteroom doctor`: whether all that the service depends on is as it should be, and what to do where it is not. */
export function doctorCommand(): Command {
  return storageCommand({
    name: 'doctor',
    settings: ['backupMaxAge'],
    options: [
      ['--all', 'open every sealed value, and not a sample of 1,000 of each kind'],
      json('print the findings as JSON'),
    ],
    examples: ['anteroom doctor --backup-max-age 36h'],
    run: examine,
  })
}

interface DoctorFlags extends Flags, CommonFlags {
  readonly all?: boolean
}

async function examine(flags: DoctorFlags): Promise<undefined> {
  // Before the records are opened: a process may not open a file that it has open.
  const ofDirectory = await directoryFindings(flags)
  await withRecords(flags, async (records) => {
    const ofDatabase = await checkDatabase(records, readBackupMaxAge(flags), flags.all ?? false)
    const all = [...ofDatabase, ...ofDirectory, ...(await checkHost(records))]
    const findings = all.map((found) => withRemedy(found, remedies))
    printAnswer(flags, { json: findings, text: findingsText(findings) })
    if (findings.some(({ state }) => state === 'bad')) process.exitCode = exitCodes.unhealthy
  })
}

/** What needs the directory. That it cannot be loaded is a finding too, so that a damaged database is examined. */
async function directoryFindings(flags: DoctorFlags): Promise<Finding[]> {
  const found: Finding[] = []
  const inService = withService(flags, async ({ context, zones }) => {
    const now = context.clock.now()
    found.push(
      await whereReadable('bookings', () => unavailableFinding(listUnavailableBookings(context, now))),
      await whereReadable('booked times', async () =>
        bookedFinding(await listShiftedBookings(context, zones, now)),
      ),
      await whereReadable('providers', () => listedFinding(context.directory.listUnlisted())),
      zoneFinding(zones, now),
    )
  })
  await inService.catch((error) => {
    if (!(error instanceof Refusal) || error.kind !== 'storage_failed') throw error
    found.push({ check: 'directory', state: 'bad', detail: `it could not be loaded: ${error.message}` })
  })
  return found
}

function findingsText(findings: readonly Finding[]): Text {
  // A row for each record of a finding about several.
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

const fromBackup = 'stop the service and restore a backup: anteroom restore'

const whenNoted = {
  settings: 'stop whatever else opens the database, and start the service again',
  'sealed values': "anteroom token rotate for a key's partner; a backup has the rest",
  'audit log': 'find out who could write to the file, and hold it to a backup',
  backup: 'anteroom backup FILE',
  bookings: 'anteroom request move ID --slot INSTANT, or request decline ID',
  'booked times': 'tell them, then anteroom request acknowledge ID',
  providers: 'mend them in the directory file, then anteroom directory load',
  'zone data': 'bring the folder up to date, or leave --zones out',
}

/** What to do about what is not as it should be. Nothing that is no more than worth knowing is mended by a backup. */
const remedies: Remedies = {
  whenNoted,
  whenBad: {
    ...whenNoted,
    schema: fromBackup,
    integrity: fromBackup,
    directory: fromBackup,
    orphans: fromBackup,
  },
}

/** What cannot be read is a finding too, and stops no other. */
async function whereReadable(check: string, find: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await find()
  } catch (error) {
    const why = error instanceof Refusal ? `: ${error.message}` : ''
    return { check, state: 'bad', detail: `it could not be checked${why}` }
  }
}

function listedFinding(
  unlisted: readonly { readonly ref: string; readonly active: boolean; readonly fault: string }[],
): Finding {
  // Those who are deactivated are missed by nobody.
  const missed = unlisted.filter(({ active }) => active)
  const faults = missed.map(({ ref, fault }) => `${ref} is left out of searches: ${fault}`)
  return finding('providers', firstOf(faults, mostNamed, '; '), 'all are listed')
}

function bookedFinding(moved: readonly ShiftedBooking[]): Finding {
  const details = moved.map(({ requestId, provider, member, from, to }) => {
    // By their ids: whoever looks them up leaves a line in the audit log.
    const who = member ? `member ${member.id}` : 'a person who was erased'
    const whom = `${provider.ref} (${fullName(provider)})`
    return `request ${requestId}, ${who} with ${whom}: ${from} is now ${to} in ${provider.timeZone}`
  })
  return finding('booked times', firstOf(details, mostNamed, '; '), 'as they were booked')
}

function unavailableFinding(stranded: readonly UnavailableBooking[]): Finding {
  const details = stranded.map(
    ({ requestId, provider, startsAt, reason }) =>
      `request ${requestId}, ${formatInstant(startsAt)}: ${provider} ${absenceTexts[reason]}`,
  )
  return finding('bookings', firstOf(details, mostNamed, '; '), 'their providers can hold all of them')
}

/** Records that a finding names; of more it tells how many. */
const mostNamed = 20

function zoneFinding(zones: ZoneData, now: number): Finding {
  return finding('zone data', zoneDataNote(zones, now), `${zones.edition}, ${zones.folder ?? 'built in'}`)
}

/** @param fault what is wrong; empty, false or null if nothing is, which is told in the other words */
function finding(check: string, fault: string | false | null, fine: string): Finding {
  return fault ? { check, state: 'bad', detail: fault } : { check, state: 'ok', detail: fine }
}
