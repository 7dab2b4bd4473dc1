import type { Act } from '../src/domain/audit'
import { decideLoad } from '../src/domain/compare-directory'
import * as keys from '../src/domain/decide-keys'
import * as people from '../src/domain/decide-member'
import * as moves from '../src/domain/decide-move'
import { decideNote, decideReadingNotes } from '../src/domain/decide-note'
import * as onboarding from '../src/domain/decide-onboarding'
import * as placement from '../src/domain/decide-placement'
import { decideProviderState, decideTimeOff, decideTimeOffRemoval } from '../src/domain/decide-provider'
import { decideForgetting, expiredBy } from '../src/domain/decide-replay'
import type { Refusal } from '../src/domain/errors'
import type { Organization } from '../src/domain/partner'
import type { Store } from '../src/domain/store'
import type { Decision, Outcome } from '../src/domain/writes'
import type { MaybePromise } from './queries/engine'
import type { Facts } from './queries/queries'

/** Reads facts. @throws Refusal if the engine cannot */
export type Read = <T>(work: (facts: Facts) => MaybePromise<T>) => Promise<T>

/** The values of several facts. */
type AllRead<Asked extends readonly unknown[]> = { -readonly [K in keyof Asked]: Awaited<Asked[K]> }

/** How a change is done. */
export interface How {
  /** Whether no submission may be under way meanwhile, because it may be about the same people or slots. */
  readonly isAlone?: boolean
  /** Whether it may write thousands of records, and so take long. */
  readonly isLarge?: boolean
}

/**
 * In one transaction: reads facts, decides, and writes what was decided. The act is null for the service itself, which
 * leaves no audit line.
 */
export type Change = <const Asked extends readonly unknown[], Answer>(
  act: Act | null,
  ask: (facts: Facts) => Asked,
  decide: (...facts: AllRead<Asked>) => Decision<Answer>,
  how?: How,
) => Promise<Answer>

/** What each engine does in its own way. */
type Own = Pick<Store, 'submit' | 'appendAudit' | 'noteKeyUses'>

/** The Store over an engine: facts are fetched, the domain decides, what it decided is written. */
export function storeOver(read: Read, change: Change, own: Own): Store {
  return {
    ...partnerStore(read, change),
    ...directoryStore(change),
    ...requestStore(read, change),
    ...memberStore(read, change),
    ...auditStore(read),
    ...own,
  }
}

function partnerStore(read: Read, change: Change) {
  const organizationOf = (id: number | null) => (facts: Facts) =>
    id === null ? null : facts.partners.findOrganization(id)
  /** Undefined for an id that is nobody's, null for none. */
  const named = (id: number | null, found: Organization | null) => (id === null ? null : (found ?? undefined))
  const keyFacts = (id: number) => (facts: Facts) =>
    [facts.partners.find(id), facts.partners.keyRecordsOf(id)] as const
  return {
    listOrganizations: () => read(({ partners }) => partners.listOrganizations()),
    addOrganization: (name, act) =>
      change(
        act,
        ({ partners }) => [partners.findOrganizationNamed(name)],
        (known) => onboarding.decideOrganization(known, name, act),
      ),
    renameOrganization: (id, name, act) =>
      change(
        act,
        ({ partners }) => [partners.findOrganization(id), partners.findOrganizationNamed(name)],
        (organization, known) => onboarding.decideOrganizationRename(organization, known, name),
      ),
    setOrganizationActive: (id, active, act) =>
      change(
        act,
        ({ partners }) => [partners.findOrganization(id)],
        (organization) => onboarding.decideOrganizationState(organization, active),
      ),

    listPartners: () => read(({ partners }) => partners.list()),
    addPartner: (name, organizationId, act) =>
      change(
        act,
        (facts) => [facts.partners.findNamed(name), organizationOf(organizationId)(facts)],
        (known, found) => onboarding.decidePartner(known, named(organizationId, found), name, act),
      ),
    renamePartner: (id, name, act) =>
      change(
        act,
        ({ partners }) => [partners.find(id), partners.findNamed(name)],
        (partner, known) => onboarding.decidePartnerRename(partner, known, name),
      ),
    setPartnerActive: (id, active, act) =>
      change(
        act,
        ({ partners }) => [partners.find(id)],
        (partner) => onboarding.decidePartnerState(partner, active),
      ),
    setPartnerOrganization: (id, organizationId, act) =>
      change(
        act,
        (facts) => [facts.partners.find(id), organizationOf(organizationId)(facts)],
        (partner, found) => onboarding.decidePartnerOrganization(partner, named(organizationId, found)),
      ),
    setPartnerRates: (id, rates, act) =>
      change(
        act,
        ({ partners }) => [partners.find(id)],
        (partner) => onboarding.decidePartnerRates(partner, rates),
      ),

    listKeys: () => read(({ partners }) => partners.listKeyRecords()),
    issueKey: (partnerId, key, act) =>
      change(act, keyFacts(partnerId), (partner, known) =>
        keys.decideIssue({ partner, keys: known }, key, act),
      ),
    rotateKey: (partnerId, key, act) =>
      change(act, keyFacts(partnerId), (partner, known) =>
        keys.decideRotation({ partner, keys: known }, key, act),
      ),
    revokeKeys: (partnerId, act) =>
      change(act, keyFacts(partnerId), (partner, known) =>
        keys.decideRevocation({ partner, keys: known }, act),
      ),
    cancelCutover: (partnerId, act) =>
      change(act, keyFacts(partnerId), (partner, known) =>
        keys.decideCancellation({ partner, keys: known }, act),
      ),
  } satisfies Partial<Store>
}

