import type { Act, AuditFilter, AuditHead } from '../../src/domain/audit'
import { type DirectoryComparison, decideLoad } from '../../src/domain/decisions/compare-directory'
import { decideIssue, decideRotation } from '../../src/domain/decisions/partners'
import { decideForgetting, expiredBy } from '../../src/domain/decisions/submission'
import { decideAcknowledgement, type PlacementDraft } from '../../src/domain/decisions/transitions'
import type { RefusalQuery } from '../../src/domain/errors'
import type { PartnerRates } from '../../src/domain/limits'
import type { NewKey } from '../../src/domain/partner'
import type { Maintenance } from '../../src/domain/ports/maintenance'
import type { RequestFilter, RequestPart, Store } from '../../src/domain/ports/store'
import type { TimeOff } from '../../src/domain/provider'
import type { Context } from '../../src/operations/context'
import { findByEmail } from '../../src/operations/find-records'
import * as members from '../../src/operations/members'
import * as onboarding from '../../src/operations/partners'
import * as providers from '../../src/operations/providers'
import * as timeOff from '../../src/operations/providers'
import * as notes from '../../src/operations/requests'
import * as requests from '../../src/operations/requests'
import * as tokens from '../../src/operations/tokens'
import { placeOn } from '../../src/operations/transitions'

