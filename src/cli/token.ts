import type { Command } from 'commander'
import type { Partner } from '../domain/partner'
import { answerTo } from '../http/errors'
import type { Context, Records } from '../operations/context'
import { issueFirstToken, listTokens, revokeToken, rotateToken, verifyToken } from '../operations/tokens'
import { utcInstant } from './arguments'
import { asJson, asking, type Call, commandGroup, contextCommand } from './command'
import {
  type CommonFlags,
  confirm,
  printJson,
  printLines,
  printRecord,
  printRows,
  printSecret,
  requireReader,
  secretText,
} from './output'
import { type OutputFlags, toOutput, writeSecret } from './output-file'
import { onPartner, presentTokens, tokenColumns } from './partner'

/** `anteroom token`: what partners call the API with. A token is printed once and never again. */
export function tokenCommand(): Command {
  return commandGroup('token', 'The tokens that partners call the API with', [
    toOutput(asJson(onPartner('issue', 'Make the first token of a partner and print it, once', issue))),
    toOutput(
      asJson(
        onPartner(
          'rotate',
          'Make a token that takes the place of the one in force, and print it, once',
          rotate,
        ).option(
          '--cutover <instant>',
          'when it starts and the other stops, in UTC; at once unless given',
          utcInstant,
        ),
      ),
    ),
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

function issue({ context, flags, act }: Call<Records, OutputFlags>, partner: Partner): Promise<void> {
  return handOver(flags, partner, (keep) => issueFirstToken(context, partner, act(), keep))
}

function rotate(call: Call<Records, OutputFlags & { cutover?: number }>, partner: Partner): Promise<void> {
  const { context, flags } = call
  const act = call.act()
  return handOver(flags, partner, (keep) => rotateToken(context, partner, flags.cutover ?? act.at, act, keep))
}

/** Tells a new token, once: on stdout, or in a new file and nowhere else. */
async function handOver(
  flags: CommonFlags & OutputFlags,
  { name }: Partner,
  make: (keep?: (token: string) => void) => Promise<string>,
): Promise<void> {
  if (flags.output === undefined) {
    requireReader('token')
    return printSecret(flags, 'token', await make())
  }
  await writeSecret(flags.output, 'token', (keep) => make((token) => keep(secretText(flags, 'token', token))))
  printLines(`The token of ${name} is in ${flags.output}, which its owner alone can read.`)
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
