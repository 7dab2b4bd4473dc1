import type { Act, AuditEntry, AuditLine, AuditState } from '../../src/domain/audit'
import { addLine, emptyAudit } from '../../src/domain/audit'
import { type RequestRecord, slotMillis } from '../../src/domain/booking-request'
import { decideLoad } from '../../src/domain/compare-directory'
import { decideIssue, decideRevocation, decideRotation } from '../../src/domain/decide-keys'
import { decideErasure, decideExport, decideMemberState } from '../../src/domain/decide-member'
import * as moves from '../../src/domain/decide-move'
import * as onboard from '../../src/domain/decide-onboarding'
import { decideProviderState, decideTimeOff, decideTimeOffRemoval } from '../../src/domain/decide-provider'
import { decideSubmission } from '../../src/domain/decide-submission'
import type { DirectoryFeed, TakenSlot, Version } from '../../src/domain/directory-feed'
import { Refusal } from '../../src/domain/errors'
import { foldEmail, type Member } from '../../src/domain/member'
import type { KeyRecord, Organization, Partner, PartnerKey } from '../../src/domain/partner'
import type { Provider } from '../../src/domain/provider'
import type { Store } from '../../src/domain/store'
import type { Change, Decision, Noun, Records, Write } from '../../src/domain/writes'
import { recordName, shownAs } from '../../src/domain/writes'
import { filterLines, hashes, verifyLines } from '../support/audit-lines'
import type { Connection, Place } from './furniture'

type Row<N extends Noun> = Omit<Records[N], 'memberId'> & {
  readonly id: number
  readonly memberId: N extends 'request' ? number | null : never
}
type Tables = { [N in Noun]: Map<number, Row<N>> }

/** All that connections share. A transaction works on a copy, which takes its place when it is through. */
interface Kept {
  tables: Tables
  nextId: number
  lastUses: Map<string, number>
  changes: readonly Change[]
  /** How many of the oldest changes were dropped. */
  dropped: number
  audit: readonly AuditLine[]
  auditState: AuditState
}

const eachNoun = <T>(make: (noun: Noun) => T) =>
  Object.fromEntries((Object.keys(shownAs) as Noun[]).map((noun) => [noun, make(noun)])) as Record<Noun, T>

/** An engine that forgets: the port's contract without a database, which shows that an engine has no rules. */
export async function openMemoryPlace(): Promise<Place> {
  const kept: Kept = {
    tables: eachNoun(() => new Map()) as unknown as Tables,
    nextId: 1,
    lastUses: new Map(),
    changes: [],
    dropped: 0,
    audit: [],
    auditState: emptyAudit,
  }
  return {
    ...connect(kept),
    freeTarget: '',
    openAgain: async () => connect(kept),
    async forgetChanges() {
      kept.dropped += kept.changes.length - 1
      kept.changes = kept.changes.slice(-1)
    },
    async beginRenaming(id, firstName) {
      return async () =>
        transact(kept, (copy) => void apply(copy, { set: 'provider', id, to: { firstName } }))
    },
    async [Symbol.asyncDispose]() {},
  }
}

function connect(kept: Kept): Connection {
  let isClosed = false
  const run = async <T>(work: () => T): Promise<T> => {
    // Whoever asks waits for a turn, as with every other engine.
    await Promise.resolve()
    if (isClosed) throw new Error('closed')
    return work()
  }
  const change: Run = <T>(act: Act | null, decide: () => 'stale' | Decision<T>): Promise<never> =>
    run(() =>
      transact(kept, (copy) => {
        const decision = decide()
        return (decision === 'stale' ? decision : carryOut(copy, decision, act)) as never
      }),
    )
  return {
    store: {
      ...onboarding(kept, run, change),
      ...directory(kept, change),
      ...requests(kept, run, change),
      ...memberRecords(kept, run, change),
      ...auditLog(kept, run),
    },
    feed: { changesSince: (version, after) => run(() => changesSince(kept, version, after)) },
    async close() {
      isClosed = true
    },
  }
}

type Read = <T>(work: () => T) => Promise<T>
interface Run {
  <T>(act: Act | null, decide: () => Decision<T>): Promise<T>
  <T>(act: Act | null, decide: () => 'stale' | Decision<T>): Promise<T | 'stale'>
}

function transact<T>(kept: Kept, work: (copy: Kept) => T): T {
  const tables: unknown = eachNoun((noun) => new Map<number, object>(kept.tables[noun]))
  const copy = { ...kept, tables: tables as Tables }
  const answer = work(copy)
  Object.assign(kept, copy)
  return answer
}

