import { writeFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import type { MemberExport } from '../../domain/decisions/members'
import { Refusal } from '../../domain/errors'
import type { Member } from '../../domain/member'
import { presentTimestamp } from '../../http/endpoints/fields'
import { presentMember } from '../../http/endpoints/user'
import type { Records } from '../../operations/context'
import { type MemberName, requireMember } from '../../operations/find-records'
import {
  deactivateMember,
  eraseMember,
  exportMember,
  findMembers,
  finishErasure,
  memberTimeAt,
  reactivateMember,
  releaseEmail,
} from '../../operations/members'
import { partnerNames } from '../../operations/partners'
import { noteAct } from '../../operations/upkeep'
import type { Service } from '../../service'
import { recordId } from '../arguments'
import {
  type Call,
  type CommandValue,
  commandGroup,
  type commandsIn,
  json,
  recordsCommand,
  serviceCommand,
  stateOf,
  switchCommands,
  yes,
} from '../command'
import { makeAct } from '../storage'
import { beginOutput, type OutputFlags, outputPath, toOutput } from '../terminal/files'
import { counted } from '../terminal/layout'
import {
  type Columns,
  type CommonFlags,
  columnsOf,
  formatJson,
  printJson,
  printLines,
  printNotice,
  printRecord,
  printResult,
  printRows,
} from '../terminal/output'
import { calledName, contactLines, personText, presentContact } from '../terminal/persons'
import { confirm } from '../terminal/question'

/** `anteroom member find`: who is meant, by whatever somebody has of them. */
export function memberFindCommand(): Command {
  return recordsCommand({
    name: 'find',
    description:
      "Find members by name, e-mail address, phone number or their partner's id; the audit log tells who looked",
    words: [['<text>', 'a part of the name, of the number or of the address, or the whole id', words]],
    options: [json('print them as JSON')],
    examples: [
      "anteroom member find 'lovelace'",
      "anteroom member find '416 555 0100' --json | jq -r .[].id",
    ],
    run: find,
  })
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

interface Flags extends CommonFlags, OutputFlags {
  readonly partner?: string
  readonly externalId?: string
}

/** `anteroom member`: the people who seek care, and what they may ask of their data. */
export function memberCommand(): Command {
  return commandGroup('member', [
    onMemberIn(
      serviceCommand,
      ({ context }) => context,
    )({
      name: 'show',
      description: 'Show a member, and what to know before calling them',
      options: [json('print them as JSON')],
      examples: ['anteroom member show 42', 'anteroom member show --partner Lantern --external-id P-123'],
      run: show,
    }),
    memberFindCommand(),
    ...switchCommands<Records, Person>(onMember, {
      deactivate: [
        "Refuse a member's look-ups and bookings, with 403",
        deactivateMember,
        'anteroom member deactivate 42',
      ],
      reactivate: [
        'Let a member be looked up and booked for again',
        reactivateMember,
        'anteroom member reactivate 42',
      ],
      question: ({ named }) => `Refuse look-ups of ${named} and bookings for them?`,
      nameOf: ({ id }) => `Member ${id}`,
    }),
    onMember({
      name: 'export',
      description: 'Print all that is held on a member as JSON, answers included',
      options: [toOutput, json('print it as JSON, which it does anyway')],
      examples: ['anteroom member export 42 --output member-42.json'],
      run: exportAll,
    }),
    onMember({
      name: 'release-email',
      description: "Empty a member's e-mail address, so that another member can have it",
      options: [yes, json()],
      examples: ['anteroom member release-email 42'],
      run: release,
    }),
    onMember({
      name: 'erase',
      description: 'Remove a member for good, their answers included',
      options: [yes, json()],
      examples: ['anteroom member erase --partner Lantern --external-id P-123'],
      run: erase,
    }),
  ])
}

/** A member, and how they are spoken of. */
interface Person extends Member {
  readonly partner: string | null
  /** Who is meant, for whoever is asked: by name, and by both ids. */
  readonly named: string
}

/** The commands on one member, who is named in either of two ways. */
function onMemberIn<On extends Records | Service>(
  make: ReturnType<typeof commandsIn<On>>,
  recordsOf: (on: On) => Records,
) {
  return (value: CommandValue<(call: Call<On, Flags>, person: Person) => void | Promise<void>>): Command =>
    make({
      ...value,
      words: [['[member]', "the service's id of the member", recordId]],
      options: [
        ['--partner <partner>', 'name or id of the partner, with --external-id, instead of an id'],
        ['--external-id <id>', "the partner's id of the member"],
        ...(value.options ?? []),
      ],
      run: async (call: Call<On, Flags>, id: number | undefined) => {
        const records = recordsOf(call.context)
        const wanted = memberNamed(id, call.flags)
        if (value.name === 'erase' && (await wasErased(records, wanted, call.flags))) return
        const member = await requireMember(records, wanted)
        call.tried.id = member.id
        const partner = (await partnerNames(records)).get(member.partnerId) ?? null
        const named = `${await personText(records, member)} (member ${member.id}),`
        await value.run(call, { ...member, partner, named })
      },
    })
}

const onMember = onMemberIn(recordsCommand, (records: Records) => records)

/** @throws Refusal field_invalid unless the member is named in exactly one way */
function memberNamed(id: number | undefined, { partner, externalId }: Flags): MemberName {
  if (id !== undefined && partner === undefined && externalId === undefined) return { id }
  if (id === undefined && partner !== undefined && externalId !== undefined) {
    return { partner, externalUserId: externalId }
  }
  throw new Refusal('field_invalid', 'name the member by id, or by both --partner and --external-id')
}

async function show({ context: service, flags }: Call<Service, Flags>, person: Person): Promise<void> {
  const { context, zones } = service
  const { id, partner } = person
  const state = stateOf(person)
  await noteAct(context, makeAct(), 'member.show', `member ${id}`)
  const time = memberTimeAt(zones, person.profile, context.clock.now())
  if (flags.json) {
    return printJson({ ...presentMember(person), partner, state, contact: presentContact(person, time) })
  }
  printRecord({ id, state, partner, "partner's id": person.externalUserId, ...contactLines(person, time) })
}

async function release({ context, flags, act }: Call<Records, Flags>, person: Person): Promise<void> {
  const { id, named } = person
  await confirm(`Empty the e-mail address of ${named} so that another member can have it?`, flags)
  await releaseEmail(context, person, act())
  const said = `Member ${id} has no e-mail address until their partner sends one again.`
  printResult(flags, { member: id, email: null }, said)
}

async function exportAll({ context, flags, act }: Call<Records, Flags>, member: Person): Promise<void> {
  const output = outputPath(flags)
  const held = async () => presentExport(await exportMember(context, member, act()))
  if (output === undefined) return printJson(await held())
  // Before anything is read: what cannot be written must not stand in the audit log as exported.
  using file = beginOutput(output)
  writeFileSync(file.path, `${formatJson(await held())}\n`)
  file.publish()
  printLines(`Member ${member.id} is exported to ${output}.`)
}

async function erase({ context, flags, act }: Call<Records, Flags>, person: Person): Promise<void> {
  const { id, named } = person
  await confirm(`Remove ${named} for good, with all that is held on them?`, flags)
  const { holding, isPurged, keptIn } = await eraseMember(context, person, act())
  if (flags.json) printJson({ member: id, erased: true, holdingRequests: holding, purged: isPurged })
  else {
    printLines(`Member ${id} is erased. The bare facts of their requests stay, tied to nobody.`)
    printLines(keptIn)
    if (holding.length > 0) {
      printLines(`Still holding a slot: request ${holding.join(', ')}; request decline frees it.`)
    }
  }
  requirePurged(id, isPurged)
}

/** Takes the last step of an erasure that was killed or kept from it; false if there is none to take. */
async function wasErased(context: Records, named: MemberName, flags: CommonFlags): Promise<boolean> {
  if (!('id' in named)) return false
  const finished = await finishErasure(context, named.id)
  if (finished === null) return false
  const { isPurged, keptIn } = finished
  requirePurged(named.id, isPurged)
  const done = { member: named.id, erased: true, holdingRequests: [], purged: isPurged }
  printResult(flags, done, `Member ${named.id} was erased before. ${keptIn}`)
  return true
}

function requirePurged(id: number, isPurged: boolean): void {
  if (isPurged) return
  const why =
    'the database may still hold traces of what was erased, since another program kept reading or the storage failed'
  throw new Refusal('storage_busy', `${why}; run it again: anteroom member erase ${id}`)
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
