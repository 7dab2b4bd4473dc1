import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  type AuditAction,
  type AuditFilter,
  type AuditHead,
  type AuditLine,
  auditActions,
} from '../../domain/audit'
import { Refusal } from '../../domain/errors'
import type { Records } from '../../operations/context'
import { findMemberRecords, requirePartner, subjectsOfPartner } from '../../operations/find-records'
import {
  auditHead,
  listAudit,
  matchingLines,
  pruneAudit,
  requirePrunable,
  verifyHeads,
} from '../../operations/maintenance'
import { formatInstant } from '../../scheduling/calendar'
import { affectedCommand } from '../affected'
import { auditRecord, fileName, recordId, utcInstant, wholeNumber } from '../arguments'
import { type Call, commandGroup, json, recordsCommand, required, yes } from '../command'
import { exitCodes } from '../exit-code'
import { counted, type GiveWay } from '../terminal/layout'
import { type Answer, printJsonLine, printNotice, type Text } from '../terminal/output'
import { confirm } from '../terminal/question'
import { type Columns, columnsOf, table } from '../terminal/table'

export function auditCommand(): Command {
  return commandGroup('audit', [
    recordsCommand({
      name: 'list',
      description: 'List the newest matching lines, oldest first',
      options: [
        ['--since <instant>', 'only lines at this UTC instant or later', utcInstant],
        ['--until <instant>', 'only lines before this UTC instant', utcInstant],
        ['--actor <actor>', 'only actions of this actor, named as in the WHO column'],
        ['--action <action>', 'only actions such as request.show,member.show; repeatable', auditActionNames],
        ['--record <record>', 'only lines about this record, for example "partner 3"', auditRecord],
        new Option('--partner <partner>', 'only lines by or about this partner; name or id').conflicts([
          'record',
          'actor',
          'member',
        ]),
        new Option('--member <id>', 'only lines about this member and their requests')
          .argParser(recordId)
          .conflicts('record'),
        ['--limit <n>', 'the maximum number of lines', wholeNumber(1, 10_000), 50],
        ['--after <line>', 'the next page: lines after this line id', wholeNumber(0)],
        json(),
      ],
      examples: [
        "anteroom audit list --record 'request 42' --action request.read-screening",
        'anteroom audit list --member 42 --since 2026-12-01T00:00:00Z',
        'anteroom audit list --partner Lantern --action authentication.refuse',
      ],
      run: list,
    }),
    recordsCommand({
      name: 'export',
      description: 'Print all lines as JSON, one per line',
      examples: ['anteroom audit export > audit.jsonl'],
      async run({ context }) {
        for await (const line of matchingLines(context, {})) await printJsonLine(presentLine(line))
      },
    }),
    recordsCommand({
      name: 'head',
      description: 'Print the id and hash of the newest line; keep them elsewhere to verify the log later',
      options: [json()],
      examples: ['anteroom audit head'],
      async run({ context }) {
        const newest = await auditHead(context)
        return { json: newest, text: formatHead(newest) }
      },
    }),
    affectedCommand(),
    recordsCommand({
      name: 'verify',
      description: 'Check that no line was changed, added or removed',
      options: [
        ['--head <head>', 'an earlier audit head; also detects if an older database was restored', parseHead],
        new Option('--heads <file>', 'a log of serve: compare each audit head in it')
          .argParser(fileName)
          .conflicts(['head', 'archive']),
        ['--archive <file>', 'an archive of pruned lines to check, instead of the log'],
        json(),
      ],
      examples: ['anteroom audit verify'],
      run: verify,
    }),
    recordsCommand({
      name: 'prune',
      description: 'Move old lines from the log to an archive file',
      options: [
        json(),
        yes,
        required('--before <instant>', 'a UTC instant; only older lines are moved', utcInstant),
        required('--output <file>', 'the archive file to create; only its owner can read it', fileName),
        ['--refusals', 'move only refused authentications (default: move all other lines)'],
        ['--force', 'move lines younger than six years too'],
      ],
      examples: ['anteroom audit prune --before 2020-01-01T00:00:00Z --output 2019.jsonl'],
      run: prune,
    }),
  ])
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
  const found = await listAudit(context, limit + 1, { since, until, actor, record, after, actions, anyOf })
  const lines = after === undefined ? found.slice(-limit) : found.slice(0, limit)
  // Reads of answers are listed even if they are older than the newest lines.
  const wish = { since, until, actor, after, anyOf, actions: [answersRead] }
  const isWanted = member && (!actions || actions.includes(answersRead))
  const answers = isWanted ? await listAudit(context, limit, wish) : []
  if (member?.isErased && !flags.json) {
    printNotice(`member ${memberId} was erased, so lines about their requests can no longer be found`)
  }
  // OUTCOME is never hidden, because a refused action must not look like a successful one.
  const leaveOut = record !== undefined || member ? ['RECORD', 'WHO'] : ['WHO', 'RECORD']
  const more =
    after === undefined ? olderLines : `There are more lines. Show them with --after ${lines.at(-1)?.id}.`
  return {
    json: lines.map(presentLine),
    text: [
      isWanted
        ? [table(answers, columns, 'In these lines, no one has read the answers.', { leaveOut }), '']
        : [],
      member ? sumsOf(lines, { leaveOut }) : table(lines, columns, 'No lines.', { leaveOut }),
      lines.length > 0 ? ['', summary(lines)] : [],
      found.length > limit ? more : [],
    ],
  }
}

