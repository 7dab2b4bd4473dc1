import { type Command, InvalidArgumentError } from 'commander'
import type { AuditHead, AuditLine } from '../domain/audit'
import { auditHead, listAudit, verifyAudit } from '../operations/upkeep'
import { formatInstant } from '../scheduling/calendar'
import { wholeNumber } from './arguments'
import { exitCodes } from './exit-code'
import { type Columns, type CommonFlags, columnsOf, printJson, printResult, printTable } from './output'
import { commandGroup } from './record-command'
import { storageCommand, withRecords } from './storage'

/** `anteroom audit`: who did what to which record. */
export function auditCommand(): Command {
  return commandGroup('audit', 'Who did what to which record, and when', [
    storageCommand('list', 'List the newest lines, oldest first')
      .option('--limit <n>', 'at most so many', wholeNumber(1), 50)
      .option('--json', 'print them as JSON')
      .action(list),
    storageCommand('export', 'Print every line as JSON, a line each').action(exportAll),
    storageCommand('head', 'Print where the log stands, to note elsewhere and verify later')
      .option('--json', 'print it as JSON')
      .action(head),
    storageCommand('verify', 'Check that no line was changed or removed')
      .option('--head <head>', 'a head that was noted before: finds lines cut off at the end too', parseHead)
      .option('--json', 'print the verdict as JSON')
      .action(verify),
  ])
}

function list(flags: CommonFlags & { readonly limit: number }): Promise<void> {
  return withRecords(flags, async (records) => {
    const lines = await listAudit(records, flags.limit)
    if (flags.json) printJson(lines.map(present))
    else printTable(lines, columns, 'The log is empty.')
  })
}

function exportAll(flags: CommonFlags): Promise<void> {
  return withRecords(flags, async (records) => {
    for (const line of await listAudit(records)) printJson(present(line), 0)
  })
}

function head(flags: CommonFlags): Promise<void> {
  return withRecords(flags, async (records) => {
    const newest = await auditHead(records)
    printResult(flags, newest, formatHead(newest))
  })
}

function verify(flags: CommonFlags & { readonly head?: AuditHead }): Promise<void> {
  return withRecords(flags, async (records) => {
    const verdict = await verifyAudit(records, flags.head ?? null)
    const found = verdict.intact
      ? `The log is intact up to ${formatHead(verdict.head)}.`
      : `The log is broken at line ${verdict.id}: ${verdict.fault}.`
    printResult(flags, verdict, found)
    if (!verdict.intact) process.exitCode = exitCodes.unhealthy
  })
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
