import { type Command, InvalidArgumentError } from 'commander'
import { Refusal } from '../domain/errors'
import type { Member } from '../domain/member'
import { validator } from '../domain/validation'
import { MemberData } from '../http/endpoints/member-data'
import type { Records } from '../operations/context'
import { type MemberName, requireMember } from '../operations/find-records'
import { partnerNames } from '../operations/partners'
import type { Service } from '../service'
import { recordId } from './arguments'
import {
  type Call,
  type CommandValue,
  type commandsIn,
  type Done,
  recordsCommand,
  serviceCommand,
} from './command'
import { personText } from './terminal/persons'

export interface Person extends Member {
  readonly partner: string | null
  /** The name and both ids. Ends with a comma, because questions continue after the text. */
  readonly named: string
}

export interface MemberFlags {
  readonly partner?: string | undefined
  readonly externalId?: string | undefined
}

interface MemberCommand<On, Flags> extends CommandValue<(call: Call<On, Flags>, person: Person) => Done> {
  /** Runs first. If it gives an answer, no member is read. */
  readonly instead?: (call: Call<On, Flags & MemberFlags>, id: number | undefined) => Done
}

/** Returns a function that makes commands on one member, given by id or by --partner and --external-id. */
function onMemberIn<On extends Records | Service>(
  make: ReturnType<typeof commandsIn<On>>,
  recordsOf: (on: On) => Records,
) {
  return <Flags>({ instead, ...value }: MemberCommand<On, Flags>): Command =>
    make({
      ...value,
      words: [['[member]', 'the id of the member in this service', recordId]],
      options: [
        ['--partner <partner>', 'name or id of the partner; use with --external-id, instead of a member id'],
        ['--external-id <id>', "the partner's id for the member; use with --partner"],
        ...(value.options ?? []),
      ],
      run: async (call: Call<On, Flags & MemberFlags>, id: number | undefined) => {
        const answer = await instead?.(call, id)
        if (answer) return answer
        const records = recordsOf(call.context)
        const member = await requireMember(records, memberNamed(id, call.flags))
        call.tried.id = member.id
        const partner = (await partnerNames(records)).get(member.partnerId) ?? null
        const named = `${await personText(records, member)} (member ${member.id}),`
        return value.run(call, { ...member, partner, named })
      },
    })
}

export const onMember = onMemberIn(recordsCommand, (records: Records) => records)
export const onMemberInService = onMemberIn(serviceCommand, ({ context }: Service) => context)

/** @throws Refusal field_invalid unless the flags give either an id or a partner with an external id */
function memberNamed(id: number | undefined, { partner, externalId }: MemberFlags): MemberName {
  if (id !== undefined && partner === undefined && externalId === undefined) return { id }
  if (id === undefined && partner !== undefined && externalId !== undefined) {
    return { partner, externalUserId: externalId }
  }
  throw new Refusal('field_invalid', 'name the member by id, or by both --partner and --external-id')
}

/** A field of a member, by the rule for partners' requests. An empty text removes the phone or e-mail address. */
export function memberText(name: 'phoneNumber' | 'email' | 'firstName' | 'lastName') {
  return (text: string): string => {
    if (text === '' && (name === 'phoneNumber' || name === 'email')) return text
    const [fault] = validator(MemberData.properties[name]).faultsOf(text)
    if (fault) throw new InvalidArgumentError(`It ${fault.fault}.`)
    if (text.trim() === '') throw new InvalidArgumentError('It must not be empty.')
    return text
  }
}
