import type { AuditAction } from '../../src/domain/audit'
import type { RequestRecord, RequestState } from '../../src/domain/booking-request'
import type { Clock } from '../../src/domain/clock'
import { Refusal } from '../../src/domain/errors'
import type { Member } from '../../src/domain/member'
import type { Provider } from '../../src/domain/provider'
import type {
  Assignment,
  AssignmentOutcome,
  DirectoryLoad,
  JudgedSubmission,
  Store,
  SubmissionOutcome,
  TakenSlot,
} from '../../src/domain/store'
import type { Upkeep } from '../../src/domain/upkeep'
import { auditQueries } from './audit'
import { bookingRequestQueries } from './booking-requests'
import { changeQueries, type Noun } from './changes'
import { directoryQueries } from './directory'
import { drizzleOn } from './drizzle'
import { tryCutLog } from './log'
import { memberQueries } from './members'
import { type Opening, openDatabase } from './open'
import { partnerQueries } from './partners'
import { createUpkeep } from './upkeep'
import { Writer } from './writer'

export interface StoreOptions extends Opening {
  /** Who the audit log says it was. */
  readonly actor: string
  readonly clock: Clock
}

/** How much of a large reading is done before other requests get their turn. */
const chunkSize = 500

function* chunksOf(ids: readonly number[]): Generator<readonly number[]> {
  for (let start = 0; start < ids.length; start += chunkSize) yield ids.slice(start, start + chunkSize)
}

function othersTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** The Store on an embedded SQLite database. @throws Refusal database_unusable, as openDatabase does */
export function openStore(options: StoreOptions): Store & { readonly upkeep: Upkeep } {
  const { vault, actor, clock } = options
  const database = openDatabase(options)
  const db = drizzleOn(database)
  const writer = new Writer(database)
  let isClosed = false
  const changes = changeQueries(db)
  const audit = auditQueries(db)
  const partners = partnerQueries(db, vault)
  const directory = directoryQueries(db, changes.add)
  const members = memberQueries(db)
  const requests = bookingRequestQueries(db, vault)

  function submit(submission: JudgedSubmission): SubmissionOutcome {
    const { partnerId, externalUserId, slot } = submission
    if (slot && wasMisjudged(submission.version, slot.providerId)) return { outcome: 'stale' }
    const existing = members.find(partnerId, externalUserId)
    if (existing && !existing.active) return { outcome: 'member_deactivated' }
    const emailOwner = members.ownerOf(submission.member.email)
    if (emailOwner !== null && emailOwner !== existing?.id) return { outcome: 'email_taken' }
    if (slot) {
      const holders = requests.touching(slot.providerId, slot.startsAt)
      if (holders.some((held) => held.memberId === existing?.id && held.startsAt === slot.startsAt)) {
        return { outcome: 'slot_already_yours' }
      }
      if (!submission.slotOffered || holders.length > 0) return { outcome: 'slot_taken' }
    }
    const member = members.save(existing, submission, submission.member, submission.submittedAt)
    const request = requests.add(member, submission)
    if (slot) changes.add('taken', slot.providerId)
    return { outcome: 'stored', request }
  }

  /** Whether what the slot was judged by has changed since. Taken slots are looked up here and never stale. */
  function wasMisjudged(version: number, providerId: number): boolean {
    const since = changes.since(version)
    return (
      since === null ||
      since.some(
        ({ noun, recordId }) => noun === 'region' || (noun === 'provider' && recordId === providerId),
      )
    )
  }

  /** A change of the operator's and its audit line, in one transaction; `noun` where the directory shows it. */
  function change<T>(
    action: AuditAction,
    record: string | ((value: T) => string) | null,
    work: () => T,
  ): Promise<T> {
    return writer.write(() => {
      const value = work()
      const named = typeof record === 'function' ? record(value) : record
      audit.append({ at: clock.now(), actor, action, record: named, outcome: 'done' })
      return value
    })
  }

  /** The same for what the directory shows of a partner, a region or a provider. */
  function shown(
    action: AuditAction,
    noun: 'partner' | 'provider',
    id: number,
    work: () => void,
  ): Promise<void> {
    return change(action, `${noun} ${id}`, () => {
      work()
      changes.add(noun, id)
    })
  }

  function requireRequest(id: number): RequestRecord {
    const request = requests.find(id)
    if (!request) throw new Refusal('record_unknown', 'there is no such request')
    return request
  }

  function requireProvider(id: number): Provider {
    const [provider] = directory.findProviders([id])
    if (!provider) throw new Refusal('record_unknown', 'there is no such provider')
    return provider
  }

  function requireMember(id: number): Member {
    const member = members.findById(id)
    if (!member) throw new Refusal('record_unknown', 'there is no such member')
    return member
  }

  function noteTaken(providerId: number | null): void {
    if (providerId !== null) changes.add('taken', providerId)
  }

  function assign(id: number, assignment: Assignment): AssignmentOutcome {
    const { providerId, startsAt, version } = assignment
    const request = requireRequest(id)
    if (!request.isIntake) return 'not_an_intake'
    requireProvider(providerId)
    // Without a slot too: the provider may have been deactivated since.
    if (wasMisjudged(version, providerId)) return 'stale'
    if (startsAt !== null && requests.touching(providerId, startsAt).some((held) => held.id !== id)) {
      return 'slot_taken'
    }
    requests.assign(id, assignment)
    noteTaken(request.providerId)
    noteTaken(providerId)
    audit.append({
      at: clock.now(),
      actor,
      action: 'request.assign',
      record: `request ${id}`,
      outcome: 'done',
    })
    return 'done'
  }

  function move(id: number, from: readonly RequestState[], name: string): RequestRecord {
    const request = requireRequest(id)
    if (!from.includes(request.state)) {
      throw new Refusal('move_unknown', `a request that is ${request.state} cannot be ${name}`)
    }
    return request
  }

  return {
    upkeep: createUpkeep({ database, writer, audit }),

    async directoryVersion() {
      return changes.newestVersion()
    },

    async readDirectory(since) {
      // Read before all the rest: what is committed meanwhile has a later version and will be read again.
      const version = changes.newestVersion()
      const rows = since === null ? null : changes.since(since)
      const idsOf = (noun: Noun) => [
        ...new Set(rows?.filter((row) => row.noun === noun).map(({ recordId }) => recordId)),
      ]
      const providerIds = rows ? idsOf('provider') : directory.listProviderIds()
      const takenIds = rows ? idsOf('taken') : providerIds
      const providers: Provider[] = []
      const taken = new Map<number, readonly TakenSlot[]>()
      for (const ids of chunksOf(providerIds)) {
        // A transaction, so that a provider's parts are of one moment while another process writes.
        providers.push(...database.transaction(() => directory.findProviders(ids))())
        await othersTurn()
      }
      for (const ids of chunksOf(takenIds)) {
        for (const id of ids) taken.set(id, requests.takenSlots(id))
        await othersTurn()
      }
      return {
        version,
        keys: !rows || idsOf('partner').length > 0 ? partners.listKeys() : null,
        regions: !rows || idsOf('region').length > 0 ? directory.listRegions() : null,
        providers,
        taken,
      }
    },

    async findMember(partnerId, externalUserId) {
      return members.find(partnerId, externalUserId)
    },

    submit: (submission) => writer.write(() => submit(submission)),

    addOrganization: (name, at) =>
      change(
        'organization.add',
        ({ id }) => `organization ${id}`,
        () => partners.addOrganization(name, at),
      ),

    async listOrganizations() {
      return partners.listOrganizations()
    },

    setOrganizationActive: (id, active) =>
      change(active ? 'organization.reactivate' : 'organization.deactivate', `organization ${id}`, () => {
        partners.setOrganizationActive(id, active)
        changes.add('partner', id)
      }),

    addPartner: (name, organizationId, at) =>
      change(
        'partner.add',
        ({ id }) => `partner ${id}`,
        () => partners.addPartner(name, organizationId, at),
      ),

    async listPartners() {
      return partners.list()
    },

    setPartnerActive: (id, active) =>
      shown(active ? 'partner.reactivate' : 'partner.deactivate', 'partner', id, () =>
        partners.setPartnerActive(id, active),
      ),

    setPartnerOrganization: (id, organizationId) =>
      shown('partner.set-organization', 'partner', id, () =>
        partners.setPartnerOrganization(id, organizationId),
      ),

    addKey: (partnerId, key) =>
      shown(key.startsAt > key.issuedAt ? 'token.rotate' : 'token.issue', 'partner', partnerId, () =>
        partners.addKey(partnerId, key),
      ),

    revokeKeys: (partnerId, at) =>
      shown('token.revoke', 'partner', partnerId, () => partners.revokeKeys(partnerId, at)),

    async listKeys() {
      return partners.listKeyRecords()
    },

    noteKeyUses: (uses) => writer.write(() => partners.noteUses(uses)),

    loadDirectory: (regions, providers) =>
      change('directory.load', null, () => directory.load(regions, providers)),

    async previewDirectory(regions, providers) {
      let load: DirectoryLoad | undefined
      const undone = new Error('a preview changes nothing')
      await writer
        .write(() => {
          load = directory.load(regions, providers)
          throw undone
        })
        .catch((error: unknown) => {
          if (error !== undone) throw error
        })
      return load as DirectoryLoad
    },

    setProviderActive: (id, active) =>
      shown(active ? 'provider.reactivate' : 'provider.deactivate', 'provider', id, () =>
        directory.setActive(id, active),
      ),

    addTimeOff: (id, absence) =>
      shown('provider.time-off-add', 'provider', id, () =>
        directory.setTimeOff(id, [...requireProvider(id).timeOff, absence]),
      ),

    removeTimeOff: (id, absence) =>
      shown('provider.time-off-remove', 'provider', id, () => {
        const { timeOff } = requireProvider(id)
        const left = timeOff.filter(({ from, until }) => from !== absence.from || until !== absence.until)
        if (left.length === timeOff.length) throw new Refusal('record_unknown', 'there is no such time off')
        directory.setTimeOff(id, left)
      }),

    async listRequests(filter) {
      return requests.list(filter)
    },

    async findRequest(id) {
      return requests.find(id)
    },

    readScreening: (id) =>
      change('request.read-screening', `request ${id}`, () => {
        requireRequest(id)
        return requests.screeningOf(id)
      }),

    async sortingAnswers(ids) {
      return new Map(ids.map((id) => [id, requests.screeningOf(id)]))
    },

    assign: (id, assignment) => writer.write(() => assign(id, assignment)),

    accept: (id, at) =>
      change('request.accept', `request ${id}`, () => {
        move(id, ['pending'], 'accepted')
        requests.accept(id, at)
      }),

    decline: (id, at) =>
      change('request.decline', `request ${id}`, () => {
        const { providerId } = move(id, ['pending', 'accepted'], 'declined')
        requests.decline(id, at)
        noteTaken(providerId)
      }),

    async findMemberById(id) {
      return members.findById(id)
    },

    setMemberActive: (id, active) =>
      change(active ? 'member.reactivate' : 'member.deactivate', `member ${id}`, () =>
        members.setActive(id, active),
      ),

    exportMember: (id) =>
      change('member.export', `member ${id}`, () => {
        const member = requireMember(id)
        const held = requests.listOf(id).map(({ member: _, ...request }) => ({
          ...request,
          screeningAnswers: requests.screeningOf(request.id),
        }))
        return { member, ...members.timesOf(id), requests: held }
      }),

    eraseMember: (id) =>
      change('member.erase', `member ${id}`, () => {
        requireMember(id)
        requests.forget(id)
        members.remove(id)
      }),

    appendAudit: (entries) =>
      writer.write(() => {
        for (const entry of entries) audit.append(entry)
      }),

    async listAudit(limit) {
      return audit.list(limit)
    },

    async auditHead() {
      return audit.head()
    },

    async verifyAudit(noted) {
      return audit.verify(noted)
    },

    async close() {
      if (isClosed) return
      isClosed = true
      try {
        // So that the file alone is the whole database, once nobody has it open.
        tryCutLog(database)
      } catch {
        // No room, say: then the log stays beside the file, and whoever opens it next reads both.
      }
      database.close()
    },
  }
}
