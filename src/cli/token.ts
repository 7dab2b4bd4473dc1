import type { Command } from 'commander'
import { answerTo } from '../http/errors'
import { issueFirstToken, listTokens, revokeToken, rotateToken, verifyToken } from '../operations/tokens'
import { utcInstant } from './arguments'
import {
  type CommonFlags,
  confirm,
  printJson,
  printLine,
  printRecord,
  printResult,
  printRows,
} from './output'
import { onPartner, type PartnerCall, presentTokens, tokenColumns } from './partner'
import { asJson, asking, commandGroup } from './record-command'
import { storageCommand, withContext } from './storage'

/** `anteroom token`: what partners call the API with. A token is printed once and never again. */
export function tokenCommand(): Command {
  return commandGroup('token', 'The tokens that partners call the API with', [
    asJson(onPartner('issue', 'Make the first token of a partner and print it, once', issue)),
    onPartner('rotate', 'Make a token that takes the place of the one in force, and print it, once', rotate)
      .option(
        '--cutover <instant>',
        'when it starts and the other stops, in UTC; at once unless given',
        utcInstant,
      )
      .option('--json', 'print it as JSON'),
    asking(
      onPartner('revoke', "End a partner's token at once, and cancel one that waits for its cutover", revoke),
    ),
    asJson(
      onPartner('list', "List a partner's tokens, without the tokens themselves", list),
      'print them as JSON',
    ),
    storageCommand('verify', 'Read a token on stdin and say what the API would answer, and why')
      .option('--json', 'print it as JSON')
      .action(verify),
  ])
}

async function issue({ context, record, act, flags }: PartnerCall): Promise<void> {
  const token = await issueFirstToken(context, record, act())
  printResult(flags, { token }, token)
}

interface RotateFlags extends CommonFlags {
  readonly cutover?: number
}

async function rotate({ context, record, act, flags }: PartnerCall<RotateFlags>): Promise<void> {
  const now = act()
  const token = await rotateToken(context, record, flags.cutover ?? now.at, now)
  printResult(flags, { token }, token)
}

async function revoke({ context, record, act, flags }: PartnerCall): Promise<void> {
  await confirm(`Revoke the token of ${record.name}?`, flags)
  await revokeToken(context, record, act())
  printLine(`The token of ${record.name} is revoked.`)
}

async function list({ context, record, flags }: PartnerCall): Promise<void> {
  const tokens = presentTokens(await listTokens(context, record), context.clock.now())
  printRows(flags, tokens, tokenColumns, 'There are no tokens.')
}

function verify(flags: CommonFlags): Promise<void> {
  return withContext(flags, async (context) => {
    const token = (await Bun.stdin.text()).trim()
    const { refusal, why, partner } = await verifyToken(context, token, context.clock.now())
    const status = refusal ? answerTo(refusal, 'UNKNOWN').status : 200
    const verdict = { status, code: refusal?.kind ?? null, why, partner }
    if (flags.json) printJson(verdict)
    else printRecord(verdict)
  })
}
