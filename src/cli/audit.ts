import { type Command, InvalidArgumentError } from 'commander'
import type { AuditHead, AuditLine } from '../domain/audit'
import type { Records } from '../operations/context'
import { auditHead, listAudit, verifyAudit } from '../operations/upkeep'
import { formatInstant } from '../scheduling/calendar'
import { wholeNumber } from './arguments'
import { asJson, type Call, commandGroup, recordsCommand } from './command'
import { exitCodes } from './exit-code'
import { type Columns, columnsOf, printJson, printResult, printTable } from './output'

/** `anteroom audit`: who did what to which record. */
export function auditCommand(): Command {
  return commandGroup('audit', 'Who did what to which record, and when', [
    recordsCommand('list', 'List the newest lines, oldest first', list)
      .option('--limit <n>', 'at most so many', wholeNumber(1), 50)
      .option('--json', 'print them as JSON'),
    recordsCommand('export', 'Print every line as JSON, a line each', exportAll),
    asJson(recordsCommand('head', 'Print where the log stands, to note elsewhere and verify later', head)),
    recordsCommand('verify', 'Check that no line was changed or removed', verify)
      .option('--head <head>', 'a head that was noted before: finds lines cut off at the end too', parseHead)
      .option('--json', 'print the verdict as JSON'),
  ])
}

async function list({ context, flags }: Call<Records, { limit: number }>): Promise<void> {
  const lines = await listAudit(context, flags.limit)
  if (flags.json) printJson(lines.map(present))
  else printTable(lines, columns, 'The log is empty.')
}

async function exportAll({ context }: Call<Records>): Promise<void> {
  for (const line of await listAudit(context)) printJson(present(line), 0)
}

async function head({ context, flags }: Call<Records>): Promise<void> {
  const newest = await auditHead(context)
  printResult(flags, newest, formatHead(newest))
}

async function verify({ context, flags }: Call<Records, { head?: AuditHead }>): Promise<void> {
  const verdict = await verifyAudit(context, flags.head ?? null)
  const found = verdict.intact
    ? `The log is intact up to ${formatHead(verdict.head)}.`
    : `The log is broken at line ${verdict.id}: ${verdict.fault}.`
  printResult(flags, verdict, found)
  if (!verdict.intact) process.exitCode = exitCodes.unhealthy
}

const columns: Columns<AuditLine> = {
  LINE: ({ id }) => id,
  AT: ({ at }) => formatInstant(at),
  WHO: ({ actor }) => actor,
  WHAT: ({ action }) => action,
  ...columnsOf('record', 'outcome'),
}

function present(line: AuditLine) {
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