function directoryStore(change: Change) {
  const found = (id: number) => (facts: Facts) => [facts.directory.findProviders([id])] as const
  return {
    loadDirectory: (comparison, act) =>
      change(
        act,
        ({ changes }) => [changes.sinceButTaken(comparison.version)],
        (since) => decideLoad(comparison, since),
        { isLarge: true },
      ),
    setProviderActive: (id, active, act) =>
      change(act, found(id), ({ providers, unreadable }) =>
        decideProviderState(providers[0] ?? unreadable[0] ?? null, active),
      ),
    addTimeOff: (id, absence, act) =>
      change(act, found(id), ({ providers }) => decideTimeOff(providers[0] ?? null, absence)),
    removeTimeOff: (id, absence, act) =>
      change(act, found(id), ({ providers }) => decideTimeOffRemoval(providers[0] ?? null, absence)),
  } satisfies Partial<Store>
}

/** What a placement is answered with: one that is stale has changed nothing. */
function placed(decision: 'stale' | Decision): Decision<'done' | 'stale'> {
  if (decision === 'stale') return { writes: [], taken: [], audit: null, answer: () => 'stale' }
  return isRefusal(decision) ? decision : { ...decision, answer: () => 'done' }
}

function isRefusal(decision: Refusal | Outcome<void>): decision is Refusal {
  return decision instanceof Error
}

