import type { Command } from 'commander'
import { Refusal } from '../../domain/errors'
import type { KeyRecord, Partner } from '../../domain/partner'
import { statusOf } from '../../http/errors'
import type { Context, Records } from '../../operations/context'
import { listPartners } from '../../operations/partners'
import {
  cancelCutover,
  findPartnerTokens,
  issueFirstToken,
  listTokens,
  revokeToken,
  rotateToken,
  type TokenVerdict,
  verifyKid,
  verifyToken,
} from '../../operations/tokens'
import { utcInstant } from '../arguments'
import { type Call, commandGroup, commandsIn, json, recordsCommand, yes } from '../command'
import { presentRefusal, refusalsText } from '../exit-code'
import { withContext, withRecords } from '../storage'
import { type OutputFlags, outputPath, toOutput, writeSecret } from '../terminal/files'
import { askForLine } from '../terminal/given-text'
import {
  type Answer,
  type CommonFlags,
  instantText,
  printNotice,
  printSecret,
  requireReader,
  secretText,
} from '../terminal/output'
import { confirm } from '../terminal/question'
import { type Columns, fields, rowsAnswer } from '../terminal/table'
import { presentTokens, tokenColumns, tokenState, tokensGiveWay } from '../terminal/token-text'
import { onPartner } from './partner'

export function tokenCommand(): Command {
  return commandGroup('token', [
    onPartner({
      name: 'issue',
      description: 'Issue the first token of a partner, and print it once',
      options: [json(), toOutput],
      examples: ['anteroom token issue Lantern --output lantern.token'],
      run({ context, flags, act }: Call<Records, OutputFlags>, partner: Partner) {
        return handOver(flags, partner, (keep) => issueFirstToken(context, partner, act(), keep))
      },
    }),
    onPartner({
      name: 'rotate',
      description: 'Issue a token that replaces the current one, and print it once',
      options: [
        ['--cutover <instant>', 'when the new token replaces the old one, in UTC (default: now)', utcInstant],
        json(),
        toOutput,
        yes,
      ],
      examples: [
        'anteroom token rotate Lantern --cutover 2026-12-01T14:00:00Z',
        'anteroom token rotate Lantern',
      ],
      run: rotate,
    }),
    onPartner({
      name: 'cancel',
      description: 'Cancel a planned cutover; the new token never starts',
      options: [json(), yes],
      examples: ['anteroom token cancel Lantern'],
      run: cancel,
    }),
    onPartner({
      name: 'revoke',
      description: "End a partner's token now, and cancel a planned cutover",
      options: [json(), yes],
      examples: ['anteroom token revoke Lantern'],
      run: revoke,
    }),
    recordsCommand({
      name: 'list',
      description: 'List the tokens of all partners by kid, without the secret tokens',
      options: [json()],
      examples: ['anteroom token list --json > tokens.json'],
      run: list,
    }),
    verifyCommand({
      name: 'verify',
      description: 'Read a token from stdin, and show what the API would answer and why',
      options: [['--kid <kid>', 'check the token with this kid (cut -d. -f1 token.txt | base64 -d)'], json()],
      examples: ['anteroom token verify --kid jVFHDmJjUow0fpJH', 'anteroom token verify < token.txt'],
      run: verify,
    }),
  ])
}

async function rotate(
  { context, flags, act }: Call<Records, OutputFlags & { cutover?: number }>,
  partner: Partner,
): Promise<TokenAnswer> {
  const tokens = await findPartnerTokens(context, partner)
  const { current, waiting } = tokens
  const isCut = current !== null && flags.cutover === undefined
  const lost = [
    ...(isCut ? [`${currentTokenText(current)} ends now: requests with it are refused.`] : []),
    ...waiting.map((key) => `${plannedTokenText(key)} is cancelled.`),
  ]
  // Without a current token no question is asked, because rotateToken refuses anyway.
  if (current && lost.length > 0) {
    await confirm(`${lost.join(' ')} Rotate the token of ${partner.name}?`, flags)
    await requireUnchanged(context, partner, tokens)
  }
  const answer = await handOver(flags, partner, (keep) => {
    const now = act()
    return rotateToken(context, partner, flags.cutover ?? now.at, now, keep)
  })
  for (const { kid, startsAt } of waiting) {
    printNotice(`token ${kid} of ${partner.name}, planned for ${instantText(startsAt)}, is cancelled`)
  }
  return answer
}

function currentTokenText({ kid, lastUsedAt }: KeyRecord): string {
  return `Token ${kid} (${lastUsedAt === null ? 'never used' : `last used ${instantText(lastUsedAt)}`})`
}

function plannedTokenText({ kid, startsAt }: KeyRecord): string {
  return `Token ${kid} (planned for ${instantText(startsAt)})`
}

type PartnerTokens = Awaited<ReturnType<typeof findPartnerTokens>>

/** @throws Refusal not_confirmed if the tokens changed while the question was open */
async function requireUnchanged(context: Records, partner: Partner, asked: PartnerTokens): Promise<void> {
  const kidsOf = ({ current, waiting }: PartnerTokens) => [current, ...waiting].map((key) => key?.kid).join()
  if (kidsOf(await findPartnerTokens(context, partner)) === kidsOf(asked)) return
  const why = `the tokens of ${partner.name} changed while the question was open, so nothing was done`
  throw new Refusal('not_confirmed', why)
}

