import type { Command } from 'commander'
import type { Partner } from '../domain/partner'
import { answerTo } from '../http/errors'
import type { Context, Records } from '../operations/context'
import { issueFirstToken, listTokens, revokeToken, rotateToken, verifyToken } from '../operations/tokens'
import { utcInstant } from './arguments'
import {
  type Flags as CommonFlags,
  confirm,
  printJson,
  printLine,
  printRecord,
  printResult,
  printRows,
} from './output'
import { onPartner, presentTokens, tokenColumns } from './partner'
import { commandGroup } from './record-command'
import { type MakeAct, storageCommand, withContext } from './storage'

interface Flags extends CommonFlags {
  readonly cutover?: number
}

/** `anteroom token`: what partners call the API with. A token is printed once and never again. */
export function tokenCommand(): Command {
  return commandGroup('token', 'The tokens that partners call the API with', [
    onPartner('issue', 'Make the first token of a partner and print it, once', issue).option(
      '--json',
      'print it as JSON',
    ),
    onPartner('rotate', 'Make a token that takes the place of the one in force, and print it, once', rotate)
      .option(
        '--cutover <instant>',
        'when it starts and the other stops, in UTC; at once unless given',
        utcInstant,
      )
      .option('--json', 'print it as JSON'),
    onPartner(
      'revoke',
      "End a partner's token at once, and cancel one that waits for its cutover",
      revoke,
    ).option('--yes', 'do not ask'),
    onPartner('list', "List a partner's tokens, without the tokens themselves", list).option(
      '--json',
      'print them as JSON',
    ),
    storageCommand('verify', 'Read a token on stdin and say what the API would answer, and why')
      .option('--json', 'print it as JSON')
      .action((flags: Flags) => withContext(flags, (context) => verify(context, flags))),
  ])
}

async function issue(records: Records, partner: Partner, act: MakeAct, flags: Flags): Promise<void> {
  const token = await issueFirstToken(records, partner, act())
  printResult(flags, { token }, token)
}

async function rotate(records: Records, partner: Partner, makeAct: MakeAct, flags: Flags): Promise<void> {
  const act = makeAct()
  const token = await rotateToken(records, partner, flags.cutover ?? act.at, act)
  printResult(flags, { token }, token)
}

async function revoke(records: Records, partner: Partner, act: MakeAct, flags: Flags): Promise<void> {
  await confirm(`Revoke the token of ${partner.name}?`, flags)
  await revokeToken(records, partner, act())
  printLine(`The token of ${partner.name} is revoked.`)
}

async function list(records: Records, partner: Partner, _act: MakeAct, flags: Flags): Promise<void> {
  const tokens = presentTokens(await listTokens(records, partner), records.clock.now())
  printRows(flags, tokens, tokenColumns, 'There are no tokens.')
}

async function verify(context: Context, { json }: Flags): Promise<void> {
  const token = (await Bun.stdin.text()).trim()
  const { refusal, why, partner } = await verifyToken(context, token, context.clock.now())
  const status = refusal ? answerTo(refusal, 'UNKNOWN').status : 200
  const verdict = { status, code: refusal?.kind ?? null, why, partner }
  if (json) printJson(verdict)
  else printRecord(verdict)
}
