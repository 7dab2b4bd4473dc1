import { Database } from 'bun:sqlite'
import { paths } from '../contract/contract'
import { actsOf } from '../support/acts'
import type { Oracle, OracleMember, OraclePartner } from './oracle'
import { answerOf, type PartnerAnswer, type Query, urlWith } from './oracle-answers'
import { listRegions, search } from './oracle-search'
import type { Running } from './running'
import { dayMillis } from './wall-clock'
import { contextOf, urlOf, type World } from './world'

export async function compareWith(world: World): Promise<{ actual: unknown; expected: unknown }> {
  const actual = await Promise.all(
    world.site.running.map(async (running) => ({
      seen: await seenByPartners(world, running),
      kept: await keptIn(world, running),
    })),
  )
  const expected = { seen: expectedByPartners(world.oracle), kept: expectedInDatabase(world) }
  return { actual, expected: actual.map(() => expected) }
}

function readerOf(oracle: Oracle): { readonly token: string } | undefined {
  return admitted(oracle)[0]
}

function admitted(oracle: Oracle) {
  return oracle.partners.flatMap((partner: OraclePartner, place) => {
    const key = partner.keys.find((one) => oracle.isInForce(one))
    return key && oracle.admit(partner, key.token) === null ? [{ token: key.token, place }] : []
  })
}

function pagesOf(oracle: Oracle): { path: string; query: Query; expected: PartnerAnswer }[] {
  const searches = oracle.directory.regions.flatMap(({ id }) =>
    [1, 2, 3].map((page) => ({ region_id: id, page, page_size: 2 })),
  )
  const countries = ['CA', 'GB', 'IE'].map((code) => ({ country_code: code }))
  return [
    ...[...searches, ...countries].map((query) => ({
      path: paths.providers,
      query,
      expected: search(oracle, query, urlOf(paths.providers)),
    })),
    ...countries.map((query) => ({
      path: paths.regions,
      query,
      expected: listRegions(oracle, query, urlOf(paths.regions)),
    })),
  ]
}

async function seenByPartners({ oracle }: World, { ask }: Running) {
  const get = async (path: string, query: Query, token: string) => {
    const headers = { Authorization: `Bearer ${token}` }
    return answerOf(await ask(urlWith(path, query), { headers }))
  }
  const reader = readerOf(oracle)
  const pages: PartnerAnswer[] = []
  if (reader) for (const { path, query } of pagesOf(oracle)) pages.push(await get(path, query, reader.token))
  const members: PartnerAnswer[] = []
  for (const { token, place } of admitted(oracle)) {
    for (const { externalUserId } of membersOf(oracle, place)) {
      members.push(await get(paths.user, { external_user_id: externalUserId }, token))
    }
  }
  return { pages, members }
}

function expectedByPartners(oracle: Oracle) {
  return {
    pages: readerOf(oracle) ? pagesOf(oracle).map(({ expected }) => expected) : [],
    members: admitted(oracle).flatMap(({ place }) =>
      membersOf(oracle, place).map(({ externalUserId }) => oracle.lookUp(place, externalUserId)),
    ),
  }
}

const membersOf = ({ members }: Oracle, place: number): OracleMember[] =>
  members.filter(({ partner }) => partner === place)

async function keptIn({ oracle, site, madeBy }: World, running: Running) {
  const store = actsOf(contextOf(running))
  const requests = await store.listRequests({})
  const answers = await store.sortingAnswers(requests.map(({ id }) => id))
  const members = []
  for (const { id } of (await store.listMembers(Number.MAX_SAFE_INTEGER, 10_000)).reverse()) {
    members.push(await store.exportMember(id, { actor: 'census', at: oracle.now }))
  }
  const keys = await store.listKeys()
  const audit = await store.listAudit(100_000, { after: madeBy })
  return {
    counts: countsOf(site.path, oracle.now),
    members: members.map(({ member: { profile, ...member }, createdAt, updatedAt }) => ({
      ...member,
      createdAt,
      updatedAt,
      profile: Object.fromEntries(Object.entries(profile).filter(([, value]) => value !== null)),
    })),
    requests: requests.map(({ member, ...request }) => ({
      ...request,
      memberId: member?.id ?? null,
      answers: answers.get(request.id) as unknown,
    })),
    keys: oracle.partners.map(({ id }) =>
      keys.filter(({ partnerId }) => partnerId === id).map(({ startsAt, endsAt }) => [startsAt, endsAt]),
    ),
    // Audit lines of look-ups and refused tokens are written later, so they are not compared.
    audit: audit
      .filter(({ actor, action }) => actor === 'test' || action === 'member.email-conflict')
      .map(({ actor, action, record, outcome }) => `${actor} ${action} ${record} ${outcome}`),
    isAuditIntact: (await store.verifyAudit(null)).intact,
    // Every change of the service has its audit line.
    records: (await contextOf(running).maintenance.check(oracle.now, null, true)).find(
      ({ check }) => check === 'records',
    )?.detail,
  }
}

/** The number of stored replays, including expired ones. */
export function countReplays(path: string): number {
  return countsOf(path, 0).answers
}

function countsOf(path: string, now: number) {
  using database = new Database(path, { readonly: true })
  const count = (table: string) =>
    database.query<{ count: number }, []>(`SELECT count(*) AS count FROM ${table}`).get()?.count ?? 0
  return {
    answers: count(`replays WHERE submitted_at > ${now - dayMillis}`),
    members: count('members'),
    requests: count('booking_requests'),
    forgotten: count('booking_requests WHERE sealed_screening_answers IS NULL'),
  }
}

function expectedInDatabase({ oracle }: World) {
  const { members, requests, audit, partners } = oracle
  return {
    counts: {
      answers: oracle.keptAnswers().length,
      members: members.length,
      requests: requests.length,
      forgotten: requests.filter(({ answers }) => answers === null).length,
    },
    members: members.map(({ partner, profile, ...member }) => ({
      ...member,
      partnerId: partners[partner]?.id ?? 0,
      profile: { preferredSpokenLanguage: 'en', ...profile },
    })),
    requests: requests.map(({ partner: _, ...request }) => ({ ...request, answers: request.answers ?? [] })),
    keys: partners.map(({ keys }) =>
      keys.map(({ from, until }) => [from, until === Number.POSITIVE_INFINITY ? null : until]),
    ),
    audit,
    isAuditIntact: true,
    records: 'as the audit log says',
  }
}