/** Undefined if the token was printed to stdout, because no other text may follow the token. */
type TokenAnswer = Answer | undefined

/** Creates a token and writes it once, to stdout or a new file. */
async function handOver(
  flags: CommonFlags & OutputFlags,
  { name }: Partner,
  make: (keep?: (token: string) => void) => Promise<string>,
): Promise<TokenAnswer> {
  const output = outputPath(flags)
  if (output === undefined) {
    requireReader('token')
    printSecret(flags, 'token', await make())
    return undefined
  }
  await writeSecret(output, 'token', (keep) => make((token) => keep(secretText(flags, 'token', token))))
  const line = `The token of ${name} is in ${output}. Only the owner of the file can read it.`
  return { json: { partner: name, output }, text: line }
}

async function cancel({ context, flags, act }: Call<Records>, partner: Partner): Promise<Answer> {
  const tokens = await findPartnerTokens(context, partner)
  const { current, waiting } = tokens
  const [next] = waiting
  if (next) {
    const stays = current ? ` ${currentTokenText(current)} stays valid.` : ''
    const question = `Cancel the cutover of ${partner.name}?`
    await confirm(`${plannedTokenText(next)} never starts.${stays} ${question}`, flags)
    await requireUnchanged(context, partner, tokens)
  }
  await cancelCutover(context, partner, act())
  const json = { partner: partner.name, cancelled: next?.kid ?? null, inForce: current?.kid ?? null }
  return { json, text: `The cutover of ${partner.name} is cancelled. Its current token stays valid.` }
}

async function revoke({ context, flags, act }: Call<Records>, partner: Partner): Promise<Answer> {
  const tokens = await findPartnerTokens(context, partner)
  const { current, waiting } = tokens
  const lost = [
    ...(current ? [`${currentTokenText(current)} ends now. `] : []),
    ...waiting.map((key) => `${plannedTokenText(key)} never starts. `),
  ]
  await confirm(`${lost.join('')}Revoke the token of ${partner.name}?`, flags)
  if (!flags.yes) await requireUnchanged(context, partner, tokens)
  await revokeToken(context, partner, act())
  const ended = [...(current ? [current] : []), ...waiting]
  const json = { partner: partner.name, revoked: ended.map(({ kid }) => kid) }
  return { json, text: `The token of ${partner.name} is revoked.` }
}

async function list({ context }: Call<Records>): Promise<Answer> {
  const now = context.clock.now()
  const partners = await listPartners(context)
  const keys = await listTokens(context)
  const rows = partners.flatMap(({ id, name }) =>
    presentTokens(
      keys.filter(({ partnerId }) => partnerId === id),
      now,
    ).map((token) => ({ partner: name, ...token })),
  )
  const { KID, ...others } = tokenColumns
  const columns: Columns<(typeof rows)[number]> = {
    // Staff compare kids, so the kid is in the first column. The first column is never shortened.
    KID,
    PARTNER: ({ partner }) => partner,
    ...others,
  }
  return rowsAnswer(rows, columns, 'There are no tokens.', tokensGiveWay)
}

/** Verifying a token needs the secrets that are loaded with the directory. Looking up a kid needs only the records. */
const verifyCommand = commandsIn<Records | Context>((flags, work) =>
  'kid' in flags ? withRecords(flags, work) : withContext(flags, work),
)

function verify({ context, flags }: Call<Records | Context, { kid?: string }>): Promise<Answer> {
  return 'notebook' in context ? verifyGiven(context) : verifyByKid(context, flags.kid)
}

async function verifyGiven(context: Context): Promise<Answer> {
  // Prints a prompt on a terminal, because a cursor alone does not show that a token is expected.
  const given = process.stdin.isTTY ? await askForLine('Token') : await Bun.stdin.text()
  const token = given.trim()
  const verdict = presentVerdict(await verifyToken(context, token, context.clock.now()))
  return { json: verdict, text: fields(verdict) }
}

function presentVerdict({ refusal, why, partner }: TokenVerdict) {
  const status = refusal ? statusOf(refusal) : 200
  return { status, code: refusal?.kind ?? null, why, partner }
}

async function verifyByKid(context: Records, kid = ''): Promise<Answer> {
  if (kid.includes('.')) {
    throw new Refusal('field_invalid', '--kid: this looks like a whole token, which is a secret', {
      action: 'pass it on stdin instead',
    })
  }
  const { known, ...verdict } = await verifyKid(context, kid)
  const shown = presentVerdict(verdict)
  if (!known) return { json: shown, text: fields(shown) }
  const { key, refusedToday } = known
  const now = context.clock.now()
  const [facts] = presentTokens([key], now)
  return {
    json: { ...shown, ...facts, refusedToday: refusedToday.map(presentRefusal) },
    text: fields({
      ...shown,
      kid,
      state: tokenState(key, now),
      issued: instantText(key.issuedAt),
      'last used': instantText(key.lastUsedAt),
      'partner refused today': refusalsText(refusedToday),
    }),
  }
}
