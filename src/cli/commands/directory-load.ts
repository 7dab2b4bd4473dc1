import { InvalidArgumentError } from 'commander'
import type { ChangeLimit, DirectoryLoad } from '../../domain/decisions/compare-directory'
import type { FieldChange, LoadDescription, Loss, RecordChange } from '../../domain/decisions/describe-load'
import type { LosableField } from '../../domain/decisions/directory-losses'
import type { LoadPreview } from '../../operations/directory-loads'
import { formatInstant } from '../../scheduling/calendar'
import { counted, firstOf, joined } from '../terminal/layout'
import { printNotice, type Text } from '../terminal/output'
import { absenceTexts } from '../terminal/persons'
import { type Columns, table } from '../terminal/table'

/** The text output shows at most this many entries of a list. --json shows all. */
const mostShown = 20
const mostAsked = 5

/** Parses --max-changes, for example `50` or `5%`. */
export function changeLimit(text: string): ChangeLimit {
  const [, digits, percent] = /^(\d{1,9})(%?)$/.exec(text) ?? []
  const limit = { most: Number(digits), isPercent: percent === '%' }
  if (digits !== undefined && !(limit.isPercent && limit.most > 100)) return limit
  throw new InvalidArgumentError(
    'It must be a whole number, for example 50, or a percentage from 0% to 100%.',
  )
}

export function loadQuestion(load: LoadDescription): string {
  const acts = [
    load.losses.length > 0 ? `remove ${joined(load.losses.map(lossText))}` : '',
    actOn('deactivate', load.deactivated),
    actOn('reactivate', load.reactivated),
    actOn('change the time zone of', { regions: [], providers: load.rezoned }),
  ].filter((act) => act !== '')
  const question = acts.join('; ')
  return `${question.charAt(0).toUpperCase()}${question.slice(1)}?`
}

function actOn(verb: string, records: LoadDescription['deactivated']): string {
  const shown = recordsText(records, mostAsked)
  return shown === '' ? '' : `${verb} ${shown}`
}

/** For example `2 providers (on-1, on-2) and 1 region (CA-ON)`. */
function recordsText({ regions, providers }: LoadDescription['deactivated'], most: number): string {
  return joined([
    ...(providers.length > 0
      ? [`${counted(providers.length, 'provider')} (${firstOf(providers, most)})`]
      : []),
    ...(regions.length > 0 ? [`${counted(regions.length, 'region')} (${firstOf(regions, most)})`] : []),
  ])
}

/** For example `3 licenses of 2 providers` or `working hours of 2 providers`. */
function lossText({ field, count, providers }: Loss): string {
  const what =
    field === 'workingHours' ? 'working hours' : `${count} ${lossNouns[field][count === 1 ? 0 : 1]}`
  return `${what} of ${counted(providers, 'provider')}`
}

const lossNouns: Record<Exclude<LosableField, 'workingHours'>, readonly [one: string, more: string]> = {
  licenses: ['license', 'licenses'],
  overrides: ['override', 'overrides'],
  timeOff: ['absence', 'absences'],
  modalities: ['modality', 'modalities'],
  inPersonRegions: ['in-person region', 'in-person regions'],
  languagesSpoken: ['language', 'languages'],
}

/** Warns if the load would remove all licenses or all working hours. Such files are probably incomplete. */
export function warnOfEmptied({ emptied }: LoadDescription): void {
  for (const list of emptied) {
    const what = list === 'licenses' ? 'a license' : 'working hours'
    printNotice(`warning: with these files, no provider has ${what}, so no provider can be found or booked`)
  }
}

/** @param isDone false for a preview */
export function loadText(done: DirectoryLoad, load: LoadPreview, isDone: boolean): Text {
  const stay = `Active in the files, but still suspended by staff: ${firstOf(load.staySuspended, mostShown)}.`
  const away = load.stayAway.map(({ ref, from, until }) => `${ref} from ${from} until ${until}`)
  return [
    changesText(done, load, isDone),
    load.staySuspended.length > 0 ? stay : [],
    away.length > 0 ? `Absences entered by staff that stay: ${firstOf(away, mostShown, '; ')}.` : [],
  ]
}

function changesText(done: DirectoryLoad, load: LoadPreview, isDone: boolean): Text {
  if (load.changes.length === 0) {
    return `Nothing to change: ${done.unchanged} regions and providers match the files.`
  }
  const rows = kinds.flatMap(([kind, before, after]) => rowsOf(load.changes, kind, isDone ? after : before))
  return [
    table(rows, loadColumns, ''),
    `Unchanged: ${done.unchanged}.`,
    totalsText(load, isDone),
    fieldsText(load.changes),
    displacedText(load),
  ]
}

