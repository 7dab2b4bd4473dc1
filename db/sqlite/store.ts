import type { JudgedSubmission, Store, SubmissionOutcome } from '../../src/domain/store'
import type { Vault } from '../../src/domain/vault'
import { bookingRequestQueries } from './booking-requests'
import { changeQueries } from './changes'
import { directoryQueries } from './directory'
import { drizzleOn } from './drizzle'
import { memberQueries } from './members'
import { openDatabase, type Purpose } from './open'
import { partnerQueries } from './partners'
import { Writer } from './writer'

export interface StoreOptions {
  readonly path: string
  readonly purpose: Purpose
  readonly vault: Vault
  /** Whether to make the database if there is none. */
  readonly create: boolean
}

/** The Store on an embedded SQLite database. @throws Refusal database_unusable, as openDatabase does */
export function openStore({ path, purpose, vault, create }: StoreOptions): Store {
  const database = openDatabase(path, purpose, vault, create)
  const db = drizzleOn(database)
  const writer = new Writer(database)
  const changes = changeQueries(db)
  const partners = partnerQueries(db, vault)
  const directory = directoryQueries(db, changes.add)
  const members = memberQueries(db)
  const requests = bookingRequestQueries(db, vault)
  changes.forgetOld()

  function submit(submission: JudgedSubmission): SubmissionOutcome {
    const { partnerId, externalUserId, slot } = submission
    if (slot && wasMisjudged(submission)) return { outcome: 'stale' }
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
  function wasMisjudged({ version, slot }: JudgedSubmission): boolean {
    const since = changes.since(version)
    return (
      since === null ||
      since.some(
        ({ noun, recordId }) => noun === 'region' || (noun === 'provider' && recordId === slot?.providerId),
      )
    )
  }

  const noted = (noun: 'partner' | 'region' | 'provider', id: number, change: () => void) => (): void => {
    change()
    changes.add(noun, id)
  }

  return {
    async directoryVersion() {
      return changes.newestVersion()
    },

    async readDirectory(since) {
      // One read transaction: what is read belongs together even while another process writes.
      return database.transaction(() => {
        const version = changes.newestVersion()
        const rows = since === null ? null : changes.since(since)
        if (!rows) {
          const providers = directory.listProviders()
          return {
            version,
            keys: partners.listKeys(),
            regions: directory.listRegions(),
            providers,
            taken: new Map(providers.map(({ id }) => [id, requests.takenSlots(id)])),
          }
        }
        const ids = (noun: string) => [
          ...new Set(rows.filter((row) => row.noun === noun).map(({ recordId }) => recordId)),
        ]
        return {
          version,
          keys: ids('partner').length > 0 ? partners.listKeys() : null,
          regions: ids('region').length > 0 ? directory.listRegions() : null,
          providers: ids('provider').flatMap((id) => directory.findProvider(id) ?? []),
          taken: new Map(ids('taken').map((id) => [id, requests.takenSlots(id)])),
        }
      })()
    },

    async findMember(partnerId, externalUserId) {
      return members.find(partnerId, externalUserId)
    },

    submit: (submission) => writer.write(() => submit(submission)),

    addOrganization: (name, at) => writer.write(() => partners.addOrganization(name, at)),

    setOrganizationActive: (id, active) =>
      writer.write(noted('partner', id, () => partners.setOrganizationActive(id, active))),

    addPartner: (name, organizationId, at) =>
      writer.write(() => partners.addPartner(name, organizationId, at)),

    setPartnerActive: (id, active) =>
      writer.write(noted('partner', id, () => partners.setPartnerActive(id, active))),

    addKey: (partnerId, key) =>
      writer.write(noted('partner', partnerId, () => partners.addKey(partnerId, key))),

    async listPartners() {
      return partners.list()
    },

    setMemberActive: (id, active) => writer.write(() => members.setActive(id, active)),

    loadDirectory: (regions, providers) => writer.write(() => directory.load(regions, providers)),

    async close() {
      database.close()
    },
  }
}
