import { Database } from 'bun:sqlite'
import { paths } from '../contract/contract'
import { actsOf } from '../support/acts'
import type { Oracle, OracleMember, OraclePartner } from './oracle'
import { type Query, type Told, toldBy, urlWith } from './oracle-answers'
import { listRegions, search } from './oracle-search'
import type { Running } from './running'
import { dayMillis } from './wall-clock'
import { contextOf, urlOf, type World } from './world'

/** All that can be seen of a world, by partners and by staff, through each process; and the same as the oracle has it. */
export async function compareWith(world: World): Promise<{ told: unknown; foretold: unknown }> {
  const told = await Promise.all(
    world.site.running.map(async (running) => ({
      seen: await seenByPartners(world, running),
      kept: await keptIn(world, running),
    })),
  )
  const foretold = { seen: foretoldToPartners(world.oracle), kept: foretoldOfAll(world) }
  return { told, foretold: told.map(() => foretold) }
}

/** One of the partners who are let in, if one is. */
function readerOf(oracle: Oracle): { readonly token: string } | undefined {
  return admitted(oracle)[0]
}

function admitted(oracle: Oracle) {
  return oracle.partners.flatMap((partner: OraclePartner, place) => {
    const key = partner.keys.find((one) => oracle.isInForce(one))
    return key && oracle.admit(partner, key.token) === null ? [{ token: key.token, place }] : []
  })
}

/** Every page of the searches in each region, and of the lists of each country. */
function pagesOf(oracle: Oracle): { path: string; query: Query; foretold: Told }[] {
  const searches = oracle.directory.regions.flatMap(({ id }) =>
    [1, 2, 3].map((page) => ({ region_id: id, page, page_size: 2 })),
  )
  const countries = ['CA', 'GB', 'IE'].map((code) => ({ country_code: code }))
  return [
    ...[...searches, ...countries].map((query) => ({
      path: paths.providers,
      query,
      foretold: search(oracle, query, urlOf(paths.providers)),
    })),
    ...countries.map((query) => ({
      path: paths.regions,
      query,
      foretold: listRegions(oracle, query, urlOf(paths.regions)),
    })),
  ]
}

async function seenByPartners({ oracle }: World, { ask }: Running) {
  const get = async (path: string, query: Query, token: string) => {
    const headers = { Authorization: `Bearer ${token}` }
    return toldBy(await ask(urlWith(path, query), { headers }))
  }
  const reader = readerOf(oracle)
  const pages: Told[] = []
  if (reader) for (const { path, query } of pagesOf(oracle)) pages.push(await get(path, query, reader.token))
  const members: Told[] = []
  for (const { token, place } of admitted(oracle)) {
    for (const { externalUserId } of membersOf(oracle, place)) {
      members.push(await get(paths.user, { external_user_id: externalUserId }, token))
    }
  }
  return { pages, members }
}

function foretoldToPartners(oracle: Oracle) {
  return {
    pages: readerOf(oracle) ? pagesOf(oracle).map(({ foretold }) => foretold) : [],
    members: admitted(oracle).flatMap(({ place }) =>
      membersOf(oracle, place).map(({ externalUserId }) => oracle.lookUp(place, externalUserId)),
    ),
  }
}

const membersOf = ({ members }: Oracle, place: number): OracleMember[] =>
  members.filter(({ partner }) => partner === place)

/** All that the database holds of members, requests and tokens, and of what was done to them. */
async function keptIn({ oracle, site, madeBy }: World, running: Running) {
  const store = actsOf(contextOf(running))
  const requests = await store.listRequests({})
  const answers = await store.sortingAnswers(requests.map(({ id }) => id))
  const members = []
  for (const { id } of await store.listMembers(0, 10_000)) {
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
      told: Object.fromEntries(Object.entries(profile).filter(([, value]) => value !== null)),
    })),
    requests: requests.map(({ member, ...request }) => ({
      ...request,
      memberId: member?.id ?? null,
      answers: answers.get(request.id) as unknown,
    })),
    keys: oracle.partners.map(({ id }) =>
      keys.filter(({ partnerId }) => partnerId === id).map(({ startsAt, endsAt }) => [startsAt, endsAt]),
    ),
    // What was done; look-ups and refused tokens are noted in a time of their own.
    audit: audit
      .filter(({ actor, action }) => actor === 'test' || action === 'member.email-conflict')
      .map(({ actor, action, record, outcome }) => `${actor} ${action} ${record} ${outcome}`),
    isAuditIntact: (await store.verifyAudit(null)).intact,
  }
}

/** How many answers are kept for retries, were it longer than they have to be. */
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

/** The same as the oracle has it. */
function foretoldOfAll({ oracle }: World) {
  const { members, requests, audit, partners } = oracle
  return {
    counts: {
      answers: oracle.keptAnswers().length,
      members: members.length,
      requests: requests.length,
      forgotten: requests.filter(({ answers }) => answers === null).length,
    },
    members: members.map(({ partner, told, ...member }) => ({
      ...member,
      partnerId: partners[partner]?.id ?? 0,
      told: { preferredSpokenLanguage: 'en', ...told },
    })),
    requests: requests.map(({ partner: _, ...request }) => ({ ...request, answers: request.answers ?? [] })),
    keys: partners.map(({ keys }) =>
      keys.map(({ from, until }) => [from, until === Number.POSITIVE_INFINITY ? null : until]),
    ),
    audit,
    isAuditIntact: true,
  }
}