function carryOut<T>(kept: Kept, decision: Decision<T>, act: Act | null): T {
  if (decision instanceof Refusal) throw decision
  const ids: number[] = []
  for (const write of decision.writes) ids.push(apply(kept, write, ids.at(-1)))
  const taken = decision.taken.map((recordId): Change => ({ noun: 'taken', recordId }))
  kept.changes = [...kept.changes, ...taken]
  const { audit } = decision
  if (audit && act) {
    const record = recordName(audit, ids[0])
    append(kept, { ...act, action: audit.action, record, outcome: 'done' })
  }
  return decision.answer(ids)
}

function apply(kept: Kept, write: Write, addedId?: number): number {
  const noun = 'add' in write ? write.add : 'set' in write ? write.set : write.remove
  const table = kept.tables[noun] as Map<number, object>
  // Regions bring their ids.
  const id = 'add' in write ? (write.add === 'region' ? write.row.id : kept.nextId++) : write.id
  if ('remove' in write) table.delete(id)
  else {
    const told = 'add' in write ? write.row : { ...table.get(id), ...write.to }
    const memberId = 'memberId' in told && told.memberId === 'added' ? { memberId: addedId } : {}
    table.set(id, { ...told, ...memberId, id })
    holdUnique(kept, noun, id)
  }
  const shown = shownAs[noun]
  if (shown) kept.changes = [...kept.changes, { noun: shown, recordId: id }]
  return id
}

/** What no other record of the noun may have: nulls are no matter. */
function uniqueKeys(noun: Noun, row: object): unknown[] {
  if (noun === 'key') return [(row as Row<'key'>).kid]
  if (noun === 'member') return [foldEmail((row as Row<'member'>).profile.email)]
  if (noun !== 'request') return []
  const { authorizationNumber, state, providerId, startsAt } = row as Row<'request'>
  const isHeld = startsAt !== null && moves.holdsSlot(state)
  return [authorizationNumber, isHeld ? `${providerId} ${startsAt}` : null]
}

/** What the schema of a database would refuse. */
function holdUnique({ tables }: Kept, noun: Noun, id: number): void {
  const keys = uniqueKeys(noun, tables[noun].get(id) as object)
  for (const other of tables[noun].values()) {
    const theirs = other.id === id ? [] : uniqueKeys(noun, other)
    const isTwice = keys.some((key, index) => key !== null && key === theirs[index])
    if (isTwice) throw new Error(`the ${noun} is there`)
  }
  const licenses = (noun === 'provider' && tables.provider.get(id)?.licenses) || []
  if (licenses.some(({ regionId }) => !tables.region.has(regionId))) throw new Error('no such region')
}

function append(kept: Kept, entry: AuditEntry): void {
  const { line, state } = addLine(hashes, kept.auditState, kept.audit.length + 1, entry)
  kept.audit = [...kept.audit, line]
  kept.auditState = state
}

const rowsOf = <N extends Noun>({ tables }: Kept, noun: N): Row<N>[] =>
  [...tables[noun].values()].sort((a, b) => a.id - b.id)

function toOrganization({ id, name, active }: Row<'organization'>): Organization {
  return { id, name, active }
}

/** Undefined for an id that is nobody's, null for none. */
function organizationOf({ tables }: Kept, id: number | null): Organization | null | undefined {
  if (id === null) return null
  const row = tables.organization.get(id)
  return row && toOrganization(row)
}

function partnersOf(kept: Kept): Partner[] {
  return rowsOf(kept, 'partner').map(({ organizationId, createdAt: _, ...partner }) => {
    return { ...partner, organization: organizationOf(kept, organizationId) ?? null }
  })
}

function keysOf(kept: Kept): KeyRecord[] {
  return rowsOf(kept, 'key').map(({ secret: _, memberId: __, ...key }) => {
    return { ...key, lastUsedAt: kept.lastUses.get(key.kid) ?? null }
  })
}

function membersOf(kept: Kept): Member[] {
  return rowsOf(kept, 'member').map(({ createdAt: _, updatedAt: __, ...member }) => member)
}

function memberOf(kept: Kept, partnerId: number, externalUserId: string): Member | null {
  const isNamed = (one: Member) => one.partnerId === partnerId && one.externalUserId === externalUserId
  return membersOf(kept).find(isNamed) ?? null
}

function requestsOf(kept: Kept): RequestRecord[] {
  const members = membersOf(kept)
  return rowsOf(kept, 'request').map(({ memberId, endsAt: _, screeningAnswers: __, ...request }) => {
    return { ...request, member: byId(members, memberId ?? 0) }
  })
}

