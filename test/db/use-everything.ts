import { expect } from 'bun:test'
import { auditChains } from '../../src/domain/audit'
import type { Maintenance } from '../../src/domain/ports/maintenance'
import { masterKeyOf } from '../../src/vault/vault'
import {
  act,
  actAt,
  answers,
  everything,
  fillWithIntake,
  load,
  minutes,
  nine,
  now,
  ontario,
  type Place,
  quebec,
  stored,
} from './furniture'

/** A proxy of a port that records which methods are called. */
export function counted<T extends object>(port: T, called: Set<string>): T {
  return new Proxy(port, {
    get(target, name, receiver) {
      called.add(String(name))
      return Reflect.get(target, name, receiver)
    },
  })
}

/** Calls every method of a store. */
export async function callStore(place: Place): Promise<void> {
  const { store, feed } = place
  const { organization, partner, first, second, member, id, assign, move, intake, book } =
    await fillWithIntake(place)
  const key = (kid: string, startsAt: number) => ({ kid, secret: Buffer.from(kid), startsAt })
  const absence = { from: '2027-01-04', until: '2027-01-05' }
  const { version } = await everything(place)
  await store.read(({ audit }) => audit.head())
  await store.change(
    null,
    () => [],
    () => ({ writes: [], taken: [], audit: null, answer: () => undefined }),
  )
  await store.listOrganizations()
  await store.setOrganizationActive(organization.id, true, act)
  await store.renameOrganization(organization.id, 'Harbour Two', act)
  await store.setPartnerActive(partner.id, true, act)
  await store.renamePartner(partner.id, 'Harbourlight Two', act)
  await store.setPartnerOrganization(partner.id, null, act)
  await store.setPartnerRates(partner.id, { readsPerMinute: 1 }, act)
  await store.setPartnerNetworks(partner.id, '192.0.2.0/24', act)
  await store.listPartners()
  await store.issueKey(partner.id, key('a', 100), actAt(100))
  await store.rotateKey(partner.id, key('b', 300), actAt(200))
  await store.noteKeyUses(new Map([['a', 200]]))
  await store.cancelCutover(partner.id, actAt(210))
  await store.listKeys()
  await store.revokeKeys(partner.id, actAt(250))
  await store.setProviderActive(second, true, act)
  await store.addTimeOff(first, absence, act)
  await store.removeTimeOff(first, absence, act)
  await assign(first, nine)
  const booked = await stored(book('robin', nine + minutes(45)))
  const retry = { key: 'once', body: '{}' }
  await stored(intake('keyed', { retry }))
  await stored(intake('keyed', { retry: { ...retry, key: 'later' }, submittedAt: now + minutes(24 * 60) }))
  await store.forgetReplays(now + minutes(48 * 60), 1)
  await store.accept(booked.id, act)
  await store.acknowledge(booked.id, 60, act)
  await store.decline(booked.id, act)
  await store.declineAll([booked.id], act)
  await move(id, second, nine + minutes(90))
  await store.close((await stored(intake('twice'))).id, act, 'Sent twice')
  const atRisk = await stored(
    intake('withdrawn', { screeningAnswers: [{ question: 'Self-harm', answer: '3' }] }),
  )
  await store.cancel(atRisk.id, act)
  await store.unreadRisks()
  await store.readScreening(atRisk.id, act)
  await store.findOwn(partner.id, id)
  await store.changesAfter(partner.id, null, 10)
  await store.listSubmitted(partner.id, 0)
  for (const intakesOnly of [true, false]) {
    for (const state of [undefined, 'waiting', 'unassigned', 'pending', 'declined'] as const) {
      const filter = { intakesOnly, state, submittedUntil: intakesOnly ? now : undefined }
      await store.listRequests(filter)
      await store.listRequests(filter, { order: 'submission', offset: 0, most: 10 })
      await store.listRequests(filter, { order: 'slot', offset: 0, most: 10 })
      await store.countWaiting(filter)
      await store.listRequestIds(filter)
    }
  }
  await store.listRequests({ memberId: member.id }, { order: 'submission', offset: 0, most: 10 })
  await store.listRequestIds({ state: 'accepted', ids: [id] })
  await store.listRequestIdsOf(member.id)
  await store.findRequest(id)
  await store.listSlotsBetween(now, now + minutes(24 * 60))
  await store.findProviderId('on-1')
  await store.listProviderNames()
  await store.listTimeZones()
  await store.readScreening(id, act)
  await store.addNote(id, 'Called back', act)
  await store.countNotes(id)
  await store.readNotes(id, act)
  await store.sortingAnswers([id])
  await store.findMember(partner.id, 'robin')
  await store.findMemberById(member.id)
  await store.setMemberActive(member.id, true, act)
  await store.listMembers(Number.MAX_SAFE_INTEGER, 10)
  await store.findMemberByEmail('robin@example.com', act)
  await store.editMember(member.id, { firstName: 'Rowan' }, act)
  await store.releaseEmail(member.id, act)
  await store.exportMember(member.id, act)
  await store.eraseDue(
    (await store.membersDue(now)).map(({ id }) => id),
    now,
    act,
  )
  await store.eraseMember(member.id, act)
  await store.appendAudit([
    { ...act, action: 'authentication.refuse', record: null, outcome: answers.length.toString() },
  ])
  await store.listAudit(10)
  for (const filter of [
    { record: `member ${member.id}` },
    { actor: 'olive' },
    { since: 0 },
    { until: now },
    { actions: ['request.show'] as const },
  ]) {
    await store.listAudit(10, filter)
    await store.listAudit(10, { ...filter, after: 1 })
  }
  await store.listAudit(10, { after: 1 })
  await store.listAudit(10, { since: 0, until: now, actor: 'olive', record: 'partner 1', after: 1 })
  await store.listLookedAt([id])
  for (const partnerId of [undefined, partner.id]) {
    await store.countRefusals({ since: now, most: 9, partnerId })
  }
  await store.countEmailConflicts(now)
  await store.auditHead()
  await store.verifyAudit(null)
  await load(place, [ontario, quebec], [])
  await feed.changesSince(version, 0)
}

/**
 * Calls every method of an engine's maintenance.
 *
 * @param target an unused path for a backup
 * @param copies whether the engine itself makes backups
 */
export async function callMaintenance(
  maintenance: Maintenance,
  target: string,
  copies = true,
): Promise<void> {
  for (const chain of auditChains) {
    const archive = `${target}.${chain}`
    await maintenance.pruneAudit({ chain, before: now + 1, target: archive }, actAt(now + 1))
    expect(await maintenance.checkArchive(archive, null)).toMatchObject({ intact: true })
  }
  await maintenance.noteZoneData({ edition: '2026f', folder: null })
  await maintenance.findZoneData()
  await maintenance.noteServer({ host: 'localhost', port: 8080, version: '1.0.0', startedAt: now })
  await maintenance.noteServer(null)
  await maintenance.listServers()
  await maintenance.findLastBackups()
  const copy = maintenance.backUp(target, null, act)
  if (copies) await copy
  else await expect(copy).rejects.toThrow('back up a PostgreSQL database')
  await maintenance.noteDrill(act)
  await maintenance.verifyAudit(null)
  await maintenance.forgetChanges()
  expect(await maintenance.findCopyNote()).toBeNull()
  await expect(maintenance.reactivate(act)).rejects.toThrow('the database is already active')
  await maintenance.rewrap(masterKeyOf(Buffer.alloc(32, 8)), act)
  await maintenance.check(0)
  await maintenance.checkRecords(0)
  await maintenance.checkHost()
  await maintenance.purge()
  await maintenance.keptAfterErasure()
}
