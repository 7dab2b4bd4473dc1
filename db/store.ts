import type { Act } from '../src/domain/audit'
import type { RequestRecord } from '../src/domain/booking-request'
import { decideLoad } from '../src/domain/compare-directory'
import * as keys from '../src/domain/decide-keys'
import * as people from '../src/domain/decide-member'
import * as moves from '../src/domain/decide-move'
import { decideNote, decideReadingNotes } from '../src/domain/decide-note'
import * as onboarding from '../src/domain/decide-onboarding'
import * as placement from '../src/domain/decide-placement'
import { decideProviderState, decideTimeOff, decideTimeOffRemoval } from '../src/domain/decide-provider'
import { decideForgetting, expiredBy } from '../src/domain/decide-replay'
import type { UnreadableProvider } from '../src/domain/directory-feed'
import type { Organization, Partner } from '../src/domain/partner'
import type { Provider } from '../src/domain/provider'
import type { Store } from '../src/domain/store'
import type { Decision } from '../src/domain/writes'
import type { MaybePromise } from './queries/engine'
import type { Facts } from './queries/queries'

/** Reads facts. @throws Refusal if the engine cannot */
export type Read = <T>(work: (facts: Facts) => MaybePromise<T>) => Promise<T>

/** The values of several facts. */
type AllRead<Asked extends readonly unknown[]> = { -readonly [K in keyof Asked]: Awaited<Asked[K]> }

export interface How {
  /** Whether no submission may run meanwhile, because it may be about the same people or slots. */
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
type EngineStore = Pick<Store, 'submit' | 'appendAudit' | 'noteKeyUses'>

/** The Store over an engine: reads facts, lets the domain decide, and writes what it decided. */
export function storeOver(read: Read, change: Change, engine: EngineStore): Store {
  return {
    ...partnerStore(read, change),
    ...directoryStore(change),
    ...requestStore(read, change),
    ...memberStore(read, change),
    ...auditStore(read),
    ...engine,
  }
}

function partnerStore(read: Read, change: Change) {
  const organizationOf = ({ partners }: Facts, id: number | null) =>
    id === null ? null : partners.findOrganization(id)
  /** Undefined for an unknown id, null for none. */
  const named = (id: number | null, found: Organization | null) => (id === null ? null : (found ?? undefined))
  const ofOrganization = <T>(id: number, act: Act, decide: (found: Organization | null) => Decision<T>) =>
    change(act, ({ partners }) => [partners.findOrganization(id)], decide)
  const ofPartner = <T>(id: number, act: Act, decide: (found: Partner | null) => Decision<T>) =>
    change(act, ({ partners }) => [partners.find(id)], decide)
  const ofKeys = <T>(id: number, act: Act, decide: (found: keys.KeyFacts) => Decision<T>) =>
    change(
      act,
      ({ partners }) => [partners.find(id), partners.keyRecordsOf(id)],
      (partner, known) => decide({ partner, keys: known }),
    )
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
      ofOrganization(id, act, (found) => onboarding.decideOrganizationState(found, active)),

    listPartners: () => read(({ partners }) => partners.list()),
    addPartner: (name, organizationId, act) =>
      change(
        act,
        (facts) => [facts.partners.findNamed(name), organizationOf(facts, organizationId)],
        (known, found) => onboarding.decidePartner(known, named(organizationId, found), name, act),
      ),
    renamePartner: (id, name, act) =>
      change(
        act,
        ({ partners }) => [partners.find(id), partners.findNamed(name)],
        (partner, known) => onboarding.decidePartnerRename(partner, known, name),
      ),
    setPartnerActive: (id, active, act) =>
      ofPartner(id, act, (partner) => onboarding.decidePartnerState(partner, active)),
    setPartnerOrganization: (id, organizationId, act) =>
      change(
        act,
        (facts) => [facts.partners.find(id), organizationOf(facts, organizationId)],
        (partner, found) => onboarding.decidePartnerOrganization(partner, named(organizationId, found)),
      ),
    setPartnerRates: (id, rates, act) =>
      ofPartner(id, act, (partner) => onboarding.decidePartnerRates(partner, rates)),

    listKeys: () => read(({ partners }) => partners.listKeyRecords()),
    issueKey: (partnerId, key, act) => ofKeys(partnerId, act, (known) => keys.decideIssue(known, key, act)),
    rotateKey: (partnerId, key, act) =>
      ofKeys(partnerId, act, (known) => keys.decideRotation(known, key, act)),
    revokeKeys: (partnerId, act) => ofKeys(partnerId, act, (known) => keys.decideRevocation(known, act)),
    cancelCutover: (partnerId, act) => ofKeys(partnerId, act, (known) => keys.decideCancellation(known, act)),
  } satisfies Partial<Store>
}

function directoryStore(change: Change) {
  const ofProvider = <T>(
    id: number,
    act: Act,
    decide: (found: Provider | null, unreadable: UnreadableProvider | null) => Decision<T>,
  ) =>
    change(
      act,
      ({ directory }) => [directory.findProviders([id])],
      ({ providers, unreadable }) => decide(providers[0] ?? null, unreadable[0] ?? null),
    )
  return {
    loadDirectory: (comparison, act) =>
      change(
        act,
        ({ changes }) => [changes.sinceButTaken(comparison.version)],
        (since) => decideLoad(comparison, since),
        { isLarge: true },
      ),
    setProviderActive: (id, active, act) =>
      ofProvider(id, act, (found, unreadable) => decideProviderState(found ?? unreadable, active)),
    addTimeOff: (id, absence, act) => ofProvider(id, act, (found) => decideTimeOff(found, absence)),
    removeTimeOff: (id, absence, act) => ofProvider(id, act, (found) => decideTimeOffRemoval(found, absence)),
  } satisfies Partial<Store>
}

/** The answer to a placement. A stale one changes nothing. */
function placed(decision: 'stale' | Decision): Decision<'done' | 'stale'> {
  if (decision === 'stale') return { writes: [], taken: [], audit: null, answer: () => 'stale' }
  return decision instanceof Error ? decision : { ...decision, answer: () => 'done' }
}

function requestStore(read: Read, change: Change) {
  const ofRequest = <T>(id: number, act: Act, decide: (found: RequestRecord | null) => Decision<T>) =>
    change(act, ({ requests }) => [requests.find(id)], decide)
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
    close: (id, act, reason) => ofRequest(id, act, (request) => moves.decideClosing(request, act, reason)),
    accept: (id, act) => ofRequest(id, act, (request) => moves.decideAcceptance(request, act)),
    decline: (id, act, reason) => ofRequest(id, act, (request) => moves.decideDecline(request, act, reason)),
    listSubmitted: (partnerId, since) => read(({ requests }) => requests.submittedBy(partnerId, since)),
    declineAll: (ids, act, reason) =>
      change(
        act,
        ({ requests }) => [requests.findAll(ids)],
        (requests) => moves.decideDeclines(requests, act, reason),
      ),
    acknowledge: (id, localOffsetMinutes, act) =>
      ofRequest(id, act, (request) => moves.decideAcknowledgement(request, localOffsetMinutes)),
    addNote: (id, text, act) => ofRequest(id, act, (request) => decideNote(request, text, act)),
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
      // Read before the lock, because it may take long.
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