function byId<T extends { id: number }>(all: readonly T[], id: number): T | null {
  return all.find((one) => one.id === id) ?? null
}

function slotsOf(kept: Kept, providerId: number) {
  return rowsOf(kept, 'request').flatMap(({ id: requestId, memberId, state, localOffsetMinutes, ...row }) => {
    const { startsAt, endsAt } = row
    if (row.providerId !== providerId || !moves.holdsSlot(state)) return []
    return startsAt !== null && endsAt !== null
      ? [{ requestId, memberId, startsAt, endsAt, localOffsetMinutes }]
      : []
  })
}

/** Who holds a slot that touches the one that starts at an instant. */
function holdersAt(kept: Kept, providerId: number, startsAt: number) {
  const endsAt = startsAt + slotMillis
  return slotsOf(kept, providerId).filter((slot) => slot.startsAt < endsAt && startsAt < slot.endsAt)
}

/** Null where some of the changes are no longer kept. */
function since({ changes, dropped }: Kept, version: Version): readonly Change[] | null {
  const { count } = version as unknown as { count: number }
  return count < dropped ? null : changes.slice(count - dropped)
}

function changesSince(
  kept: Kept,
  version: Version | null,
  after: number,
): Awaited<ReturnType<DirectoryFeed['changesSince']>> {
  const rows = version && since(kept, version)
  if (rows?.length === 0) return null
  const tells = (noun: Change['noun']) => !rows || rows.some((row) => row.noun === noun)
  const concerns = (noun: Change['noun'], id: number) =>
    !rows || rows.some((row) => row.noun === noun && row.recordId === id)
  const partners = partnersOf(kept)
  const providers = rowsOf(kept, 'provider') as Provider[]
  return {
    version: { count: kept.dropped + kept.changes.length } as unknown as Version,
    keys: tells('partner')
      ? rowsOf(kept, 'key').map(({ id: _, partnerId, endReason: __, ...key }): PartnerKey => {
          return { ...key, partner: byId(partners, partnerId) as Partner }
        })
      : null,
    regions: tells('region') ? rowsOf(kept, 'region') : null,
    providers: providers.filter(({ id }) => concerns('provider', id)),
    unreadable: [],
    taken: new Map(
      providers.filter(({ id }) => concerns('taken', id)).map(({ id }) => [id, takenSlots(kept, id, after)]),
    ),
  }
}

function takenSlots(kept: Kept, providerId: number, after: number): TakenSlot[] {
  return slotsOf(kept, providerId)
    .filter(({ endsAt }) => endsAt > after)
    .sort((a, b) => a.startsAt - b.startsAt)
    .map(({ memberId: _, ...slot }) => slot as TakenSlot)
}

function onboarding(kept: Kept, read: Read, change: Run) {
  const organizations = () => rowsOf(kept, 'organization').map(toOrganization)
  const partner = (id: number) => byId(partnersOf(kept), id)
  const named = <T extends { name: string }>(all: readonly T[], name: string) =>
    all.find((one) => one.name === name) ?? null
  const keyFacts = (id: number) => ({
    partner: partner(id),
    keys: keysOf(kept).filter(({ partnerId }) => partnerId === id),
  })
  return {
    listOrganizations: () => read(organizations),
    addOrganization: (name, act) =>
      change(act, () => onboard.decideOrganization(named(organizations(), name), name, act)),
    setOrganizationActive: (id, active, act) =>
      change(act, () => onboard.decideOrganizationState(byId(organizations(), id), active)),
    listPartners: () => read(() => partnersOf(kept)),
    addPartner: (name, organizationId, act) =>
      change(act, () =>
        onboard.decidePartner(named(partnersOf(kept), name), organizationOf(kept, organizationId), name, act),
      ),
    setPartnerActive: (id, active, act) => change(act, () => onboard.decidePartnerState(partner(id), active)),
    setPartnerOrganization: (id, organizationId, act) =>
      change(act, () => onboard.decidePartnerOrganization(partner(id), organizationOf(kept, organizationId))),
    listKeys: () => read(() => keysOf(kept)),
    issueKey: (id, key, act) => change(act, () => decideIssue(keyFacts(id), key, act)),
    rotateKey: (id, key, act) => change(act, () => decideRotation(keyFacts(id), key, act)),
    revokeKeys: (id, act) => change(act, () => decideRevocation(keyFacts(id), act)),
    noteKeyUses: (uses) =>
      read(() => {
        for (const [kid, at] of uses) kept.lastUses.set(kid, Math.max(at, kept.lastUses.get(kid) ?? 0))
      }),
  } satisfies Partial<Store>
}

