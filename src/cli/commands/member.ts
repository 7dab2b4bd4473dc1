import { writeFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { Refusal } from '../../domain/errors'
import { type MemberEdit, valuesBefore } from '../../domain/member'
import { presentMember } from '../../http/endpoints/user'
import type { Records } from '../../operations/context'
import { findMembers } from '../../operations/find-records'
import { noteAct } from '../../operations/maintenance'
import {
  editMember,
  eraseDue,
  eraseMember,
  exportMember,
  finishErasure,
  membersDue,
  memberTimeAt,
  readHistory,
  releaseEmail,
  setMemberActive,
} from '../../operations/members'
import { partnerNames } from '../../operations/partners'
import { formatInstant, yearsBefore } from '../../scheduling/calendar'
import type { Service } from '../../service'
import { years } from '../arguments'
import {
  type Call,
  commandGroup,
  json,
  recordsCommand,
  required,
  stateOf,
  switchCommands,
  yes,
} from '../command'
import { type MemberFlags, memberText, onMember, onMemberInService, type Person } from '../on-member'
import { makeAct } from '../storage'
import { beginOutput, type OutputFlags, outputPath, toOutput } from '../terminal/files'
import { counted, joined } from '../terminal/layout'
import { dueAnswer, erasedAnswer, foundAnswer, presentRequests, requestsText } from '../terminal/member-text'
import { type Answer, formatJson, printAnswer, printLines, verbatim } from '../terminal/output'
import {
  changeLines,
  changeNames,
  contactLines,
  inQuestion,
  presentChanges,
  presentContact,
  presentExport,
} from '../terminal/persons'
import { confirm } from '../terminal/question'
import { fields } from '../terminal/table'

export function memberCommand(): Command {
  return commandGroup('member', [
    onMemberInService({
      name: 'show',
      description: 'Show a member, with contact details and local time',
      options: [json()],
      examples: ['anteroom member show 42', 'anteroom member show --partner Lantern --external-id P-123'],
      run: show,
    }),
    recordsCommand({
      name: 'find',
      description:
        "Find members by name, e-mail address, phone number or the partner's id; the audit log records the search",
      words: [['<text>', 'a part of the name, phone number or e-mail address, or the whole id', words]],
      options: [json()],
      examples: [
        "anteroom member find 'lovelace'",
        "anteroom member find '416 555 0100' --json | jq -r .[].id",
      ],
      async run({ context }, text: string) {
        return foundAnswer(await findMembers(context, text, makeAct()), await partnerNames(context))
      },
    }),
    ...switchCommands<Records, Person>(onMember, {
      deactivate: ['Block a member: look-ups and bookings get HTTP 403', 'anteroom member deactivate 42'],
      reactivate: ['Allow look-ups and bookings of a member again', 'anteroom member reactivate 42'],
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
      name: 'edit',
      description: "Correct or remove a member's phone or e-mail address, or correct the name",
      options: [
        ['--phone <number>', 'the new phone number; an empty text removes it', memberText('phoneNumber')],
        ['--email <address>', 'the new e-mail address; an empty text removes it', memberText('email')],
        ['--first-name <name>', 'the new first name', memberText('firstName')],
        ['--last-name <name>', 'the new last name', memberText('lastName')],
        yes,
        json(),
      ],
      examples: ["anteroom member edit 42 --phone '+1 416 555 0123'", "anteroom member edit 42 --phone ''"],
      run: edit,
    }),
    onMember({
      name: 'release-email',
      description: "Remove a member's e-mail address, so that another member can use it",
      options: [yes, json()],
      examples: ['anteroom member release-email 42'],
      async run({ context, flags, act }, person: Person) {
        const { id, named } = person
        await confirm(`Remove the e-mail address of ${named} so that another member can use it?`, flags)
        await releaseEmail(context, person, act())
        const text = `Member ${id} has no e-mail address until their partner sends one again.`
        return { json: { member: id, email: null }, text }
      },
    }),
    recordsCommand({
      name: 'due',
      description: 'List members whose last request ended long ago',
      options: [required('--older-than <years>', 'the retention period, for example 7y', years), json()],
      examples: ['anteroom member due --older-than 7y'],
      async run({ context, flags }: Call<Records, DueFlags>) {
        const { olderThan = 0 } = flags
        const before = yearsBefore(context.clock.now(), olderThan)
        return dueAnswer(await Array.fromAsync(membersDue(context, before)), olderThan)
      },
    }),
    onMember({
      name: 'erase',
      description: 'Erase a member permanently, including their screening answers',
      options: [
        ['--due', 'all members that member due lists and that have no open request, instead of one member'],
        ['--older-than <years>', 'the retention period, for --due', years],
        yes,
        json(),
      ],
      instead: (call: Call<Records, DueFlags & MemberFlags>, id) =>
        call.flags.due ? eraseAllDue(call, id) : finishErasing(call.context, id),
      examples: [
        'anteroom member erase --partner Lantern --external-id P-123',
        'anteroom member erase --due --older-than 7y',
      ],
      run: erase,
    }),
  ])
}

function words(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be empty.')
  return text.trim()
}

async function show({ context: service }: Call<Service>, person: Person): Promise<Answer> {
  const { context, zones } = service
  const { id, partner } = person
  const state = stateOf(person)
  await noteAct(context, makeAct(), 'member.show', `member ${id}`)
  const now = context.clock.now()
  const time = memberTimeAt(zones, person.profile, now)
  const { sent, requests: all } = await readHistory(context, person)
  const requests = await presentRequests(context, all)
  const contact = presentContact(person, time)
  const text = fields({
    id,
    state,
    partner,
    "partner's id": person.externalUserId,
    ...contactLines(person, time),
  })
  return {
    json: { ...presentMember(person), partner, state, contact, changes: presentChanges(sent), requests },
    text: [text, changeLines(sent, now), requestsText(id, requests)],
  }
}

interface EditFlags {
  readonly phone?: string
  readonly email?: string
  readonly firstName?: string
  readonly lastName?: string
}

async function edit({ context, flags, act }: Call<Records, EditFlags>, person: Person): Promise<Answer> {
  const { phone, email, firstName, lastName } = flags
  const given = { phoneNumber: phone === '' ? null : phone, email, firstName, lastName }
  const edit: MemberEdit = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  )
  if (Object.keys(edit).length === 0) throw new Refusal('field_invalid', 'name at least one field to change')
  const before = valuesBefore(person, edit)
  const names = Object.keys(before) as (keyof MemberEdit)[]
  const changes = names.map((name) => {
    const [from, to] = [before[name], edit[name]].map((value) => inQuestion(value || 'none'))
    return `${changeNames[name]} from ${from} to ${to}`
  })
  if (names.length > 0) await confirm(`Change ${person.named} ${joined(changes)}?`, flags)
  await editMember(context, person.id, edit, act(), person)
  const text = `Member ${person.id} has changed: ${joined(names.map((name) => changeNames[name] as string))}.`
  return { json: { member: person.id, changed: names }, text }
}

