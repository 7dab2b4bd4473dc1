import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  type AuditAction,
  type AuditFilter,
  type AuditHead,
  type AuditLine,
  auditActions,
} from '../../domain/audit'
import type { Records } from '../../operations/context'
import { findMemberRecords, requirePartner, subjectsOfPartner } from '../../operations/find-records'
import {
  auditHead,
  checkArchive,
  everyAuditLine,
  listAudit,
  pruneAudit,
  verifyAudit,
} from '../../operations/maintenance'
import { formatInstant } from '../../scheduling/calendar'
import { auditRecord, fileName, recordId, utcInstant, wholeNumber } from '../arguments'
import { type Call, commandGroup, json, recordsCommand, required, yes } from '../command'
import { exitCodes } from '../exit-code'
import { counted } from '../terminal/layout'
import { type Answer, printJsonLine, printNotice } from '../terminal/output'
import { confirm } from '../terminal/question'
import { type Columns, columnsOf, table } from '../terminal/table'

/** `anteroom audit`: who did what to which record. */
export function auditCommand(): Command {
  return commandGroup('audit', [
    listCommand(),
    recordsCommand({
      name: 'export',
      description: 'Print every line as JSON, a line each',
      examples: ['anteroom audit export > audit.jsonl'],
      run: exportLines,
    }),
    recordsCommand({
      name: 'head',
      description: 'Print where the log stands, to note elsewhere and verify later',
      options: [json()],
      examples: ['anteroom audit head'],
      run: head,
    }),
    verifyCommand(),
    recordsCommand({
      name: 'prune',
      description: 'Move old lines to an archive',
      options: [
        json(),
        yes,
        required('--before <instant>', 'the lines up to the first that is not older', utcInstant),
        required('--output <file>', 'the archive: a new file, which its owner alone can read', fileName),
        ['--refusals', 'the refused authentications, and otherwise all lines but those'],
      ],
      examples: ['anteroom audit prune --before 2025-01-01T00:00:00Z --output 2024.jsonl'],
      run: prune,
    }),
  ])
}

function verifyCommand(): Command {
  return recordsCommand({
    name: 'verify',
    description: 'Check that no line was changed, added or removed',
    options: [
      ['--head <head>', 'a head that was noted before: finds an older database put back, too', parseHead],
      ['--archive <file>', 'check this archive of pruned lines instead, and that the log goes on from it'],
      json('print the verdict as JSON'),
    ],
    examples: ['anteroom audit verify'],
    run: verify,
  })
}

function listCommand(): Command {
  return recordsCommand({
    name: 'list',
    description: 'List the newest lines that fit, oldest first',
    options: [
      ['--since <instant>', 'only lines from this UTC instant on', utcInstant],
      ['--until <instant>', 'only lines before this UTC instant', utcInstant],
      ['--actor <actor>', 'only what this one did, as the lines name them'],
      [
        '--action <action>',
        'only what was done so, as request.show; several with commas, or given again',
        auditActionNames,
      ],
      ['--record <record>', 'only lines about this record, as "partner 3"', auditRecord],
      new Option(
        '--partner <partner>',
        'only what this one did, and what was done about it: name or id',
      ).conflicts(['record', 'actor', 'member']),
      new Option(
        '--member <id>',
        'who has seen this person: lines about them and about each of their requests',
      )
        .argParser(recordId)
        .conflicts('record'),
      ['--limit <n>', 'at most so many', wholeNumber(1, 10_000), 50],
      ['--after <line>', 'not the newest, but the first behind this line: the next page', wholeNumber(0)],
      json('print them as JSON'),
    ],
    examples: [
      "anteroom audit list --record 'request 42' --action request.read-screening",
      'anteroom audit list --member 42 --since 2026-12-01T00:00:00Z',
      'anteroom audit list --partner Lantern --action authentication.refuse',
    ],
    run: list,
  })
}

interface ListFlags extends Pick<AuditFilter, 'since' | 'until' | 'actor' | 'record' | 'after'> {
  readonly limit: number
  readonly action?: readonly AuditAction[]
  readonly partner?: string
  readonly member?: number
}

async function list({ context, flags }: Call<Records, ListFlags>): Promise<Answer> {
  const { since, until, actor, record, after, action: actions, limit, member: memberId } = flags
  const partner = flags.partner === undefined ? null : await requirePartner(context, flags.partner)
  const member = memberId === undefined ? null : await findMemberRecords(context, memberId)
  const anyOf = partner ? subjectsOfPartner(partner) : member?.records.map((one) => ({ record: one }))
  // One line more than is shown: its presence means there are more.
  const found = await listAudit(context, limit + 1, { since, until, actor, record, after, actions, anyOf })
  const lines = after === undefined ? found.slice(-limit) : found.slice(0, limit)
  if (member?.isErased && !flags.json) {
    printNotice(
      `member ${memberId} was erased: which requests were theirs is no longer known, nor who read those`,
    )
  }
  // OUTCOME always stays: a refused act must not look like one that was carried out.
  const leaveOut = record !== undefined || member ? ['RECORD', 'WHO'] : ['WHO', 'RECORD']
  const more = after === undefined ? olderLines : `More: --after ${lines.at(-1)?.id}`
  return {
    json: lines.map(presentLine),
    text: [
      table(lines, columns, 'No lines.', { leaveOut }),
      lines.length > 0 ? ['', summary(lines)] : [],
      found.length > limit ? more : [],
    ],
  }
}

