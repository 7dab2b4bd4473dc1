import { InvalidArgumentError } from 'commander'
import type { ChangeLimit, DirectoryLoad } from '../../domain/decisions/compare-directory'
import type { FieldChange, LoadDescription, Loss, RecordChange } from '../../domain/decisions/describe-load'
import type { LosableField } from '../../domain/decisions/directory-losses'
import type { LoadForetold } from '../../operations/directory-loads'
import { formatInstant } from '../../scheduling/calendar'
import { counted, firstOf, joined } from '../terminal/layout'
import { type Columns, printLines, printNotice, printTable } from '../terminal/output'
import { absenceTexts } from '../terminal/persons'

/** How much of what is many is shown: the rest is told as so many more, and by --json. */
const mostShown = 20
/** The same in a question, which stands below what is shown. */
const mostAsked = 5

/** How many records a load may change, from the words of a command: `50`, `5%`. */
export function changeLimit(text: string): ChangeLimit {
  const [, digits, percent] = /^(\d{1,9})(%?)$/.exec(text) ?? []
  const limit = { most: Number(digits), isPercent: percent === '%' }
  if (digits !== undefined && !(limit.isPercent && limit.most > 100)) return limit
  throw new InvalidArgumentError('It must be a whole number, as 50, or a share from 0% to 100%.')
}

/** What is asked before a load that takes something away, shifts hours or brings somebody back. */
export function loadQuestion(load: LoadDescription): string {
  const acts = [
    load.losses.length > 0 ? `take away ${joined(load.losses.map(lossText))}` : '',
    actOn('deactivate', load.deactivated),
    actOn('reactivate', load.reactivated),
    actOn('change the time zone of', { regions: [], providers: load.rezoned }),
  ].filter((act) => act !== '')
  const question = acts.join('; ')
  return `${question.charAt(0).toUpperCase()}${question.slice(1)}?`
}

function actOn(verb: string, records: LoadDescription['deactivated']): string {
  const told = recordsText(records, mostAsked)
  return told === '' ? '' : `${verb} ${told}`
}

/** As `2 providers (on-1, on-2) and 1 region (CA-ON)`. */
function recordsText({ regions, providers }: LoadDescription['deactivated'], most: number): string {
  return joined([
    ...(providers.length > 0
      ? [`${counted(providers.length, 'provider')} (${firstOf(providers, most)})`]
      : []),
    ...(regions.length > 0 ? [`${counted(regions.length, 'region')} (${firstOf(regions, most)})`] : []),
  ])
}

/** What is lost, as `3 licenses of 2 providers` or `working hours of 2 providers`. */
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

/** Tells loudly what no export that is whole would take away. */
export function warnOfEmptied({ emptied }: LoadDescription): void {
  for (const list of emptied) {
    const what = list === 'licenses' ? 'a license' : 'working hours'
    printNotice(`WARNING: these files leave no provider with ${what}, so nobody can be found or booked`)
  }
}

