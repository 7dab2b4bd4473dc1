import type { Command } from 'commander'
import type { Partner } from '../domain/partner'
import { answerTo } from '../http/errors'
import type { Context, Records } from '../operations/context'
import { issueFirstToken, listTokens, revokeToken, rotateToken, verifyToken } from '../operations/tokens'
import { utcInstant } from './arguments'
import { asJson, asking, type Call, commandGroup, contextCommand } from './command'
import { confirm, printJson, printLines, printRecord, printRows, printSecret } from './output'
import { onPartner, presentTokens, tokenColumns } from './partner'

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
    asJson(
      contextCommand('verify', 'Read a token on stdin and say what the API would answer, and why', verify),
    ),
  ])
}

async function issue({ context, flags, act }: Call<Records>, partner: Partner): Promise<void> {
  printSecret(flags, 'token', await issueFirstToken(context, partner, act()))
}

async function rotate(call: Call<Records, { cutover?: number }>, partner: Partner): Promise<void> {
  const act = call.act()
  printSecret(
    call.flags,
    'token',
    await rotateToken(call.context, partner, call.flags.cutover ?? act.at, act),
  )
}

async function revoke({ context, flags, act }: Call<Records>, partner: Partner): Promise<void> {
  await confirm(`Revoke the token of ${partner.name}?`, flags)
  await revokeToken(context, partner, act())
  printLines(`The token of ${partner.name} is revoked.`)
}

async function list({ context, flags }: Call<Records>, partner: Partner): Promise<void> {
  const tokens = presentTokens(await listTokens(context, partner), context.clock.now())
  printRows(flags, tokens, tokenColumns, 'There are no tokens.')
}

async function verify({ context, flags }: Call<Context>): Promise<void> {
  const token = (await Bun.stdin.text()).trim()
  const { refusal, why, partner } = await verifyToken(context, token, context.clock.now())
  const status = refusal ? answerTo(refusal, 'UNKNOWN').status : 200
  const verdict = { status, code: refusal?.kind ?? null, why, partner }
  if (flags.json) printJson(verdict)
  else printRecord(verdict)
}