const answersRead: AuditAction = 'request.read-screening'

/** Sums up the lines that read no answers, by actor, action, record and outcome. */
function sumsOf(lines: readonly AuditLine[], giveWay: GiveWay): Text {
  const others = lines.filter(({ action }) => action !== answersRead)
  const alike = Map.groupBy(others, (line) => [line.actor, line.action, line.record, line.outcome].join())
  const sums = [...alike.values()].map((group) => ({ ...(group.at(-1) as AuditLine), times: group.length }))
  const { LINE: _, AT, ...rest } = columns
  const last = { LAST: AT as Columns<AuditLine>[string] }
  const ofSums = { ...columnsOf<(typeof sums)[number]>('times'), ...last, ...rest }
  return table(sums, ofSums, 'No other lines.', giveWay)
}

const olderLines = 'There are older lines. Show them with a larger --limit, or with --until.'

/** For example `3 lines, by operator olive: 2, partner 1: 1.` */
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

const mostActors = 5

async function verify(call: Call<Records, { head?: AuditHead; heads?: string; archive?: string }>) {
  const { context, flags } = call
  const { maintenance } = context
  const { head: noted = null, heads, archive } = flags
  const what = archive === undefined ? 'The log' : 'The archive'
  const { verdict, agreement = '' } =
    heads !== undefined
      ? await verifyLogged(context, heads)
      : archive !== undefined
        ? { verdict: await maintenance.checkArchive(archive, noted) }
        : { verdict: await maintenance.verifyAudit(noted) }
  if (!verdict.intact) {
    process.exitCode = exitCodes.unhealthy
    return { json: verdict, text: `${what} is broken at line ${verdict.id}: ${verdict.fault}.` }
  }
  const found =
    'archive' in verdict
      ? `, from after line ${verdict.archive.start.id} to ${formatHead(verdict.archive.head)}; ${verdict.next}`
      : ` up to ${formatHead(verdict.head)}${agreement}`
  return { json: verdict, text: `${what} is intact${found}.` }
}

const [loggedHead, headLength] = [/audit head (\d{1,15}:[0-9a-f]{64})/g, 100]

/** Each head in the log of `serve`, as text or JSON. */
async function verifyLogged(context: Records, file: string) {
  const heads = new Map<string, AuditHead>()
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of Bun.file(file).stream()) {
    // A head may lie in two chunks.
    text = text.slice(-headLength) + decoder.decode(bytes, { stream: true })
    for (const [, head = ''] of text.matchAll(loggedHead)) heads.set(head, parseHead(head))
  }
  if (heads.size === 0) throw new Refusal('field_invalid', `--heads: ${file} contains no audit head`)
  const { verdict, pruned } = await verifyHeads(context, [...heads.values()])
  const found = `, and agrees with ${counted(heads.size - pruned, 'head')}`
  const gone = pruned > 0 ? `; the lines of ${counted(pruned, 'head')} were pruned` : ''
  return { verdict, agreement: found + gone }
}

interface PruneFlags {
  readonly before: number
  readonly output: string
  readonly refusals?: boolean
  readonly force?: boolean
}

async function prune({ context, flags, act }: Call<Records, PruneFlags>): Promise<Answer> {
  const { before, output: target, refusals = false, force } = flags
  const what = refusals ? 'refused authentications' : 'audit lines'
  const pruned = { chain: refusals ? 'refusals' : 'acts', before, target } as const
  requirePrunable(pruned, context.clock.now(), force)
  await confirm(`Move the ${what} before ${formatInstant(before)} from the log to ${target}?`, flags)
  const count = await pruneAudit(context, pruned, act(), force)
  const line =
    count === 0
      ? `There are no ${what} before ${formatInstant(before)}. Nothing was changed.`
      : `Moved ${counted(count, 'line')} to ${target}. Keep this file; check it with anteroom audit verify --archive.`
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
    throw new InvalidArgumentError('It must be an output of anteroom audit head.')
  return { id: Number(id), hash }
}

/** @param before the actions of the --action options before this one */
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
