import { type Command, InvalidArgumentError, Option } from 'commander'
import { isAddress, networkOf } from '../domain/addresses'
import type { ActorSpan } from '../domain/decisions/affected'
import { Refusal } from '../domain/errors'
import type { Records } from '../operations/context'
import { requirePartner } from '../operations/find-records'
import { listAudit, noteAct } from '../operations/maintenance'
import { listAffected } from '../operations/members'
import { partnerNames } from '../operations/partners'
import { findUseDays } from '../operations/tokens'
import { formatInstant } from '../scheduling/calendar'
import { utcInstant } from './arguments'
import { type Call, json, recordsCommand, required } from './command'
import { counted, joined } from './terminal/layout'
import type { Answer } from './terminal/output'
import { type Columns, table } from './terminal/table'

export function affectedCommand(): Command {
  return recordsCommand({
    name: 'affected',
    description: 'List the members whose data a partner, operator or address has seen or changed',
    options: [
      required('--since <instant>', 'a UTC instant; from then on', utcInstant),
      ['--until <instant>', 'a UTC instant; before then (default: now)', utcInstant],
      new Option('--partner <partner>', 'by this partner; name or id').conflicts(['operator', 'address']),
      new Option('--operator <name>', 'by this operator: an account, or WHO of a line').conflicts('address'),
      new Option('--address <address>', 'by partners whose token this address used').argParser(callerAddress),
      json(),
    ],
    examples: [
      'anteroom audit affected --partner Lantern --since 2026-12-01T00:00:00Z --json > affected.json',
      'anteroom audit affected --operator olive --since 2026-12-01T00:00:00Z',
      'anteroom audit affected --address 203.0.113.7 --since 2026-12-01T00:00:00Z',
    ],
    run: affected,
  })
}

const mostPrunes = 1_000

interface Wish {
  readonly since: number
  readonly until?: number
  readonly partner?: string
  readonly operator?: string
  readonly address?: string
}

/** Also takes the /64 network of an IPv6 address, as in the audit log. */
function callerAddress(text: string): string {
  const address = text.replace(/\/64$/, '')
  if (isAddress(address)) return networkOf(address)
  throw new InvalidArgumentError('It must be an IP address, for example 203.0.113.7.')
}

async function affected({ context, flags, act }: Call<Records, Wish>): Promise<Answer> {
  const { spans, notes } = await spansOf(context, flags)
  // On PostgreSQL, this also stores the lines that wait in the queue.
  await noteAct(context, act(), 'audit.affected', null)
  const { members, erasedRequests, unnamed, actors } = await listAffected(context, spans)
  const names = await partnerNames(context)
  const rows = members.map(({ id, member, actions }) => {
    const partner = member && names.get(member.partnerId)
    return { id, partner, externalUserId: member?.externalUserId ?? null, actions: [...actions].sort() }
  })
  if (flags.operator !== undefined) notes.push(`Actors of the lines: ${[...actors].join('; ') || 'none'}.`)
  if (erasedRequests > 0) notes.push(`Also ${counted(erasedRequests, 'request')} of people who were erased.`)
  for (const [action, lines] of unnamed)
    notes.push(`The log names no member in ${counted(lines, 'line')} ${action}.`)
  if (unnamed.has('database.back-up')) notes.push('A backup contains every member.')
  const [oldest] = await listAudit(context, 1, { after: Number.MIN_SAFE_INTEGER })
  const prunes = await listAudit(context, mostPrunes, { actions: ['audit.prune'] })
  const isPruned = prunes.some(({ outcome }) => outcome === 'done')
  if (isPruned && oldest && oldest.at > flags.since) {
    notes.push(`Lines before ${formatInstant(oldest.at)} were pruned: search the archive too.`)
  }
  const columns: Columns<(typeof rows)[number]> = {
    MEMBER: ({ id }) => id,
    PARTNER: ({ partner }) => partner ?? 'erased',
    "PARTNER'S ID": ({ externalUserId }) => externalUserId,
    WHAT: ({ actions }) => actions.join(', '),
  }
  const text = [table(rows, columns, 'No member.'), '', `${counted(rows.length, 'member')}.`, ...notes]
  return { json: { members: rows, notes }, text }
}

/** Returns the lines to read, and notes that explain them. */
async function spansOf(
  context: Records,
  { since, until = context.clock.now(), partner, operator, address }: Wish,
): Promise<{ readonly spans: readonly ActorSpan[]; readonly notes: string[] }> {
  if (operator !== undefined) return { spans: [{ actor: null, operator, since, until }], notes: [] }
  if (partner !== undefined) {
    const { id } = await requirePartner(context, partner)
    return { spans: [{ actor: `partner ${id}`, since, until }], notes: [] }
  }
  if (address === undefined)
    throw new Refusal('settings_invalid', 'give one of --partner, --operator and --address')
  const days = await findUseDays(context, address, { since, until })
  const byToken = Map.groupBy(days, ({ actor, kid }) => `token ${kid ?? 'unknown'} of ${actor}`)
  const notes = [...byToken].map(([token, theirs]) => {
    const dates = new Set(theirs.map((day) => formatInstant(day.since).slice(0, 10)))
    return `${address} used ${token} on ${joined([...dates])}.`
  })
  if (days.length === 0) return { spans: [], notes: [`${address} used no token in this period.`] }
  notes.push(
    'Listed is all that the partner did on these days: the log does not say which calls came from there.',
  )
  return { spans: [...new Map(days.map((day) => [`${day.actor} ${day.since}`, day])).values()], notes }
}
