import { Command, InvalidArgumentError } from 'commander'
import type { AuditHead, AuditLine } from '../domain/audit'
import { formatInstant } from '../scheduling/calendar'
import { exitCodes } from './exit-code'
import { printJson, printLine, printTable } from './output'
import { storageCommand, withContext } from './storage'

interface Flags {
  readonly limit: number
  readonly head?: AuditHead
  readonly json?: boolean
}

const everyLine = Number.MAX_SAFE_INTEGER

/** `anteroom audit`: who did what to which record. */
export function auditCommand(): Command {
  return new Command('audit')
    .description('Who did what to which record, and when')
    .addCommand(
      storageCommand('list', 'List the newest lines, oldest first')
        .option('--limit <n>', 'at most so many', wholeNumber, 50)
        .option('--json', 'print them as JSON')
        .action((flags: Flags) =>
          withContext(flags, async ({ store }) => {
            const lines = await store.listAudit(flags.limit)
            if (flags.json) printJson(lines.map(present))
            else printTable(lines, columns, 'The log is empty.')
          }),
        ),
    )
    .addCommand(
      storageCommand('export', 'Print every line as JSON, a line each').action((flags: Flags) =>
        withContext(flags, async ({ store }) => {
          for (const line of await store.listAudit(everyLine)) printLine(JSON.stringify(present(line)))
        }),
      ),
    )
    .addCommand(
      storageCommand('head', 'Print where the log stands, to note elsewhere and verify later')
        .option('--json', 'print it as JSON')
        .action((flags: Flags) =>
          withContext(flags, async ({ store }) => {
            const head = await store.auditHead()
            if (flags.json) printJson(head)
            else printLine(formatHead(head))
          }),
        ),
    )
    .addCommand(
      storageCommand('verify', 'Check that no line was changed or removed')
        .option(
          '--head <head>',
          'a head that was noted before: finds lines cut off at the end too',
          parseHead,
        )
        .option('--json', 'print the verdict as JSON')
        .action((flags: Flags) =>
          withContext(flags, async ({ store }) => {
            const verdict = await store.verifyAudit(flags.head ?? null)
            if (flags.json) printJson(verdict)
            else if (verdict.intact) printLine(`The log is intact up to ${formatHead(verdict.head)}.`)
            else printLine(`The log is broken at line ${verdict.id}: ${verdict.fault}.`)
            if (!verdict.intact) process.exitCode = exitCodes.unhealthy
          }),
        ),
    )
}

const columns = [
  { title: 'LINE', value: ({ id }: AuditLine) => id },
  { title: 'AT', value: ({ at }: AuditLine) => formatInstant(at) },
  { title: 'WHO', value: ({ actor }: AuditLine) => actor },
  { title: 'WHAT', value: ({ action }: AuditLine) => action },
  { title: 'RECORD', value: ({ record }: AuditLine) => record },
  { title: 'OUTCOME', value: ({ outcome }: AuditLine) => outcome },
]

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

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1.')
  return Number(text)
}
