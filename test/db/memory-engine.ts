import type { Act, AuditLine } from '../../src/domain/audit'
import { emptyAudit } from '../../src/domain/audit'
import {
  type RequestNote,
  type RequestRecord,
  type Retry,
  slotMillis,
} from '../../src/domain/booking-request'
import { decideLoad } from '../../src/domain/compare-directory'
import {
  decideCancellation,
  decideIssue,
  decideRevocation,
  decideRotation,
} from '../../src/domain/decide-keys'
import * as people from '../../src/domain/decide-member'
import * as moves from '../../src/domain/decide-move'
import { decideNote, decideReadingNotes } from '../../src/domain/decide-note'
import * as onboard from '../../src/domain/decide-onboarding'
import * as placement from '../../src/domain/decide-placement'
import { decideProviderState, decideTimeOff, decideTimeOffRemoval } from '../../src/domain/decide-provider'
import * as retries from '../../src/domain/decide-replay'
import * as submissions from '../../src/domain/decide-submission'
import type { DirectoryChanges, TakenSlot, Version } from '../../src/domain/directory-feed'
import { Refusal } from '../../src/domain/errors'
import { foldEmail, type Member } from '../../src/domain/member'
import type { KeyRecord, Organization, Partner, PartnerKey } from '../../src/domain/partner'
import type { Provider } from '../../src/domain/provider'
import { holdsSlot } from '../../src/domain/request-states'
import type { RequestFilter, RequestPart, Store } from '../../src/domain/store'
import type { Change, Decision } from '../../src/domain/writes'
import { dayMinutes, minuteMillis } from '../../src/scheduling/calendar'
import { countRefusals, filterLines, verifyLines } from '../support/audit-lines'
import type { Connection, Place } from './furniture'
import {
  append,
  apply,
  carryOut,
  eachNoun,
  type Kept,
  type Row,
  rowsOf,
  type Tables,
  transact,
} from './memory-tables'

type Held = TakenSlot & submissions.SlotHolder

/** An engine that forgets: the port's contract without a database, which shows that an engine has no rules. */
export async function openMemoryPlace(): Promise<Place> {
  const tables = eachNoun(() => new Map()) as unknown as Tables
  const kept: Kept = {
    ...{ tables, nextId: 1, lastUses: new Map(), changes: [], dropped: 0 },
    ...{ audit: [], auditState: emptyAudit },
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
  const change: Run = (act, decide) =>
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
    feed: {
      stamp: () => kept.dropped + kept.changes.length,
      changesSince: (version, after) => run(() => changesSince(kept, version, after)),
    },
    async close() {
      isClosed = true
    },
  }
}

type Read = <T>(work: () => T) => Promise<T>
type Run = <T>(act: Act | null, decide: () => 'stale' | Decision<T>) => Promise<T>

function organizationsOf(kept: Kept): Organization[] {
  return rowsOf(kept, 'organization').map(({ createdAt: _, ...organization }) => organization)
}