function directory(kept: Kept, change: Run) {
  const provider = (id: number) => (kept.tables.provider.get(id) as Provider | undefined) ?? null
  return {
    loadDirectory: (comparison, act) =>
      change(act, () => decideLoad(comparison, since(kept, comparison.version))),
    setProviderActive: (id, active, act) => change(act, () => decideProviderState(provider(id), active)),
    addTimeOff: (id, absence, act) => change(act, () => decideTimeOff(provider(id), absence)),
    removeTimeOff: (id, absence, act) => change(act, () => decideTimeOffRemoval(provider(id), absence)),
  } satisfies Partial<Store>
}

function requests(kept: Kept, read: Read, change: Run) {
  const request = (id: number) => byId(requestsOf(kept), id)
  const answersOf = (id: number) => kept.tables.request.get(id)?.screeningAnswers ?? []
  return {
    submit: (draft) =>
      change(null, () => {
        const { partnerId, externalUserId, slot } = draft
        const email = foldEmail(draft.member.email)
        const owner = membersOf(kept).find(({ profile }) => foldEmail(profile.email) === email)
        return decideSubmission(draft, {
          since: since(kept, draft.version),
          member: memberOf(kept, partnerId, externalUserId),
          emailOwnerId: owner?.id ?? null,
          holders: slot ? holdersAt(kept, slot.providerId, slot.startsAt) : [],
        })
      }),
    listRequests: ({ intakesOnly, unassignedOnly }) =>
      read(() => {
        const intakes = requestsOf(kept).filter(({ isIntake }) => isIntake || !intakesOnly)
        return intakes.filter(({ state }) => state === 'unassigned' || !unassignedOnly)
      }),
    findRequest: (id) => read(() => request(id)),
    readScreening: (id, act) => change(act, () => moves.decideReading(request(id), answersOf(id))),
    sortingAnswers: (ids) => read(() => new Map(ids.map((id) => [id, answersOf(id)]))),
    async assign(id, draft, act) {
      const answer = await change(act, () =>
        moves.decideAssignment(draft, {
          request: request(id),
          isProviderKnown: kept.tables.provider.has(draft.providerId),
          since: since(kept, draft.version),
          holders: draft.startsAt === null ? [] : holdersAt(kept, draft.providerId, draft.startsAt),
        }),
      )
      return answer ?? 'done'
    },
    accept: (id, act) => change(act, () => moves.decideAcceptance(request(id), act)),
    decline: (id, act) => change(act, () => moves.decideDecline(request(id), act)),
    acknowledge: (id, offset, act) => change(act, () => moves.decideAcknowledgement(request(id), offset)),
  } satisfies Partial<Store>
}

function memberRecords(kept: Kept, read: Read, change: Run) {
  const member = (id: number) => byId(membersOf(kept), id)
  const requestsBy = (id: number) => requestsOf(kept).filter((request) => request.member?.id === id)
  const held = (id: number) => {
    const row = kept.tables.member.get(id)
    const theirs = requestsBy(id).map(({ member: _, ...request }) => ({
      ...request,
      screeningAnswers: kept.tables.request.get(request.id)?.screeningAnswers ?? [],
    }))
    const { createdAt, updatedAt } = row ?? { createdAt: 0, updatedAt: 0 }
    return row ? { member: member(id) as Member, createdAt, updatedAt, requests: theirs } : null
  }
  return {
    findMember: (partnerId, externalUserId) => read(() => memberOf(kept, partnerId, externalUserId)),
    findMemberById: (id) => read(() => member(id)),
    setMemberActive: (id, active, act) => change(act, () => decideMemberState(member(id), active)),
    exportMember: (id, act) => change(act, () => decideExport(held(id))),
    eraseMember: (id, act) => change(act, () => decideErasure(member(id), requestsBy(id))),
  } satisfies Partial<Store>
}

function auditLog(kept: Kept, read: Read) {
  return {
    appendAudit: (entries) =>
      read(() => {
        for (const entry of entries) append(kept, entry)
      }),
    listAudit: (limit, filter = {}) => read(() => filterLines(kept.audit, limit, filter)),
    auditHead: () => read(() => kept.auditState.acts.head),
    verifyAudit: (noted) => read(() => verifyLines(kept.auditState, kept.audit, noted)),
  } satisfies Partial<Store>
}