async function exportMemberData({ context, flags, act }: Call<Records, OutputFlags>, member: Person) {
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

interface DueFlags {
  readonly due?: boolean
  readonly olderThan?: number
}

/** @throws Refusal field_invalid if a member or no period is given */
async function eraseAllDue(
  { context, flags, act }: Call<Records, DueFlags & MemberFlags>,
  id: number | undefined,
): Promise<Answer> {
  const { olderThan, partner, externalId } = flags
  if (id !== undefined || partner !== undefined || externalId !== undefined) {
    throw new Refusal('field_invalid', '--due erases all members that are due, so it cannot name a member')
  }
  if (olderThan === undefined) throw new Refusal('field_invalid', '--due needs --older-than, for example 7y')
  const before = yearsBefore(context.clock.now(), olderThan)
  const found = await Array.fromAsync(membersDue(context, before))
  const ids = found.flatMap(({ id, openRequest }) => (openRequest === null ? id : []))
  const which = `${counted(ids.length, 'member')} whose last request ended before ${formatInstant(before)}`
  if (ids.length > 0) await confirm(`Erase ${which}, with all their data? This cannot be undone.`, flags)
  const done = await eraseDue(context, ids, before, act())
  const erased = new Set(done.erased)
  const answer = erasedAnswer(
    done,
    found.filter(({ id }) => !erased.has(id)),
  )
  if (!done.isPurged) printAnswer(flags, answer)
  requirePurged(ids.at(-1) ?? 0, done.isPurged)
  return answer
}

async function erase({ context, flags, act }: Call<Records, DueFlags>, person: Person) {
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

/** Finishes an interrupted erasure. Returns undefined if no erasure was interrupted. */
async function finishErasing(context: Records, id: number | undefined): Promise<Answer | undefined> {
  const finished = id === undefined ? null : await finishErasure(context, id)
  if (id === undefined || finished === null) return undefined
  requirePurged(id, finished.isPurged)
  const json = { member: id, erased: true, holdingRequests: [], purged: finished.isPurged }
  return { json, text: `Member ${id} was already erased. ${finished.keptIn}` }
}

function requirePurged(id: number, isPurged: boolean): void {
  if (isPurged) return
  const why =
    'the database file may still have traces of the erased data, because another program kept reading or the storage failed'
  throw new Refusal('storage_busy', why, { action: `run this again: anteroom member erase ${id}` })
}