const olderLines = 'There are older ones: a larger --limit or --until shows them.'

/** As `3 lines, by operator olive: 2, partner 1: 1.` */
function summary(lines: readonly AuditLine[]): string {
  const byActor = [...Map.groupBy(lines, ({ actor }) => actor)].map(
    ([actor, theirs]) => [actor, theirs.length] as const,
  )
  const sorted = byActor.toSorted(([, one], [, other]) => other - one)
  const who = sorted.slice(0, mostActors).map(([actor, count]) => `${actor}: ${count}`)
  const others = sorted.length - who.length
  const all = others > 0 ? [...who, `others: ${others}`] : who
  return `${counted(lines.length, 'line')}, by ${all.join(', ')}.`
}

/** The most actors that a summary names. */
const mostActors = 5

async function exportLines({ context }: Call<Records>): Promise<undefined> {
  for await (const line of everyAuditLine(context)) await printJsonLine(presentLine(line))
}

async function head({ context }: Call<Records>): Promise<Answer> {
  const newest = await auditHead(context)
  return { json: newest, text: formatHead(newest) }
}

async function verify({
  context,
  flags,
}: Call<Records, { head?: AuditHead; archive?: string }>): Promise<Answer> {
  const { head: noted = null, archive } = flags
  const [verdict, found] =
    archive === undefined ? await verifyLog(context, noted) : await verifyArchive(context, archive, noted)
  if (!verdict.intact) process.exitCode = exitCodes.unhealthy
  const text = verdict.intact ? found : `${found} is broken at line ${verdict.id}: ${verdict.fault}.`
  return { json: verdict, text }
}

async function verifyLog(context: Records, noted: AuditHead | null) {
  const verdict = await verifyAudit(context, noted)
  if (!verdict.intact) return [verdict, 'The log'] as const
  return [verdict, `The log is intact up to ${formatHead(verdict.head)}.`] as const
}

async function verifyArchive(context: Records, file: string, noted: AuditHead | null) {
  const verdict = await checkArchive(context, file, noted)
  if (!verdict.intact) return [verdict, 'The archive'] as const
  const { archive, next } = verdict
  const lines = `behind line ${archive.start.id} up to ${formatHead(archive.head)}`
  return [verdict, `The archive is intact, ${lines}; ${next}.`] as const
}

interface PruneFlags {
  readonly before: number
  readonly output: string
  readonly refusals?: boolean
}

async function prune({ context, flags, act }: Call<Records, PruneFlags>): Promise<Answer> {
  const { before, output: target, refusals = false } = flags
  const what = refusals ? 'refused authentications' : 'audit lines'
  await confirm(`Move the ${what} before ${formatInstant(before)} from the log to ${target}?`, flags)
  const count = await pruneAudit(context, { chain: refusals ? 'refusals' : 'acts', before, target }, act())
  const line =
    count === 0
      ? `There are no ${what} before ${formatInstant(before)}; nothing was changed.`
      : `Moved ${count} ${what} to ${target}. Keep it: audit verify --archive checks it.`
  return { json: { moved: count, archive: count === 0 ? null : target }, text: line }
}

const columns: Columns<AuditLine> = {
  LINE: ({ id }) => id,
  AT: ({ at }) => formatInstant(at),
  WHO: ({ actor }) => actor,
  WHAT: ({ action }) => action,
  ...columnsOf('record', 'outcome'),
}

function presentLine(line: AuditLine) {
  return { ...line, at: new Date(line.at).toISOString() }
}

function formatHead({ id, hash }: AuditHead): string {
  return `${id}:${hash}`
}

function parseHead(text: string): AuditHead {
  const [, id, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (id === undefined || hash === undefined)
    throw new InvalidArgumentError('It must be what audit head prints.')
  return { id: Number(id), hash }
}

/** The actions of an option that may be repeated. */
function auditActionNames(text: string, before: readonly AuditAction[] = []): readonly AuditAction[] {
  const named = text.split(',').map((word) => requireAction(word.trim()))
  return [...new Set([...before, ...named])]
}

function requireAction(word: string): AuditAction {
  const found = auditActions.find((known) => known === word)
  if (found) return found
  const [noun = ''] = word.split('.')
  const near = auditActions.filter((known) => known.startsWith(`${noun}.`))
  const known = near.length > 0 ? near : auditActions
  throw new InvalidArgumentError(`It must be one of ${known.join(', ')}.`)
}
