import { writeFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { Refusal } from '../../domain/errors'
import type { Member } from '../../domain/member'
import { presentMember } from '../../http/endpoints/user'
import type { Records } from '../../operations/context'
import { type MemberName, requireMember } from '../../operations/find-records'
import { noteAct } from '../../operations/maintenance'
import {
  eraseMember,
  exportMember,
  type FoundMembers,
  findMembers,
  finishErasure,
  memberTimeAt,
  readSentProfiles,
  releaseEmail,
  setMemberActive,
} from '../../operations/members'
import { partnerNames } from '../../operations/partners'
import type { Service } from '../../service'
import { recordId } from '../arguments'
import {
  type Call,
  type CommandValue,
  commandGroup,
  type commandsIn,
  type Done,
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
  type Answer,
  type CommonFlags,
  formatJson,
  printAnswer,
  printLines,
  printNotice,
  verbatim,
} from '../terminal/output'
import {
  calledName,
  changeLines,
  contactLines,
  personText,
  presentChanges,
  presentContact,
  presentExport,
} from '../terminal/persons'
import { confirm } from '../terminal/question'
import { type Columns, columnsOf, fields, rowsAnswer } from '../terminal/table'

function memberFindCommand(): Command {
  return recordsCommand({
    name: 'find',
    description:
      "Find members by name, e-mail address, phone number or the partner's id; the audit log records the search",
    words: [['<text>', 'a part of the name, phone number or e-mail address, or the whole id', words]],
    options: [json()],
    examples: [
      "anteroom member find 'lovelace'",
      "anteroom member find '416 555 0100' --json | jq -r .[].id",
    ],
    run: find,
  })
}

function words(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be empty.')
  return text.trim()
}

async function find({ context }: Call<Records>, text: string): Promise<Answer> {
  const { found, count } = await findMembers(context, text, makeAct())
  const partners = await partnerNames(context)
  const rows = found.map((one) => presentFoundMember(one, partners))
  const isAll = count === found.length
  if (!isAll) printNotice(`only ${found.length} of ${count} members are shown; search for a longer text`)
  const answer = rowsAnswer(rows, foundColumns, 'There is no such member.')
  const total = isAll && count > 1 ? ['', `${counted(count, 'member')}.`] : []
  return { json: answer.json, text: [answer.text, total] }
}

function presentFoundMember(
  { member, by }: FoundMembers['found'][number],
  partners: ReadonlyMap<number, string>,
) {
  return {
    id: member.id,
    state: stateOf(member),
    partner: partners.get(member.partnerId) ?? null,
    externalUserId: member.externalUserId,
    name: calledName(member),
    foundBy: by,
  }
}

const foundColumns: Columns<ReturnType<typeof presentFoundMember>> = {
  ...columnsOf('id', 'state', 'partner'),
  "PARTNER'S ID": ({ externalUserId }) => externalUserId,
  ...columnsOf('name'),
  'FOUND BY': ({ foundBy }) => foundBy,
}

interface Flags extends CommonFlags, OutputFlags {
  readonly partner?: string
  readonly externalId?: string
}

export function memberCommand(): Command {
  return commandGroup('member', [
    onMemberIn(
      serviceCommand,
      ({ context }) => context,
    )({
      name: 'show',
      description: 'Show a member, with contact details and local time',
      options: [json()],
      examples: ['anteroom member show 42', 'anteroom member show --partner Lantern --external-id P-123'],
      run: show,
    }),
    memberFindCommand(),
    ...switchCommands<Records, Person>(onMember, {
      deactivate: ['Block a member: look-ups and bookings get HTTP 403', 'anteroom member deactivate 42'],
      reactivate: [
        'Reactivate a member, so that look-ups and bookings work again',
        'anteroom member reactivate 42',
      ],
      set: setMemberActive,
      question: ({ named }) => `Refuse look-ups of ${named} and bookings for them?`,
      nameOf: ({ id }) => `Member ${id}`,
    }),
    onMember({
      name: 'export',
      description: 'Print all data of a member as JSON, including screening answers',
      options: [toOutput, json('no effect: the output is always JSON')],
      examples: ['anteroom member export 42 --output member-42.json'],
      run: exportMemberData,
    }),
    onMember({
      name: 'release-email',
      description: "Remove a member's e-mail address, so that another member can use it",
      options: [yes, json()],
      examples: ['anteroom member release-email 42'],
      run: release,
    }),
    onMember({
      name: 'erase',
      description: 'Erase a member permanently, including their screening answers',
      options: [yes, json()],
      examples: ['anteroom member erase --partner Lantern --external-id P-123'],
      run: erase,
    }),
  ])
}

interface Person extends Member {
  readonly partner: string | null
  /** The name and both ids. Ends with a comma, because questions continue after the text. */
  readonly named: string
}

/** Returns a function that makes commands on one member, given by id or by --partner and --external-id. */
function onMemberIn<On extends Records | Service>(
  make: ReturnType<typeof commandsIn<On>>,
  recordsOf: (on: On) => Records,
) {
  return (value: CommandValue<(call: Call<On, Flags>, person: Person) => Done>): Command =>
    make({
      ...value,
      words: [['[member]', 'the id of the member in this service', recordId]],
      options: [
        [
          '--partner <partner>',
          'the name or id of the partner; use with --external-id, instead of a member id',
        ],
        ['--external-id <id>', "the partner's id for the member; use with --partner"],
        ...(value.options ?? []),
      ],
      run: async (call: Call<On, Flags>, id: number | undefined) => {
        const records = recordsOf(call.context)
        const wanted = memberNamed(id, call.flags)
        const before = value.name === 'erase' ? await finishErasing(records, wanted) : null
        if (before) return before
        const member = await requireMember(records, wanted)
        call.tried.id = member.id
        const partner = (await partnerNames(records)).get(member.partnerId) ?? null
        const named = `${await personText(records, member)} (member ${member.id}),`
        return value.run(call, { ...member, partner, named })
      },
    })
}

const onMember = onMemberIn(recordsCommand, (records: Records) => records)

/** @throws Refusal field_invalid unless the flags give either an id or a partner with an external id */
function memberNamed(id: number | undefined, { partner, externalId }: Flags): MemberName {
  if (id !== undefined && partner === undefined && externalId === undefined) return { id }
  if (id === undefined && partner !== undefined && externalId !== undefined) {
    return { partner, externalUserId: externalId }
  }
  throw new Refusal('field_invalid', 'name the member by id, or by both --partner and --external-id')
}

async function show({ context: service }: Call<Service, Flags>, person: Person): Promise<Answer> {
  const { context, zones } = service
  const { id, partner } = person
  const state = stateOf(person)
  await noteAct(context, makeAct(), 'member.show', `member ${id}`)
  const now = context.clock.now()
  const time = memberTimeAt(zones, person.profile, now)
  const sent = await readSentProfiles(context, id)
  const contact = presentContact(person, time)
  const text = fields({
    id,
    state,
    partner,
    "partner's id": person.externalUserId,
    ...contactLines(person, time),
  })
  return {
    json: { ...presentMember(person), partner, state, contact, changes: presentChanges(sent) },
    text: [text, changeLines(sent, now)],
  }
}

async function release({ context, flags, act }: Call<Records, Flags>, person: Person): Promise<Answer> {
  const { id, named } = person
  await confirm(`Remove the e-mail address of ${named} so that another member can use it?`, flags)
  await releaseEmail(context, person, act())
  const text = `Member ${id} has no e-mail address until their partner sends one again.`
  return { json: { member: id, email: null }, text }
}

async function exportMemberData(
  { context, flags, act }: Call<Records, Flags>,
  member: Person,
): Promise<Answer | undefined> {
  const output = outputPath(flags)
  const read = async () => presentExport(await exportMember(context, member, act()))
  if (output === undefined) {
    const json = await read()
    return { json, text: verbatim(`${formatJson(json)}\n`) }
  }
  // Opens the output before the member is read. Otherwise a failed export would be audited as done.
  using file = beginOutput(output)
  writeFileSync(file.path, `${formatJson(await read())}\n`)
  file.publish()
  printLines(`Member ${member.id} is exported to ${output}.`)
  return undefined
}

async function erase(
  { context, flags, act }: Call<Records, Flags>,
  person: Person,
): Promise<Answer | undefined> {
  const { id, named } = person
  await confirm(`Erase ${named} with all their data? This cannot be undone.`, flags)
  const { holding, isPurged, keptIn } = await eraseMember(context, person, act())
  const stillHolding = `Requests that still hold a slot: ${holding.join(', ')}. Free it with anteroom request decline ID.`
  printAnswer(flags, {
    json: { member: id, erased: true, holdingRequests: holding, purged: isPurged },
    text: [
      `Member ${id} is erased. Their requests remain without personal data.`,
      keptIn,
      holding.length > 0 ? stillHolding : [],
    ],
  })
  requirePurged(id, isPurged)
  return undefined
}

/** Finishes an interrupted erasure. Returns null if no erasure was interrupted. */
async function finishErasing(context: Records, named: MemberName): Promise<Answer | null> {
  if (!('id' in named)) return null
  const finished = await finishErasure(context, named.id)
  if (finished === null) return null
  requirePurged(named.id, finished.isPurged)
  const json = { member: named.id, erased: true, holdingRequests: [], purged: finished.isPurged }
  return { json, text: `Member ${named.id} was already erased. ${finished.keptIn}` }
}

function requirePurged(id: number, isPurged: boolean): void {
  if (isPurged) return
  const why =
    'the database file may still have traces of the erased data, because another program kept reading or the storage failed'
  throw new Refusal('storage_busy', why, { action: `run this again: anteroom member erase ${id}` })
}
