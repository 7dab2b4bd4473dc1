import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { Act } from '../domain/audit'
import type { MemberExport } from '../domain/decide-member'
import { Refusal } from '../domain/errors'
import { languageName } from '../domain/language'
import type { Member } from '../domain/member'
import { presentTimestamp } from '../http/booking-request'
import { presentMember } from '../http/user'
import type { Records } from '../operations/context'
import { type MemberName, requireMember } from '../operations/find-records'
import {
  deactivateMember,
  eraseMember,
  exportMember,
  type FoundMembers,
  findMemberByEmail,
  findMembersByName,
  finishErasure,
  reactivateMember,
  releaseEmail,
} from '../operations/members'
import { listPartners } from '../operations/partners'
import { noteAct } from '../operations/upkeep'
import { recordId } from './arguments'
import { asJson, asking, type Call, commandGroup, recordsCommand, stateOf, switchCommands } from './command'
import {
  type Columns,
  type CommonFlags,
  columnsOf,
  confirm,
  formatJson,
  printJson,
  printLines,
  printNotice,
  printRecord,
  printRows,
} from './output'
import { beginOutput, type OutputFlags, toOutput } from './output-file'
import { makeAct } from './storage'

interface Flags extends CommonFlags, OutputFlags {
  readonly partner?: string
  readonly externalId?: string
}

/** `anteroom member`: the people who seek care, and what they may ask of their data. */
export function memberCommand(): Command {
  return commandGroup('member', 'The people who seek care', [
    asJson(onMember('show', 'Show a member', show), 'print them as JSON'),
    asJson(
      recordsCommand('find', 'Find a member by e-mail address or name; the audit log tells who looked', find)
        .option('--email <address>', 'whose this address is, of whichever partner')
        .option('--name <text>', 'whose name holds this text, 50 of them at most'),
      'print them as JSON',
    ),
    ...switchCommands<Records, Member>(onMember, {
      deactivate: ["Refuse a member's look-ups and bookings, with 403", deactivateMember],
      reactivate: ['Let a member be looked up and booked for again', reactivateMember],
      question: ({ id }) => `Refuse look-ups of member ${id} and bookings for them?`,
      nameOf: ({ id }) => `Member ${id}`,
    }),
    toOutput(
      onMember('export', 'Print all that is held on a member as JSON, answers included', exportAll),
    ).option('--json', 'print it as JSON, which it does anyway'),
    asking(
      onMember(
        'release-email',
        "Empty a member's e-mail address, so that another member can have it",
        release,
      ),
    ),
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

interface FindFlags {
  readonly email?: string
  readonly name?: string
}

async function find({ context, flags, act }: Call<Records, FindFlags>): Promise<void> {
  const { members, count } = await membersFor(flags, context, act())
  const partners = new Map((await listPartners(context)).map(({ id, name }) => [id, name]))
  const rows = members.map((member) => ({
    id: member.id,
    state: stateOf(member),
    partner: partners.get(member.partnerId) ?? null,
    externalUserId: member.externalUserId,
    // Whoever asks by address is told no more than whose it is.
    ...(flags.name !== undefined && { name: nameOfMember(member) }),
  }))
  printRows(flags, rows, flags.name === undefined ? foundColumns : namedColumns, 'There is no such member.')
  const more = count - members.length
  if (more > 0) printNotice(`${more} more are not shown; look for a longer text`)
}

/** @throws Refusal field_invalid unless exactly one thing to look by is given */
async function membersFor({ email, name }: FindFlags, records: Records, act: Act): Promise<FoundMembers> {
  if (email !== undefined && name === undefined) {
    const member = await findMemberByEmail(records, email.trim(), act)
    return member ? { members: [member], count: 1 } : { members: [], count: 0 }
  }
  if (name?.trim() && email === undefined) return findMembersByName(records, name.trim(), act)
  throw new Refusal('field_invalid', 'look by either --email or --name')
}

interface FoundRow {
  readonly id: number
  readonly state: string
  readonly partner: string | null
  readonly externalUserId: string
  readonly name?: string
}

const foundColumns: Columns<FoundRow> = {
  ...columnsOf('id', 'state', 'partner'),
  "PARTNER'S ID": ({ externalUserId }) => externalUserId,
}

const namedColumns: Columns<FoundRow> = { ...foundColumns, ...columnsOf('name') }

function nameOfMember({ profile: { firstName, lastName, preferredName } }: Member): string {
  return `${firstName} ${lastName}${preferredName ? ` (${preferredName})` : ''}`
}

async function release({ context, flags, act }: Call<Records, Flags>, member: Member): Promise<void> {
  const { id } = member
  const question = `Empty the e-mail address of member ${id}, so that another member can have it?`
  await confirm(question, flags)
  await releaseEmail(context, member, act())
  printLines(`Member ${id} has no e-mail address until their partner sends one again.`)
}

/** What is shown of a member wherever one is shown: how to reach them, and what they wish. */
export function memberLines({ profile }: Member) {
  return {
    'e-mail': profile.email || null,
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
  using file = beginOutput(output)
  writeFileSync(file.path, `${formatJson(await held())}\n`)
  file.publish()
  printLines(`Member ${member.id} is exported to ${output}.`)
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
    requests: requests.map(({ submittedAt, startsAt, acceptedAt, declinedAt, notes, ...facts }) => ({
      ...facts,
      submittedAt: presentTimestamp(submittedAt),
      startsAt: presentTimestamp(startsAt),
      acceptedAt: presentTimestamp(acceptedAt),
      declinedAt: presentTimestamp(declinedAt),
      notes: notes.map(({ at, ...note }) => ({ ...note, at: presentTimestamp(at) })),
    })),
  }
}