/** Undefined for an id that is nobody's, null for none. */
function organizationOf(kept: Kept, id: number | null): Organization | null | undefined {
  return id === null ? null : (byId(organizationsOf(kept), id) ?? undefined)
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

const answersOf = ({ tables }: Kept, id: number) => tables.request.get(id)?.screeningAnswers ?? []

function notesOf(kept: Kept, id: number): RequestNote[] {
  const theirs = rowsOf(kept, 'note').filter(({ requestId }) => requestId === id)
  return theirs.map(({ requestId: _, memberId: __, ...note }) => note)
}

function byId<T extends { id: number }>(all: readonly T[], id: number): T | null {
  return all.find((one) => one.id === id) ?? null
}

function ownerOf(kept: Kept, email: string): Member | null {
  return membersOf(kept).find(({ profile }) => foldEmail(profile.email) === foldEmail(email)) ?? null
}

/** The slots that requests hold which are theirs. */
function heldSlots(kept: Kept, isTheirs: (row: Row<'request'>) => boolean) {
  const held = rowsOf(kept, 'request').filter((row) => isTheirs(row) && holdsSlot(row.state))
  return held.flatMap(({ id: requestId, memberId, startsAt, endsAt, localOffsetMinutes }) =>
    startsAt === null ? [] : [{ requestId, memberId, startsAt, endsAt, localOffsetMinutes } as Held],
  )
}

/** Who holds a slot that touches the one that starts at an instant. */
function holdersAt(kept: Kept, providerId: number, startsAt: number) {
  const theirs = heldSlots(kept, (row) => row.providerId === providerId)
  return theirs.filter((slot) => Math.abs(slot.startsAt - startsAt) < slotMillis)
}

function conflictAt({ audit }: Kept, { actor, after, back }: ReturnType<typeof submissions.conflictAsked>) {
  const isTheirs = (line: AuditLine) => line.actor === actor && line.action === 'member.email-conflict'
  return audit.filter((line) => isTheirs(line) && line.at > after).at(-back)?.at ?? null
}

function keptFor(kept: Kept, partnerId: number, retry: Retry): retries.KeptAnswer | null {
  const isTheirs = (row: Row<'replay'>) => row.partnerId === partnerId && row.retry.key === retry.key
  const row = rowsOf(kept, 'replay').find(isTheirs)
  if (!row) return null
  const { id, memberId, submittedAt, request, profile } = row
  const receipt = { ...request, id, member: { id: memberId, profile } }
  return { requestId: id, submittedAt, receipt: row.retry.body === retry.body ? receipt : null }
}

function expiredReplays(kept: Kept, at: number, most: number): number[] {
  const isOver = (row: Row<'replay'>) => row.submittedAt <= retries.expiredBy(at)
  const over = rowsOf(kept, 'replay').filter(isOver)
  return over.slice(0, most).map(({ id }) => id)
}

/** Null where some of the changes are no longer kept. */
function since({ changes, dropped }: Kept, version: Version): readonly Change[] | null {
  const { count } = version as unknown as { count: number }
  return count < dropped ? null : changes.slice(count - dropped)
}

function changesSince(kept: Kept, version: Version | null, after: number): DirectoryChanges | null {
  const rows = version && since(kept, version)
  if (rows?.length === 0) return null
  const tells = (noun: Change['noun'], id?: number) =>
    !rows || rows.some((row) => row.noun === noun && row.recordId === (id ?? row.recordId))
  const partners = partnersOf(kept)
  const providers = rowsOf(kept, 'provider') as Provider[]
  const takenOf = providers.map(({ id }) => id).filter((id) => tells('taken', id))
  return {
    version: { count: kept.dropped + kept.changes.length } as unknown as Version,
    keys: tells('partner')
      ? rowsOf(kept, 'key').map(({ id: _, partnerId, endReason: __, ...key }): PartnerKey => {
          return { ...key, partner: byId(partners, partnerId) as Partner }
        })
      : null,
    regions: tells('region') ? rowsOf(kept, 'region') : null,
    providers: providers.filter(({ id }) => tells('provider', id)),
    unreadable: [],
    taken: new Map(takenOf.map((id) => [id, takenSlots(kept, id, after)])),
  }
}

function takenSlots(kept: Kept, providerId: number, after: number): TakenSlot[] {
  return heldSlots(kept, (row) => row.providerId === providerId)
    .filter(({ endsAt }) => endsAt > after)
    .sort((a, b) => a.startsAt - b.startsAt)
    .map(({ memberId: _, ...slot }) => slot)
}

function onboarding(kept: Kept, read: Read, change: Run) {
  const organizations = () => organizationsOf(kept)
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
    renameOrganization: (id, name, act) =>
      change(act, () =>
        onboard.decideOrganizationRename(byId(organizations(), id), named(organizations(), name), name),
      ),
    setOrganizationActive: (id, active, act) =>
      change(act, () => onboard.decideOrganizationState(byId(organizations(), id), active)),
    listPartners: () => read(() => partnersOf(kept)),
    addPartner: (name, organizationId, act) =>
      change(act, () =>
        onboard.decidePartner(named(partnersOf(kept), name), organizationOf(kept, organizationId), name, act),
      ),
    renamePartner: (id, name, act) =>
      change(act, () => onboard.decidePartnerRename(partner(id), named(partnersOf(kept), name), name)),
    setPartnerActive: (id, active, act) => change(act, () => onboard.decidePartnerState(partner(id), active)),
    setPartnerOrganization: (id, organizationId, act) =>
      change(act, () => onboard.decidePartnerOrganization(partner(id), organizationOf(kept, organizationId))),
    setPartnerRates: (id, rates, act) => change(act, () => onboard.decidePartnerRates(partner(id), rates)),
    listKeys: () => read(() => keysOf(kept)),
    issueKey: (id, key, act) => change(act, () => decideIssue(keyFacts(id), key, act)),
    rotateKey: (id, key, act) => change(act, () => decideRotation(keyFacts(id), key, act)),
    revokeKeys: (id, act) => change(act, () => decideRevocation(keyFacts(id), act)),
    cancelCutover: (id, act) => change(act, () => decideCancellation(keyFacts(id), act)),
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

function wanted(filter: RequestFilter) {
  const { intakesOnly, state: asked, providerId, partnerId, slotDay, submittedFrom, submittedUntil } = filter
  const states = asked === 'waiting' ? ['unassigned', 'pending'] : [asked]
  return ({ isIntake, state, startsAt, localOffsetMinutes, submittedAt, member, ...row }: RequestRecord) =>
    (isIntake || !intakesOnly) &&
    (asked === undefined || states.includes(state)) &&
    (providerId === undefined || row.providerId === providerId) &&
    (partnerId === undefined || member?.partnerId === partnerId) &&
    (slotDay === undefined || slotDay === localDayOf(startsAt, localOffsetMinutes)) &&
    submittedAt >= (submittedFrom ?? submittedAt) &&
    submittedAt <= (submittedUntil ?? submittedAt)
}

function localDayOf(startsAt: number | null, offsetMinutes: number | null): number | null {
  if (startsAt === null || offsetMinutes === null) return null
  return Math.floor((startsAt / minuteMillis + offsetMinutes) / dayMinutes)
}

function inOrder(requests: RequestRecord[], part: RequestPart | undefined): RequestRecord[] {
  if (part?.order !== 'slot') return requests
  const start = ({ startsAt }: RequestRecord) => startsAt ?? Number.POSITIVE_INFINITY
  return requests.toSorted((a, b) => (start(a) === start(b) ? a.id - b.id : start(a) - start(b)))
}

function requests(kept: Kept, read: Read, change: Run) {
  const request = (id: number) => byId(requestsOf(kept), id)
  async function place(
    id: number,
    { providerId, startsAt, version }: Omit<placement.AssignmentDraft, 'authorizationNumber'>,
    act: Act,
    decide: (facts: placement.PlacementFacts) => 'stale' | Decision<void>,
  ): Promise<'done' | 'stale'> {
    const answer = await change(act, () =>
      decide({
        request: request(id),
        isProviderKnown: kept.tables.provider.has(providerId),
        since: since(kept, version),
        holders: startsAt === null ? [] : holdersAt(kept, providerId, startsAt),
        held: heldSlots(kept, ({ memberId }) => memberId === request(id)?.member?.id),
      }),
    )
    return (answer ?? 'done') as 'done'
  }
  return {
    async submit(draft) {
      const answer = await change(submissions.submitterOf(draft), () => {
        const { partnerId, externalUserId, slot, retry, submittedAt } = draft
        const member = memberOf(kept, partnerId, externalUserId)
        return submissions.decideSubmission(draft, {
          since: since(kept, draft.version),
          member,
          emailOwnerId: ownerOf(kept, draft.member.email)?.id ?? null,
          holders: slot ? holdersAt(kept, slot.providerId, slot.startsAt) : [],
          held: heldSlots(kept, ({ memberId }) => memberId === member?.id),
          conflictAt: conflictAt(kept, submissions.conflictAsked(draft)),
          kept: retry && keptFor(kept, partnerId, retry),
          expired: expiredReplays(kept, submittedAt, retries.mostForgottenBeside),
        })
      })
      if (answer instanceof Refusal) throw answer
      return answer
    },
    forgetReplays: (at, most) => change(null, () => retries.decideForgetting(expiredReplays(kept, at, most))),
    listRequests: (filter, part) =>
      read(() => {
        const all = inOrder(requestsOf(kept).filter(wanted(filter)), part)
        return part ? all.slice(part.offset, part.offset + part.most) : all
      }),
    countWaiting: (filter) =>
      read(() => {
        const waiting = requestsOf(kept)
          .filter(wanted(filter))
          .filter(wanted({ state: 'waiting' }))
        const times = waiting.map(({ submittedAt }) => submittedAt)
        return { count: times.length, oldestAt: times.length > 0 ? Math.min(...times) : null }
      }),
    listRequestIds: (filter) =>
      read(() =>
        requestsOf(kept)
          .filter(wanted(filter))
          .map(({ id }) => id),
      ),
    listRequestIdsOf: (memberId) => {
      const theirs = () => requestsOf(kept).filter(({ member }) => member?.id === memberId)
      return read(() => theirs().map(({ id }) => id))
    },
    findRequest: (id) => read(() => request(id)),
    listHeld: (days) =>
      read(() => {
        const isHeld = ({ state, providerId, startsAt }: RequestRecord) =>
          holdsSlot(state) &&
          startsAt !== null &&
          days.some(
            ({ providerIds, from, until }) =>
              providerIds.includes(providerId as number) && startsAt >= from && startsAt < until,
          )
        return requestsOf(kept)
          .filter(isHeld)
          .sort((a, b) => Number(a.startsAt) - Number(b.startsAt) || a.id - b.id)
      }),
    readScreening: (id, act) => change(act, () => moves.decideReading(request(id), answersOf(kept, id))),
    sortingAnswers: (ids) => read(() => new Map(ids.map((id) => [id, answersOf(kept, id)]))),
    assign: (id, draft, act) => place(id, draft, act, (facts) => placement.decideAssignment(draft, facts)),
    move: (id, draft, act) => place(id, draft, act, (facts) => placement.decideMove(draft, facts)),
    close: (id, act, reason) => change(act, () => moves.decideClosing(request(id), act, reason)),
    accept: (id, act) => change(act, () => moves.decideAcceptance(request(id), act)),
    decline: (id, act, reason) => change(act, () => moves.decideDecline(request(id), act, reason)),
    listSubmitted: (partnerId, from) => {
      const isTheirs = (one: RequestRecord) => one.member?.partnerId === partnerId && one.submittedAt >= from
      return read(() => requestsOf(kept).filter(isTheirs))
    },
    declineAll: (ids, act, reason) => change(act, () => moves.decideDeclines(ids.map(request), act, reason)),
    addNote: (id, text, act) => change(act, () => decideNote(request(id), text, act)),
    countNotes: (id) => read(() => notesOf(kept, id).length),
    readNotes: (id, act) => change(act, () => decideReadingNotes(request(id), notesOf(kept, id))),
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
      screeningAnswers: answersOf(kept, request.id),
      notes: notesOf(kept, request.id),
    }))
    const { createdAt, updatedAt } = row ?? { createdAt: 0, updatedAt: 0 }
    return row ? { member: member(id) as Member, createdAt, updatedAt, requests: theirs } : null
  }
  return {
    findMember: (partnerId, externalUserId) => read(() => memberOf(kept, partnerId, externalUserId)),
    findMemberById: (id) => read(() => member(id)),
    listMembers: (after, most) =>
      read(() => membersOf(kept).filter(({ id }) => id > after)).then((later) => later.slice(0, most)),
    findMemberByEmail: (email, act) => change(act, () => people.decideFinding(ownerOf(kept, email))),
    releaseEmail: (id, act) => change(act, () => people.decideEmailRelease(member(id), act)),
    setMemberActive: (id, active, act) => change(act, () => people.decideMemberState(member(id), active)),
    exportMember: (id, act) => change(act, () => people.decideExport(held(id))),
    eraseMember: (id, act) =>
      change(act, () => {
        const theirs = requestsBy(id)
        const noteIds = theirs.flatMap((one) => notesOf(kept, one.id).map((note) => note.id))
        return people.decideErasure(member(id), theirs, noteIds)
      }),
  } satisfies Partial<Store>
}

const isLook = ({ action, outcome }: AuditLine) => action === 'request.read-screening' && outcome === 'done'

function auditLog(kept: Kept, read: Read) {
  return {
    appendAudit: (entries) => read(() => append(kept, entries)),
    listAudit: (limit, filter = {}) => read(() => filterLines(kept.audit, limit, filter)),
    countRefusals: (asked) => read(() => countRefusals(kept.audit, asked)),
    listLookedAt: (ids) =>
      read(() =>
        ids.filter((id) => kept.audit.some((line) => isLook(line) && line.record === `request ${id}`)),
      ),
    auditHead: () => read(() => kept.auditState.acts.head),
    verifyAudit: (noted) => read(() => verifyLines(kept.auditState, kept.audit, noted)),
  } satisfies Partial<Store>
}
