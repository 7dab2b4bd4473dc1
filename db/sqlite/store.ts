import type { Act } from '../../src/domain/audit'
import { decideLoad } from '../../src/domain/compare-directory'
import * as keys from '../../src/domain/decide-keys'
import * as people from '../../src/domain/decide-member'
import * as moves from '../../src/domain/decide-move'
import { decideNote, decideReadingNotes } from '../../src/domain/decide-note'
import * as onboarding from '../../src/domain/decide-onboarding'
import * as placement from '../../src/domain/decide-placement'
import { decideProviderState, decideTimeOff, decideTimeOffRemoval } from '../../src/domain/decide-provider'
import { decideForgetting, expiredBy, mostForgottenBeside } from '../../src/domain/decide-replay'
import { conflictAsked, decideSubmission, submitterOf } from '../../src/domain/decide-submission'
import { Refusal } from '../../src/domain/errors'
import type { Store } from '../../src/domain/store'
import type { Decision } from '../../src/domain/writes'
import { carryOut } from './carry-out'
import { toRefusal } from './constraint'
import type { Queries } from './queries'
import type { Writer } from './writer'

/** Reads, and tells in the domain's words why it could not. */
type Read = <T>(work: () => T | Promise<T>) => Promise<T>

/** Decides and writes in one transaction, in the name of whoever acts; null for a partner, who leaves no audit line. */
type Change = <T>(act: Act | null, decide: () => Decision<T>) => Promise<T>

/** The Store on SQLite: facts are fetched, the domain decides, what it decided is written. */
export function sqliteStore(queries: Queries, writer: Writer): Store {
  const read: Read = async (work) => {
    try {
      return await work()
    } catch (error) {
      throw toRefusal(error)
    }
  }
  const change: Change = (act, decide) => writer.write(() => carryOut(queries, decide(), act))
  return {
    ...partnerStore(queries, read, change),
    ...directoryStore(queries, change),
    ...requestStore(queries, read, change, writer),
    ...memberStore(queries, read, change),
    ...auditStore(queries, read, writer),
    noteKeyUses: (uses) => writer.write(() => queries.partners.noteUses(uses)),
  }
}

function partnerStore({ partners }: Queries, read: Read, change: Change) {
  /** Undefined for an id that is nobody's, null for none. */
  const organizationOf = (id: number | null) =>
    id === null ? null : (partners.findOrganization(id) ?? undefined)
  const keyFacts = (id: number) => ({ partner: partners.find(id), keys: partners.keyRecordsOf(id) })
  return {
    listOrganizations: () => read(partners.listOrganizations),
    addOrganization: (name, act) =>
      change(act, () => onboarding.decideOrganization(partners.findOrganizationNamed(name), name, act)),
    renameOrganization: (id, name, act) =>
      change(act, () => {
        const { findOrganization, findOrganizationNamed } = partners
        return onboarding.decideOrganizationRename(findOrganization(id), findOrganizationNamed(name), name)
      }),
    setOrganizationActive: (id, active, act) =>
      change(act, () => onboarding.decideOrganizationState(partners.findOrganization(id), active)),

    listPartners: () => read(partners.list),
    addPartner: (name, organizationId, act) =>
      change(act, () =>
        onboarding.decidePartner(partners.findNamed(name), organizationOf(organizationId), name, act),
      ),
    renamePartner: (id, name, act) =>
      change(act, () => onboarding.decidePartnerRename(partners.find(id), partners.findNamed(name), name)),
    setPartnerActive: (id, active, act) =>
      change(act, () => onboarding.decidePartnerState(partners.find(id), active)),
    setPartnerOrganization: (id, organizationId, act) =>
      change(act, () =>
        onboarding.decidePartnerOrganization(partners.find(id), organizationOf(organizationId)),
      ),
    setPartnerRates: (id, rates, act) =>
      change(act, () => onboarding.decidePartnerRates(partners.find(id), rates)),

    listKeys: () => read(partners.listKeyRecords),
    issueKey: (partnerId, key, act) => change(act, () => keys.decideIssue(keyFacts(partnerId), key, act)),
    rotateKey: (partnerId, key, act) => change(act, () => keys.decideRotation(keyFacts(partnerId), key, act)),
    revokeKeys: (partnerId, act) => change(act, () => keys.decideRevocation(keyFacts(partnerId), act)),
    cancelCutover: (partnerId, act) => change(act, () => keys.decideCancellation(keyFacts(partnerId), act)),
  } satisfies Partial<Store>
}

function directoryStore({ directory, changes }: Queries, change: Change) {
  const find = (id: number) => directory.findProviders([id])
  const provider = (id: number) => find(id).providers[0] ?? null
  return {
    loadDirectory: (comparison, act) =>
      change(act, () => decideLoad(comparison, changes.sinceButTaken(comparison.version))),
    setProviderActive: (id, active, act) =>
      change(act, () => decideProviderState(provider(id) ?? find(id).unreadable[0] ?? null, active)),
    addTimeOff: (id, absence, act) => change(act, () => decideTimeOff(provider(id), absence)),
    removeTimeOff: (id, absence, act) => change(act, () => decideTimeOffRemoval(provider(id), absence)),
  } satisfies Partial<Store>
}

