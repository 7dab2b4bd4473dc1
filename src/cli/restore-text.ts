import type { Named, TokenInForce, Undone } from '../domain/undone'

/** Records that are named in one line; of more it is told how many. */
const mostNamed = 20

/** What a person should know before a backup takes a database's place. @param undone null where nothing is known */
export function validAgain(madeAt: string | null, undone: Undone | null, against?: string): string[] {
  const since = madeAt === null ? 'the backup' : madeAt
  if (undone) return [`what ${against} did since the backup is not in it:`, ...linesOf(undone)]
  return [
    `what was revoked, deactivated or erased after ${since} is valid or there again`,
    'requests that were moved or declined since, and time off that was entered, are as they were before',
    'to have it listed, name the database that is replaced: --against FILE',
    'where there is none, look in what was exported of its audit log, and in your own notes',
  ]
}

/** What a person should do once it has. */
export function afterRestore(madeAt: string | null, undone: Undone | null): string[] {
  const moment = madeAt === null ? '' : ` ${madeAt}`
  if (!undone)
    return [
      `What was done since${moment} is not in it: tokens revoked and members erased since are there again.`,
    ]
  const lines = linesOf(undone)
  if (lines.length === 0) return ['Nothing was revoked, deactivated or erased since.']
  return [
    'What was done since is not in it:',
    ...lines,
    'Do that again: anteroom token revoke, partner deactivate, provider deactivate, provider away, member erase, request move.',
  ]
}

function linesOf(undone: Undone): string[] {
  const people = (ids: readonly number[]) => ids.map(String)
  const namesOf = (records: readonly Named[]) => records.map(({ name }) => name)
  return [
    named('token', undone.tokens.map(tokenText), 'valid again'),
    named('partner', namesOf(undone.partners), 'active again'),
    named('organization', namesOf(undone.organizations), 'active again'),
    named('provider', namesOf(undone.providers), 'offered again'),
    named('member', people(undone.deactivatedMembers), 'active again'),
    named('member', people(undone.erasedMembers), 'erased, and there again'),
    named('provider', undone.lostAbsences, 'offered again in this time off'),
    named('request', people(undone.changedRequests), 'as it was before, its slot too'),
    named('token', undone.lostTokens.map(tokenText), 'not known any more: rotate it'),
    undone.lostRequests > 0 ? [`  requests submitted since: ${undone.lostRequests} lost`] : [],
  ].flat()
}

function tokenText({ id, partner }: TokenInForce): string {
  return `${id} of ${partner}`
}

/** A line for each, of no more than may be. */
function named(noun: string, names: readonly string[], what: string): string[] {
  const more = names.length - mostNamed
  const lines = names.slice(0, mostNamed).map((name) => `  ${noun} ${name}: ${what}`)
  return more > 0 ? [...lines, `  and ${more} ${noun}s more: ${what}`] : lines
}
