import { writeFileSync } from 'node:fs'
import { Command } from 'commander'
import { Refusal } from '../domain/errors'
import { languageName } from '../domain/language'
import type { Member } from '../domain/member'
import type { MemberExport } from '../domain/store'
import { beginFile, type UnfinishedFile } from '../files/durable'
import { presentMember } from '../http/user'
import type { Context } from '../operations/context'
import { type MemberName, requireMember } from '../operations/find-records'
import { confirm, printJson, printLine, printRecord } from './output'
import { recordId } from './record-id'
import { storageCommand, withContext } from './storage'

interface Flags {
  readonly partner?: string
  readonly externalId?: string
  readonly output?: string
  readonly json?: boolean
  readonly yes?: boolean
}

/** `anteroom member`: the people who seek care, and what they may ask of their data. */
export function memberCommand(): Command {
  return new Command('member')
    .description('The people who seek care')
    .addCommand(memberAction('show', 'Show a member', show).option('--json', 'print them as JSON'))
    .addCommand(
      memberAction('deactivate', "Refuse a member's look-ups and bookings, with 403", deactivate).option(
        '--yes',
        'do not ask',
      ),
    )
    .addCommand(memberAction('reactivate', 'Let a member be looked up and booked for again', reactivate))
    .addCommand(
      memberAction('export', 'Print all that is held on a member as JSON, answers included', exportAll)
        .option('--output <file>', 'write it to this new file, which its owner alone can read')
        .option('--json', 'print it as JSON, which it does anyway'),
    )
    .addCommand(
      memberAction('erase', 'Remove a member for good, their answers included', erase).option(
        '--yes',
        'do not ask',
      ),
    )
}

type Action = (context: Context, member: Member, flags: Flags) => Promise<void>

/** A command on one member, who is named in either of two ways. */
function memberAction(name: string, description: string, action: Action): Command {
  return storageCommand(name, description)
    .argument('[member]', "the service's id of the member", recordId)
    .option('--partner <partner>', 'name or id of the partner, with --external-id, instead of an id')
    .option('--external-id <id>', "the partner's id of the member")
    .action((id: number | undefined, flags: Flags) => {
      const named = nameOf(id, flags)
      return withContext(flags, async (context) => {
        if (name === 'erase' && (await finishErasure(context, named))) return
        await action(context, await requireMember(context, named), flags)
      })
    })
}

/** @throws Refusal field_invalid unless the member is named in exactly one way */
function nameOf(id: number | undefined, { partner, externalId }: Flags): MemberName {
  if (id !== undefined && partner === undefined && externalId === undefined) return { id }
  if (id === undefined && partner !== undefined && externalId !== undefined) {
    return { partner, externalUserId: externalId }
  }
  throw new Refusal('field_invalid', 'name the member by id, or by both --partner and --external-id')
}

async function show({ store }: Context, member: Member, { json }: Flags): Promise<void> {
  const partner = (await store.listPartners()).find(({ id }) => id === member.partnerId)?.name ?? null
  const state = member.active ? 'active' : 'deactivated'
  if (json) return printJson({ ...presentMember(member), partner, state })
  const { profile } = member
  printRecord({
    id: member.id,
    state,
    partner,
    "partner's id": member.externalUserId,
    name: `${profile.firstName} ${profile.lastName}`,
    'e-mail': profile.email,
    phone: profile.phoneNumber,
    region: [profile.country, profile.state].filter(Boolean).join(', '),
    language: languageName(profile.preferredSpokenLanguage),
    'preferred modality': profile.preferredModality,
  })
}

async function deactivate({ store }: Context, { id }: Member, flags: Flags): Promise<void> {
  await confirm(`Refuse look-ups of member ${id} and bookings for them?`, flags)
  await store.setMemberActive(id, false)
  printLine(`Member ${id} is deactivated.`)
}

async function reactivate({ store }: Context, { id }: Member): Promise<void> {
  await store.setMemberActive(id, true)
  printLine(`Member ${id} is active.`)
}

async function exportAll({ store }: Context, { id }: Member, { output }: Flags): Promise<void> {
  if (output === undefined) return printJson(presentExport(await store.exportMember(id)))
  // Before anything is read: what cannot be written must not stand in the audit log as exported.
  using file = beginNew(output)
  writeFileSync(file.path, `${JSON.stringify(presentExport(await store.exportMember(id)), null, 2)}\n`)
  file.publish()
  printLine(`Member ${id} is exported to ${output}.`)
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

async function erase({ store, upkeep }: Context, { id }: Member, flags: Flags): Promise<void> {
  await confirm(`Remove member ${id} for good, with all that is held on them?`, flags)
  const holding = await slotsOf(store, id)
  await store.eraseMember(id)
  const isPurged = await upkeep.purge()
  printLine(`Member ${id} is erased. The bare facts of their requests stay, tied to nobody.`)
  printLine('Backups made before now hold what was erased until they are gone.')
  if (holding.length > 0) {
    printLine(`Still holding a slot: request ${holding.join(', ')}; request decline frees it.`)
  }
  if (!isPurged) throw stillTraceable()
}

/** Takes the last step of an erasure that was killed or kept from it. False if nobody of that id was erased. */
async function finishErasure({ store, upkeep }: Context, named: MemberName): Promise<boolean> {
  if (!('id' in named) || (await store.findMemberById(named.id))) return false
  const lines = await store.listAudit(Number.MAX_SAFE_INTEGER)
  const wasErased = lines.some(
    ({ action, record }) => action === 'member.erase' && record === `member ${named.id}`,
  )
  if (!wasErased) return false
  if (!(await upkeep.purge())) throw stillTraceable()
  printLine(`Member ${named.id} was erased before. No trace of them is left.`)
  return true
}

function stillTraceable(): Refusal {
  return new Refusal(
    'storage_busy',
    "the database's -wal file may still hold what was erased, since another program kept reading; run this again",
  )
}

/** The ids of the member's requests whose slots stay taken. */
async function slotsOf(store: Context['store'], memberId: number): Promise<number[]> {
  const requests = await store.listRequests({ intakesOnly: false, unassignedOnly: false })
  return requests
    .filter(
      ({ member, state, startsAt }) => member?.id === memberId && state !== 'declined' && startsAt !== null,
    )
    .map(({ id }) => id)
}

/** All that is held on a person, in words and timestamps. */
function presentExport({ member, createdAt, updatedAt, requests }: MemberExport) {
  const instant = (at: number | null) => (at === null ? null : new Date(at).toISOString())
  const { profile, ...identity } = member
  return {
    member: { ...identity, ...profile, createdAt: instant(createdAt), updatedAt: instant(updatedAt) },
    requests: requests.map(({ submittedAt, startsAt, acceptedAt, declinedAt, ...facts }) => ({
      ...facts,
      submittedAt: instant(submittedAt),
      startsAt: instant(startsAt),
      acceptedAt: instant(acceptedAt),
      declinedAt: instant(declinedAt),
    })),
  }
}