function requestStore(queries: Queries, read: Read, change: Change, writer: Writer) {
  const { requests, notes, slots, replays, members, directory, changes, audit } = queries

  /** Gives a request a provider, and a slot if one is named, if the facts allow it. */
  function place(
    id: number,
    { providerId, startsAt, version }: Omit<placement.AssignmentDraft, 'authorizationNumber'>,
    act: Act,
    decide: (facts: placement.PlacementFacts) => 'stale' | Decision,
  ): Promise<'done' | 'stale'> {
    return writer.write(() => {
      const request = requests.find(id)
      const { member } = request ?? {}
      const decision = decide({
        request,
        isProviderKnown: directory.findProviders([providerId]).providers.length > 0,
        since: changes.sinceButTaken(version),
        holders: startsAt === null ? [] : slots.touching(providerId, startsAt),
        held: startsAt !== null && member ? slots.heldBy(member.id, startsAt) : [],
      })
      if (decision === 'stale') return decision
      carryOut(queries, decision, act)
      return 'done'
    })
  }

  return {
    async submit(draft) {
      const answer = await writer.write(() => {
        const { partnerId, externalUserId, slot, retry, submittedAt } = draft
        const member = members.find(partnerId, externalUserId)
        const decision = decideSubmission(draft, {
          since: changes.sinceButTaken(draft.version),
          member,
          emailOwnerId: members.ownerOf(draft.member.email),
          holders: slot ? slots.touching(slot.providerId, slot.startsAt) : [],
          held: slot && member ? slots.heldBy(member.id, submittedAt) : [],
          conflictAt: audit.conflictAt(conflictAsked(draft)),
          kept: retry && replays.find(partnerId, retry),
          expired: retry ? replays.submittedBy(expiredBy(submittedAt), mostForgottenBeside) : [],
        })
        return decision === 'stale' ? decision : carryOut(queries, decision, submitterOf(draft))
      })
      // Thrown where its line in the audit log is on disk.
      if (answer instanceof Refusal) throw answer
      return answer
    },

    async forgetReplays(at, most) {
      const expired = () => replays.submittedBy(expiredBy(at), most)
      // Without the lock first: mostly there is nothing to do.
      const isAny = await read(() => expired().length > 0)
      return isAny ? change(null, () => decideForgetting(expired())) : 0
    },

    listRequests: (filter, part) => read(() => requests.list(filter, part)),
    countRequests: (filter) => read(() => requests.count(filter)),
    listRequestIds: (filter) => read(() => requests.listIds(filter)),
    listRequestIdsOf: (memberId) => read(() => requests.listOf(memberId).map(({ id }) => id)),
    findRequest: (id) => read(() => requests.find(id)),
    listHeld: (days) => read(() => requests.held(days)),
    readScreening: (id, act) =>
      change(act, () => moves.decideReading(requests.find(id), requests.screeningOf(id))),
    sortingAnswers: (ids) => read(() => new Map(requests.readableAnswers(ids))),

    assign: (id, draft, act) => place(id, draft, act, (facts) => placement.decideAssignment(draft, facts)),
    move: (id, draft, act) => place(id, draft, act, (facts) => placement.decideMove(draft, facts)),
    close: (id, act, reason) => change(act, () => moves.decideClosing(requests.find(id), act, reason)),
    accept: (id, act) => change(act, () => moves.decideAcceptance(requests.find(id), act)),
    decline: (id, act, reason) => change(act, () => moves.decideDecline(requests.find(id), act, reason)),
    listSubmitted: (partnerId, since) => read(() => requests.submittedBy(partnerId, since)),
    declineAll: (ids, act, reason) =>
      change(act, () => moves.decideDeclines(ids.map(requests.find), act, reason)),
    acknowledge: (id, localOffsetMinutes, act) =>
      change(act, () => moves.decideAcknowledgement(requests.find(id), localOffsetMinutes)),
    addNote: (id, text, act) => change(act, () => decideNote(requests.find(id), text, act)),
    countNotes: (id) => read(() => notes.idsOf(id).length),
    readNotes: (id, act) => change(act, () => decideReadingNotes(requests.find(id), notes.listOf(id))),
  } satisfies Partial<Store>
}

function memberStore({ members, requests, notes }: Queries, read: Read, change: Change) {
  const held = (id: number): people.MemberExport | null => {
    const member = members.findById(id)
    if (!member) return null
    const theirs = requests.listWithAnswers(id)
    const all = theirs.map((request) => ({ ...request, notes: notes.listOf(request.id) }))
    return { member, ...members.timesOf(id), requests: all }
  }
  return {
    findMember: (partnerId, externalUserId) => read(() => members.find(partnerId, externalUserId)),
    findMemberById: (id) => read(() => members.findForStaff(id)),
    listMembers: (after, most) => read(() => members.list(after, most)),
    findMemberByEmail: (email, act) =>
      change(act, () => people.decideFinding(members.findForStaff(members.ownerOf(email) ?? 0))),
    releaseEmail: (id, act) => change(act, () => people.decideEmailRelease(members.findById(id), act)),
    setMemberActive: (id, active, act) =>
      change(act, () => people.decideMemberState(members.findForStaff(id), active)),
    async exportMember(id, act) {
      // Before the lock is taken, for which bookings would wait: it may be much.
      const found = await read(() => held(id))
      return change(act, () => people.decideExport(members.findForStaff(id) && found))
    },
    eraseMember: (id, act) =>
      change(act, () => {
        const theirs = requests.listOf(id)
        const noteIds = theirs.flatMap((request) => notes.idsOf(request.id))
        return people.decideErasure(members.findForStaff(id), theirs, noteIds)
      }),
  } satisfies Partial<Store>
}

function auditStore({ audit }: Queries, read: Read, writer: Writer) {
  return {
    appendAudit: (entries) => writer.write(() => audit.append(entries)),
    listAudit: (limit, filter) => read(() => audit.list(limit, filter)),
    countRefusals: (asked) => read(() => audit.countRefusals(asked)),
    listLookedAt: (ids) => read(() => audit.looksAtRisk(ids)),
    auditHead: () => read(audit.head),
    verifyAudit: (noted) => read(() => audit.verify(noted)),
  } satisfies Partial<Store>
}
