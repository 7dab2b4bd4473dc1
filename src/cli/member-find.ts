import { type Command, InvalidArgumentError } from 'commander'
import type { Records } from '../operations/context'
import { findMembers } from '../operations/members'
import { partnerNames } from '../operations/partners'
import { asJson, type Call, recordsCommand, stateOf } from './command'
import { counted } from './counted'
import { type Columns, columnsOf, printLines, printNotice, printRows } from './output'
import { calledName } from './person-text'
import { makeAct } from './storage'

/** `anteroom member find`: who is meant, by whatever somebody has of them. */
export function memberFindCommand(): Command {
  return asJson(
    recordsCommand(
      'find',
      "Find members by name, e-mail address, phone number or their partner's id; the audit log tells who looked",
      find,
    ).argument('<text>', 'a part of the name, of the number or of the address, or the whole id', words),
    'print them as JSON',
  )
}

/** What somebody is looked for by. */
function words(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be empty.')
  return text.trim()
}

async function find({ context, flags }: Call<Records>, text: string): Promise<void> {
  const { found, count } = await findMembers(context, text, makeAct())
  const partners = await partnerNames(context)
  const rows = found.map(({ member, by }) => ({
    id: member.id,
    state: stateOf(member),
    partner: partners.get(member.partnerId) ?? null,
    externalUserId: member.externalUserId,
    name: calledName(member),
    foundBy: by,
  }))
  printRows(flags, rows, foundColumns, 'There is no such member.')
  const more = count - found.length
  if (more > 0) printNotice(`${found.length} of ${count} are shown; look for a longer text`)
  else if (!flags.json && count > 1) printLines('', `${counted(count, 'member')}.`)
}

interface FoundRow {
  readonly id: number
  readonly state: string
  readonly partner: string | null
  readonly externalUserId: string
  readonly name: string
  readonly foundBy: string
}

const foundColumns: Columns<FoundRow> = {
  ...columnsOf('id', 'state', 'partner'),
  "PARTNER'S ID": ({ externalUserId }) => externalUserId,
  ...columnsOf('name'),
  'FOUND BY': ({ foundBy }) => foundBy,
}