function requestStore(read: Read, change: Change) {
  const found = (id: number) => (facts: Facts) => [facts.requests.find(id)] as const
  return {
    async forgetReplays(at, most) {
      const expired = ({ replays }: Facts) => replays.submittedBy(expiredBy(at), most)
      // Without a lock first: mostly there is nothing to do.
      const isAny = (await read(expired)).length > 0
      return isAny ? change(null, (facts) => [expired(facts)], decideForgetting) : 0
    },

    listRequests: (filter, part) => read(({ requests }) => requests.list(filter, part)),
    countWaiting: (filter) => read(({ requests }) => requests.countWaiting(filter)),
    listRequestIds: (filter) => read(({ requests }) => requests.listIds(filter)),
    listRequestIdsOf: async (memberId) =>
      (await read(({ requests }) => requests.listOf(memberId))).map(({ id }) => id),
    findRequest: (id) => read(({ requests }) => requests.find(id)),
    listHeld: (days) => read(({ requests }) => requests.held(days)),
    readScreening: (id, act) =>
      change(act, ({ requests }) => [requests.find(id), requests.screeningOf(id)], moves.decideReading),
    sortingAnswers: (ids) => read(({ requests }) => requests.readableAnswers(ids)),

    assign: (id, draft, act) =>
      change(
        act,
        ({ placement }) => [placement.find(id, draft)],
        (facts) => placed(placement.decideAssignment(draft, facts)),
        { isAlone: true },
      ),
    move: (id, draft, act) =>
      change(
        act,
        ({ placement }) => [placement.find(id, draft)],
        (facts) => placed(placement.decideMove(draft, facts)),
        { isAlone: true },
      ),
    close: (id, act, reason) =>
      change(act, found(id), (request) => moves.decideClosing(request, act, reason)),
    accept: (id, act) => change(act, found(id), (request) => moves.decideAcceptance(request, act)),
    decline: (id, act, reason) =>
      change(act, found(id), (request) => moves.decideDecline(request, act, reason)),
    listSubmitted: (partnerId, since) => read(({ requests }) => requests.submittedBy(partnerId, since)),
    declineAll: (ids, act, reason) =>
      change(
        act,
        ({ requests }) => [requests.findAll(ids)],
        (requests) => moves.decideDeclines(requests, act, reason),
      ),
    acknowledge: (id, localOffsetMinutes, act) =>
      change(act, found(id), (request) => moves.decideAcknowledgement(request, localOffsetMinutes)),
    addNote: (id, text, act) => change(act, found(id), (request) => decideNote(request, text, act)),
    countNotes: async (id) => (await read(({ notes }) => notes.idsOf(id))).length,
    readNotes: (id, act) =>
      change(act, ({ requests, notes }) => [requests.find(id), notes.listOf(id)], decideReadingNotes),
  } satisfies Partial<Store>
}

function memberStore(read: Read, change: Change) {
  const held = (id: number) =>
    read(async ({ members, requests, notes }): Promise<people.MemberExport | null> => {
      const member = await members.findById(id)
      if (!member) return null
      const all = []
      for (const request of await requests.listWithAnswers(id)) {
        all.push({ ...request, notes: await notes.listOf(request.id) })
      }
      return { member, ...(await members.timesOf(id)), requests: all }
    })
  return {
    findMember: (partnerId, externalUserId) => read(({ members }) => members.find(partnerId, externalUserId)),
    findMemberById: (id) => read(({ members }) => members.findForStaff(id)),
    listMembers: (after, most) => read(({ members }) => members.list(after, most)),
    findMemberByEmail: (email, act) =>
      change(act, ({ members }) => [members.findByEmail(email)], people.decideFinding),
    releaseEmail: (id, act) =>
      change(
        act,
        ({ members }) => [members.findById(id)],
        (member) => people.decideEmailRelease(member, act),
        { isAlone: true },
      ),
    setMemberActive: (id, active, act) =>
      change(
        act,
        ({ members }) => [members.findForStaff(id)],
        (member) => people.decideMemberState(member, active),
        { isAlone: true },
      ),
    async exportMember(id, act) {
      // Before the lock is taken, for which others would wait: it may be much.
      const found = await held(id)
      return change(
        act,
        ({ members }) => [members.findForStaff(id)],
        (member) => people.decideExport(member && found),
      )
    },
    eraseMember: (id, act) =>
      change(
        act,
        ({ members, requests, notes }) => [
          members.findForStaff(id),
          requests.listOf(id),
          notes.idsOfMember(id),
        ],
        people.decideErasure,
        { isAlone: true },
      ),
  } satisfies Partial<Store>
}

function auditStore(read: Read) {
  return {
    listAudit: (limit, filter) => read(({ audit }) => audit.list(limit, filter)),
    countRefusals: (asked) => read(({ audit }) => audit.countRefusals(asked)),
    listLookedAt: (ids) => read(({ audit }) => audit.looksAtRisk(ids)),
    auditHead: () => read(({ audit }) => audit.head()),
    verifyAudit: (noted) => read(({ audit }) => audit.verify(noted)),
  } satisfies Partial<Store>
}