export function actsOf({
  store,
  maintenance,
}: {
  readonly store: Store
  readonly maintenance?: Maintenance | undefined
}) {
  const records = { store, maintenance, directory: null } as unknown as Context
  const named = (id: number) => ({ id }) as never
  const orNull = (id: number | null) => (id === null ? null : named(id))
  return {
    listOrganizations: () => onboarding.listOrganizations(records),
    addOrganization: (name: string, act: Act) => onboarding.addOrganization(records, name, act),
    renameOrganization: (id: number, name: string, act: Act) =>
      onboarding.renameOrganization(records, named(id), name, act),
    setOrganizationActive: (id: number, active: boolean, act: Act) =>
      onboarding.setOrganizationActive(records, named(id), active, act),
    listPartners: () => onboarding.listPartners(records),
    addPartner: (name: string, organizationId: number | null, act: Act) =>
      onboarding.addPartner(records, name, orNull(organizationId), act),
    renamePartner: (id: number, name: string, act: Act) =>
      onboarding.renamePartner(records, named(id), name, act),
    setPartnerActive: (id: number, active: boolean, act: Act) =>
      onboarding.setPartnerActive(records, named(id), active, act),
    setPartnerOrganization: (id: number, organizationId: number | null, act: Act) =>
      onboarding.setPartnerOrganization(records, named(id), orNull(organizationId), act),
    setPartnerRates: (id: number, rates: Partial<PartnerRates>, act: Act) =>
      onboarding.setPartnerRates(records, named(id), rates, act),

    setPartnerNetworks: (id: number, networks: string | null, act: Act) =>
      onboarding.setPartnerNetworks(records, named(id), networks, act),

    listKeys: () => tokens.listTokens(records),
    issueKey: (partnerId: number, key: NewKey, act: Act) =>
      tokens.changeKeys(records, partnerId, act, (known) => decideIssue(known, key, act)),
    rotateKey: (partnerId: number, key: NewKey, act: Act) =>
      tokens.changeKeys(records, partnerId, act, (known) => decideRotation(known, key, act)),
    revokeKeys: (partnerId: number, act: Act) => tokens.revokeToken(records, named(partnerId), act),
    cancelCutover: (partnerId: number, act: Act) => tokens.cancelCutover(records, named(partnerId), act),

    loadDirectory: (comparison: DirectoryComparison, act: Act) =>
      store.change(
        act,
        ({ changes }) => [changes.sinceExceptTaken(comparison.version)],
        (since) => decideLoad(comparison, since),
        { isLarge: true },
      ),
    setProviderActive: (id: number, active: boolean, act: Act) =>
      providers.setProviderActive(records, named(id), active, act),
    addTimeOff: (id: number, absence: TimeOff, act: Act) => timeOff.storeTimeOff(records, id, absence, act),
    removeTimeOff: async (id: number, absence: TimeOff, act: Act): Promise<void> => {
      await timeOff.removeTimeOff(records, { id, timeOff: [] } as never, absence, act)
    },

    findRequest: (id: number) => store.read(({ requests }) => requests.find(id)),
    listRequests: (filter: RequestFilter, part?: RequestPart) =>
      store.read(async ({ requests }) => {
        const owned = await requests.listOwned(filter, part)
        return (await requests.findAll(owned.map(({ id }) => id))).flatMap((request) => request ?? [])
      }),
    listRequestIds: (filter: RequestFilter) =>
      store.read(async ({ requests }) => (await requests.listOwned(filter)).map(({ id }) => id)),
    listRequestIdsOf: async (memberId: number) =>
      (await store.read(({ requests }) => requests.listOf(memberId))).map(({ id }) => id),
    listSubmitted: (partnerId: number, since: number) =>
      store.read(({ requests }) => requests.submittedBy(partnerId, since)),
    listSlotsBetween: (from: number, until: number) =>
      store.read(({ requests }) => requests.slotsBetween(from, until)),
    findProviderId: (ref: string) => store.read(({ directory }) => directory.findId(ref)),
    listProviderNames: () => store.read(({ directory }) => directory.listProviderNames()),
    listTimeZones: () => store.read(({ directory }) => directory.listTimeZones()),
    countWaiting: (filter: RequestFilter) => store.read(({ requests }) => requests.countWaiting(filter)),
    sortingAnswers: (ids: readonly number[]) => store.read(({ requests }) => requests.readableAnswers(ids)),
    readScreening: async (id: number, act: Act) => (await requests.readScreening(records, id, act)).answers,
    assign: async (id: number, draft: PlacementDraft, act: Act) =>
      endOf(await placeOn(store, 'assign', id, draft, act)),
    move: async (id: number, draft: PlacementDraft, act: Act) =>
      endOf(await placeOn(store, 'move', id, draft, act)),
    accept: (id: number, act: Act) => requests.acceptRequest(records, id, act),
    decline: (id: number, act: Act, reason?: string) =>
      requests.endRequest(records, 'decline', id, act, reason),
    declineAll: (ids: readonly number[], act: Act, reason?: string) =>
      requests.endRequests(records, 'decline', ids, act, reason),
    close: (id: number, act: Act, reason?: string) => requests.endRequest(records, 'close', id, act, reason),
    cancel: (id: number, act: Act, reason?: string) =>
      requests.endRequest(records, 'cancel', id, act, reason),
    findOwn: (partnerId: number, id: number) => store.read(({ requests }) => requests.findOwn(partnerId, id)),
    changesAfter: (partnerId: number, cursor: string | null, most = 100) =>
      store.read(({ requests }) => requests.changesAfter(partnerId, cursor, most)),
    unreadRisks: () => store.read(({ requests }) => requests.unreadRisks()),
    acknowledge: (id: number, localOffsetMinutes: number, act: Act) =>
      store.change(
        act,
        ({ requests }) => [requests.find(id)],
        (request) => decideAcknowledgement(request, localOffsetMinutes),
      ),
    addNote: (id: number, text: string, act: Act) => notes.addNote(records, id, text, act),
    countNotes: (id: number) => notes.countNotes(records, id),
    readNotes: (id: number, act: Act) => notes.readNotes(records, id, act),
    forgetReplays: (at: number, most: number) =>
      store.change(null, ({ replays }) => [replays.submittedBy(expiredBy(at), most)], decideForgetting),

    findMember: (partnerId: number, externalUserId: string) =>
      store.read(({ members }) => members.find(partnerId, externalUserId)),
    findMemberById: (id: number) => store.read(({ members }) => members.findForStaff(id)),
    listMembers: (before: number, most: number) => store.read(({ members }) => members.list(before, most)),
    findMemberByEmail: (email: string, act: Act) => findByEmail(records, email, act),
    editMember: members.editMember.bind(null, records),
    releaseEmail: (id: number, act: Act) => members.releaseEmail(records, named(id), act),
    setMemberActive: (id: number, active: boolean, act: Act) =>
      members.setMemberActive(records, named(id), active, act),
    exportMember: (id: number, act: Act) => members.exportMember(records, named(id), act),
    membersDue: (before: number) => Array.fromAsync(members.membersDue(records, before)),
    eraseDue: (ids: readonly number[], before: number, act: Act) => {
      const maintenance = { purge: async () => true, keptAfterErasure: async () => '' }
      return members.eraseDue({ store, maintenance } as never, ids, before, act)
    },
    eraseMember: (id: number, act: Act) => members.storeErasure(records, id, act),

    async listAudit(limit: number, filter?: AuditFilter) {
      // On PostgreSQL, the next act appends the lines of submissions.
      await store.appendAudit([])
      return store.read(({ audit }) => audit.list(limit, filter))
    },
    countRefusals: (asked: RefusalQuery) => store.read(({ audit }) => audit.countRefusals(asked)),
    countEmailConflicts: (after: number) => store.read(({ audit }) => audit.countEmailConflicts(after)),
    listLookedAt: (ids: readonly number[]) => store.read(({ audit }) => audit.listReviewed(ids)),
    async auditHead() {
      await store.appendAudit([])
      return store.read(({ audit }) => audit.head())
    },
    verifyAudit: (noted: AuditHead | null) => records.maintenance.verifyAudit(noted),
  }
}

export type ActingStore = Store & ReturnType<typeof actsOf>

export function withActs(engine: {
  readonly store: Store
  readonly maintenance?: Maintenance | undefined
}): ActingStore {
  return { ...engine.store, ...actsOf(engine) }
}

/** A context whose first change begins only after `happens`. */
export function meanwhile(context: Context, happens: () => Promise<unknown>): Context {
  let isDone = false
  const store: Store = {
    ...context.store,
    async change(...words) {
      if (!isDone) await happens()
      isDone = true
      return context.store.change(...words)
    },
  }
  return { ...context, store }
}

function endOf(placed: object | 'stale'): 'done' | 'stale' {
  return placed === 'stale' ? placed : 'done'
}
