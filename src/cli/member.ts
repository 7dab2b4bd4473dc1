import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { MemberExport } from '../domain/decide-member'
import { Refusal } from '../domain/errors'
import { languageName } from '../domain/language'
import type { Member } from '../domain/member'
import { beginFile, type UnfinishedFile } from '../files/durable'
import { presentTimestamp } from '../http/booking-request'
import { presentMember } from '../http/user'
import type { Records } from '../operations/context'
import { type MemberName, requireMember } from '../operations/find-records'
import {
  deactivateMember,
  eraseMember,
  exportMember,
  finishErasure,
  reactivateMember,
} from '../operations/members'
import { listPartners } from '../operations/partners'
import { noteAct } from '../operations/upkeep'
import { recordId } from './arguments'
import { asJson, asking, type Call, commandGroup, recordsCommand, stateOf, switchCommands } from './command'
import { type CommonFlags, confirm, formatJson, printJson, printLines, printRecord } from './output'
import { makeAct } from './storage'

interface Flags extends CommonFlags {
  readonly partner?: string
  readonly externalId?: string
  readonly output?: string
}

/** `anteroom member`: the people who seek care, and what they may ask of their data. */
export function memberCommand(): Command {
  return commandGroup('member', 'The people who seek care', [
    asJson(onMember('show', 'Show a member', show), 'print them as JSON'),
    ...switchCommands<Records, Member>(onMember, {
      deactivate: ["Refuse a member's look-ups and bookings, with 403", deactivateMember],
      reactivate: ['Let a member be looked up and booked for again', reactivateMember],
      question: ({ id }) => `Refuse look-ups of member ${id} and bookings for them?`,
      nameOf: ({ id }) => `Member ${id}`,
    }),
    onMember('export', 'Print all that is held on a member as JSON, answers included', exportAll)
      .option('--output <file>', 'write it to this new file, which its owner alone can read')
      .option('--json', 'print it as JSON, which it does anyway'),
    asking(onMember('erase', 'Remove a member for good, their answers included', erase)),
  ])
}

type MemberAction = (call: Call<Records, Flags>, member: Member) => void | Promise<void>

/** A command on one member, who is named in either of two ways. */
function onMember(name: string, description: string, action: MemberAction): Command {
  return recordsCommand(name, description, async (call: Call<Records, Flags>, id: number | undefined) => {
    const named = nameOf(id, call.flags)
    if (name === 'erase' && (await wasErased(call.context, named))) return
    const member = await requireMember(call.context, named)
    call.tried.id = member.id
    await action(call, member)
  })
    .argument('[member]', "the service's id of the member", recordId)
    .option('--partner <partner>', 'name or id of the partner, with --external-id, instead of an id')
    .option('--external-id <id>', "the partner's id of the member")
}

/** @throws Refusal field_invalid unless the member is named in exactly one way */
function nameOf(id: number | undefined, { partner, externalId }: Flags): MemberName {
  if (id !== undefined && partner === undefined && externalId === undefined) return { id }
  if (id === undefined && partner !== undefined && externalId !== undefined) {
    return { partner, externalUserId: externalId }
  }
  throw new Refusal('field_invalid', 'name the member by id, or by both --partner and --external-id')
}

async function show({ context, flags }: Call<Records, Flags>, member: Member): Promise<void> {
  const partner = (await listPartners(context)).find(({ id }) => id === member.partnerId)?.name ?? null
  const state = stateOf(member)
  await noteAct(context, makeAct(), 'member.show', `member ${member.id}`)
  if (flags.json) return printJson({ ...presentMember(member), partner, state })
  printRecord({
    id: member.id,
    state,
    partner,
    "partner's id": member.externalUserId,
    name: `${member.profile.firstName} ${member.profile.lastName}`,
    ...memberLines(member),
  })
}

/** What is shown of a member wherever one is shown: how to reach them, and what they wish. */
export function memberLines({ profile }: Member) {
  return {
    'e-mail': profile.email,
    phone: profile.phoneNumber,
    region: [profile.country, profile.state].filter(Boolean).join(', '),
    language: languageName(profile.preferredSpokenLanguage),
    'preferred modality': profile.preferredModality,
  }
}

async function exportAll({ context, flags, act }: Call<Records, Flags>, member: Member): Promise<void> {
  const { output } = flags
  const held = async () => presentExport(await exportMember(context, member, act()))
  if (output === undefined) return printJson(await held())
  // Before anything is read: what cannot be written must not stand in the audit log as exported.
  using file = beginNew(output)
  writeFileSync(file.path, `${formatJson(await held())}\n`)
  file.publish()
  printLines(`Member ${member.id} is exported to ${output}.`)
}

/** @throws Refusal field_invalid if there is a file already */
function beginNew(path: string): UnfinishedFile {
  try {
    return beginFile(path)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
    throw new Refusal('field_invalid', '--output: there is a file at that path already')
  }
}

async function erase({ context, flags, act }: Call<Records, Flags>, member: Member): Promise<void> {
  const { id } = member
  await confirm(`Remove member ${id} for good, with all that is held on them?`, flags)
  const { holding, isPurged } = await eraseMember(context, member, act())
  printLines(`Member ${id} is erased. The bare facts of their requests stay, tied to nobody.`)
  printLines('Backups made before now hold what was erased until they are gone.')
  if (holding.length > 0) {
    printLines(`Still holding a slot: request ${holding.join(', ')}; request decline frees it.`)
  }
  requirePurged(isPurged)
}

/** Takes the last step of an erasure that was killed or kept from it; false if there is none to take. */
async function wasErased(context: Records, named: MemberName): Promise<boolean> {
  if (!('id' in named)) return false
  const isPurged = await finishErasure(context, named.id)
  if (isPurged === null) return false
  requirePurged(isPurged)
  printLines(`Member ${named.id} was erased before. No trace of them is left.`)
  return true
}

function requirePurged(isPurged: boolean): void {
  if (isPurged) return
  const why = 'the database may still hold traces of what was erased, since another program kept reading'
  throw new Refusal('storage_busy', `${why}; run this again`)
}

/** All that is held on a person, in words and timestamps. */
function presentExport({ member, createdAt, updatedAt, requests }: MemberExport) {
  const { profile, ...identity } = member
  return {
    member: {
      ...identity,
      ...profile,
      createdAt: presentTimestamp(createdAt),
      updatedAt: presentTimestamp(updatedAt),
    },
    requests: requests.map(({ submittedAt, startsAt, acceptedAt, declinedAt, ...facts }) => ({
      ...facts,
      submittedAt: presentTimestamp(submittedAt),
      startsAt: presentTimestamp(startsAt),
      acceptedAt: presentTimestamp(acceptedAt),
      declinedAt: presentTimestamp(declinedAt),
    })),
  }
}