const kinds = [
  ['added', 'to add', 'added'],
  ['changed', 'to change', 'changed'],
  ['deactivated', 'to deactivate', 'deactivated'],
] as const

interface LoadRow {
  readonly change: string
  readonly noun: string
  readonly refs: readonly string[]
}

const loadColumns: Columns<LoadRow> = {
  CHANGE: ({ change }) => change,
  COUNT: ({ refs, noun }) => counted(refs.length, noun),
  WHICH: ({ refs }) => firstOf(refs, mostShown),
}

function rowsOf(changes: readonly RecordChange[], kind: RecordChange['kind'], change: string): LoadRow[] {
  return (['region', 'provider'] as const)
    .map((noun) => {
      const matching = changes.filter((one) => one.kind === kind && one.noun === noun)
      return { change, noun, refs: matching.map(({ ref }) => ref) }
    })
    .filter(({ refs }) => refs.length > 0)
}

/** Lists the changed fields of each record. Records that lose data come first. */
function fieldsText(changes: readonly RecordChange[]): Text {
  const known = changes.filter(({ kind }) => kind !== 'added')
  const [losing, others] = [known.filter(isLosing), known.filter((change) => !isLosing(change))]
  const lines = [...losing, ...others]
    .slice(0, mostShown)
    .map(
      ({ ref, fields }) => `${ref}: ${fields.map(fieldText).join(', ') || 'was unreadable, is readable now'}`,
    )
  return [lines, moreText(known.length)]
}

function isLosing({ fields }: RecordChange): boolean {
  return fields.some((change) => ('lost' in change ? change.lost > 0 : change.field === 'active'))
}

function moreText(count: number): Text {
  return count > mostShown ? `and ${count - mostShown} more; --json lists all.` : []
}

/** For example `licenses -1`, `first name changed`, `active again`. */
function fieldText(change: FieldChange): string {
  const name = change.field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  if ('from' in change) return valueText(name, change)
  const { field, removed, added, lost } = change
  if (field === 'workingHours') return `${name} ${lost > 0 ? 'removed' : 'changed'}`
  const counts = [removed.length > 0 ? `-${removed.length}` : '', added.length > 0 ? `+${added.length}` : '']
  return `${name} ${counts.filter((count) => count !== '').join(' ') || 'reordered'}`
}

function valueText(name: string, { field, from, to }: Extract<FieldChange, { from: unknown }>): string {
  if (field === 'active') return to ? 'active again' : 'deactivated'
  if (field === 'timeZone' || field === 'minimumNoticeMinutes') return `${name} ${from} -> ${to}`
  return `${name} changed`
}

function totalsText({ losses, reactivated }: LoadDescription, isDone: boolean): Text {
  const back = recordsText(reactivated, mostShown)
  return [
    losses.length > 0 ? `${isDone ? 'Removed' : 'To remove'}: ${joined(losses.map(lossText))}.` : [],
    back === '' ? [] : `${isDone ? 'Reactivated' : 'To reactivate'}: ${back}.`,
  ]
}

type DisplacedBooking = LoadPreview['fallen'][number]

/** Lists booked sessions outside the new availability, soonest first, so that staff can call the members. */
function displacedText({ fallen }: LoadPreview): Text {
  if (fallen.length === 0) return []
  const [sessionsAre, stay] = fallen.length === 1 ? ['session is', 'stays'] : ['sessions are', 'stay']
  return [
    `${fallen.length} upcoming ${sessionsAre} outside the new availability, and ${stay} booked:`,
    table(soonestFirst(fallen).slice(0, mostShown), displacedColumns, ''),
    moreText(fallen.length),
  ]
}

function soonestFirst(fallen: readonly DisplacedBooking[]): DisplacedBooking[] {
  return fallen.toSorted((a, b) => a.startsAt - b.startsAt || a.requestId - b.requestId)
}

const displacedColumns: Columns<DisplacedBooking> = {
  REQUEST: ({ requestId }) => requestId,
  PROVIDER: ({ provider }) => provider,
  LOCAL: ({ local }) => local,
  'TIME ZONE': ({ timeZone }) => timeZone,
  WHY: ({ reason }) => absenceTexts[reason],
}

export function loadJson(dryRun: boolean, done: DirectoryLoad, load: LoadPreview): object {
  const { changes, losses, reactivated, emptied, staySuspended, stayAway, fallen } = load
  return {
    dryRun,
    ...done,
    reactivated: [...reactivated.regions, ...reactivated.providers],
    losses,
    emptied,
    staySuspended,
    stayAway,
    fallen: soonestFirst(fallen).map(({ startsAt, ...shown }) => ({
      ...shown,
      utcStartTime: formatInstant(startsAt),
    })),
    changes,
  }
}