/** Shows what a load changes, which is done or not. */
export function printLoad(done: DirectoryLoad, load: LoadForetold, isDone: boolean): void {
  if (load.changes.length === 0) {
    printLines(`Nothing to change: ${done.unchanged} regions and providers are as the files say.`)
  } else {
    const rows = kinds.flatMap(([kind, before, after]) => rowsOf(load.changes, kind, isDone ? after : before))
    printTable(rows, loadColumns, '')
    printLines(`Unchanged: ${done.unchanged}.`)
    printTotals(load, isDone)
    printFields(load.changes)
    printFallen(load)
  }
  if (load.staySuspended.length > 0) {
    printLines(
      `Suspended by staff, and stay so though the files say active: ${firstOf(load.staySuspended, mostShown)}.`,
    )
  }
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

/** The records that one thing is done to: regions and providers apart. */
function rowsOf(changes: readonly RecordChange[], kind: RecordChange['kind'], change: string): LoadRow[] {
  return (['region', 'provider'] as const)
    .map((noun) => {
      const those = changes.filter((one) => one.kind === kind && one.noun === noun)
      return { change, noun, refs: those.map(({ ref }) => ref) }
    })
    .filter(({ refs }) => refs.length > 0)
}

/** Field by field what changes, of those first who lose something. */
function printFields(changes: readonly RecordChange[]): void {
  const told = changes.filter(({ kind }) => kind !== 'added')
  const [losing, others] = [told.filter(isLosing), told.filter((change) => !isLosing(change))]
  for (const change of [...losing, ...others].slice(0, mostShown)) {
    printLines(
      `${change.ref}: ${change.fields.map(fieldText).join(', ') || 'could not be read, and is mended'}`,
    )
  }
  printMore(told.length)
}

function isLosing({ fields }: RecordChange): boolean {
  return fields.some((change) => ('lost' in change ? change.lost > 0 : change.field === 'active'))
}

function printMore(count: number): void {
  if (count > mostShown) printLines(`and ${count - mostShown} more; --json tells all.`)
}

/** As `licenses -1`, `first name changed`, `active again`. */
function fieldText(change: FieldChange): string {
  const name = change.field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  if ('from' in change) return valueText(name, change)
  const { field, removed, added, lost } = change
  if (field === 'workingHours') return `${name} ${lost > 0 ? 'taken away' : 'changed'}`
  const counts = [removed.length > 0 ? `-${removed.length}` : '', added.length > 0 ? `+${added.length}` : '']
  return `${name} ${counts.filter((count) => count !== '').join(' ') || 'in another order'}`
}

/** Short values are shown, others named. */
function valueText(name: string, { field, from, to }: Extract<FieldChange, { from: unknown }>): string {
  if (field === 'active') return to ? 'active again' : 'deactivated'
  if (field === 'timeZone' || field === 'minimumNoticeMinutes') return `${name} ${from} -> ${to}`
  return `${name} changed`
}

/** All that is taken away, and all who come back, whether or not they are among those shown. */
function printTotals({ losses, reactivated }: LoadDescription, isDone: boolean): void {
  if (losses.length > 0) printLines(`${isDone ? 'Taken' : 'To take'} away: ${joined(losses.map(lossText))}.`)
  const back = recordsText(reactivated, mostShown)
  if (back !== '') printLines(`${isDone ? 'Reactivated' : 'To reactivate'}: ${back}.`)
}

type Fallen = LoadForetold['fallen'][number]

/** The sessions that fall outside, soonest first: somebody has to call these people. */
function printFallen({ fallen }: LoadForetold): void {
  if (fallen.length === 0) return
  const [falls, stays] = fallen.length === 1 ? ['falls', 'stays'] : ['fall', 'stay']
  printLines(`${counted(fallen.length, 'session')} to come ${falls} outside, and ${stays} booked:`)
  printTable(inOrder(fallen).slice(0, mostShown), fallenColumns, '')
  printMore(fallen.length)
}

function inOrder(fallen: readonly Fallen[]): Fallen[] {
  return fallen.toSorted((a, b) => a.startsAt - b.startsAt || a.requestId - b.requestId)
}

const fallenColumns: Columns<Fallen> = {
  REQUEST: ({ requestId }) => requestId,
  PROVIDER: ({ provider }) => provider,
  LOCAL: ({ local }) => local,
  'TIME ZONE': ({ timeZone }) => timeZone,
  WHY: ({ reason }) => absenceTexts[reason],
}

/** A load as JSON: all of it. */
export function loadJson(dryRun: boolean, done: DirectoryLoad, load: LoadForetold): object {
  const { changes, losses, reactivated, emptied, staySuspended, fallen } = load
  return {
    dryRun,
    ...done,
    reactivated: [...reactivated.regions, ...reactivated.providers],
    losses,
    emptied,
    staySuspended,
    fallen: inOrder(fallen).map(({ startsAt, ...told }) => ({
      ...told,
      utcStartTime: formatInstant(startsAt),
    })),
    changes,
  }
}
