import { Command, InvalidArgumentError } from 'commander'
import { answerTo } from '../http/errors'
import { requirePartner } from '../operations/find-records'
import { issueFirstToken, listTokens, rotateToken, verifyToken } from '../operations/tokens'
import { formatInstant, parseInstant } from '../scheduling/calendar'
import { confirm, printJson, printLine, printRecord, printTable } from './output'
import { presentTokens, tokenColumns } from './partner'
import { storageCommand, withContext } from './storage'

interface Flags {
  readonly cutover?: number
  readonly json?: boolean
  readonly yes?: boolean
}

/** `anteroom token`: what partners call the API with. A token is printed once and never again. */
export function tokenCommand(): Command {
  return new Command('token')
    .description('The tokens that partners call the API with')
    .addCommand(
      storageCommand('issue', 'Make the first token of a partner and print it, once')
        .argument('<partner>', 'name or id')
        .option('--json', 'print it as JSON')
        .action((named: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const partner = await requirePartner(context, named)
            printToken(await issueFirstToken(context, partner, context.clock.now()), flags)
          }),
        ),
    )
    .addCommand(
      storageCommand('rotate', 'Make a token that takes the place of the one in force, and print it, once')
        .argument('<partner>', 'name or id')
        .option(
          '--cutover <instant>',
          'when it starts and the other stops, in UTC; at once unless given',
          instant,
        )
        .option('--json', 'print it as JSON')
        .action((named: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const partner = await requirePartner(context, named)
            const now = context.clock.now()
            printToken(await rotateToken(context, partner, flags.cutover ?? now, now), flags)
          }),
        ),
    )
    .addCommand(
      storageCommand('revoke', "End a partner's token at once, and cancel one that waits for its cutover")
        .argument('<partner>', 'name or id')
        .option('--yes', 'do not ask')
        .action((named: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const { id, name } = await requirePartner(context, named)
            await confirm(`Revoke the token of ${name}?`, flags)
            await context.store.revokeKeys(id, context.clock.now())
            printLine(`The token of ${name} is revoked.`)
          }),
        ),
    )
    .addCommand(
      storageCommand('list', "List a partner's tokens, without the tokens themselves")
        .argument('<partner>', 'name or id')
        .option('--json', 'print them as JSON')
        .action((named: string, flags: Flags) =>
          withContext(flags, async (context) => {
            const partner = await requirePartner(context, named)
            const tokens = presentTokens(await listTokens(context, partner), context.clock.now())
            if (flags.json) printJson(tokens)
            else printTable(tokens, tokenColumns, 'There are no tokens.')
          }),
        ),
    )
    .addCommand(
      storageCommand('verify', 'Read a token on stdin and say what the API would answer, and why')
        .option('--json', 'print it as JSON')
        .action((flags: Flags) =>
          withContext(flags, async (context) => {
            const token = (await Bun.stdin.text()).trim()
            const { refusal, why, partner } = await verifyToken(context, token, context.clock.now())
            const status = refusal ? answerTo(refusal, 'UNKNOWN').status : 200
            const verdict = { status, code: refusal?.kind ?? null, why, partner }
            if (flags.json) printJson(verdict)
            else printRecord(verdict)
          }),
        ),
    )
}

function printToken(token: string, { json }: Flags): void {
  if (json) printJson({ token })
  else printLine(token)
}

function instant(text: string): number {
  const at = parseInstant(text)
  if (at === null) throw new InvalidArgumentError(`It must be a UTC instant as ${formatInstant(0)}.`)
  return at
}
