import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { Directory } from '../../src/directory/directory'
import type { DirectoryInvalid } from '../../src/directory-files/faults'
import { type CsvFile, type TableName, tableNames } from '../../src/directory-files/table-rows'
import { formatTable } from '../../src/directory-files/tables'
import type { Act } from '../../src/domain/audit'
import { unlimited } from '../../src/domain/limits'
import type { Context } from '../../src/operations/context'
import {
  compareWithDirectory,
  exportDirectory,
  loadCompared,
  loadDirectory,
  readDirectoryTables,
} from '../../src/operations/directory-loads'
import { requireProviderName } from '../../src/operations/find-records'
import { Notebook } from '../../src/operations/notebook'
import { setProviderActive } from '../../src/operations/providers'
import { listQueue } from '../../src/operations/queue'
import { submitBookingRequest } from '../../src/operations/requests'
import { searchProviders } from '../../src/operations/search-providers'
import { issueFirstToken, revokeToken, verifyToken } from '../../src/operations/tokens'
import { builtInZones } from '../../src/zones/packed'
import { endOf } from '../db/furniture'
import { openPlace } from '../db/place'
import { partner } from '../domain/values'
import { provider, region } from '../support/builders'

const now = Date.UTC(2026, 11, 1, 12)
const act: Act = { actor: 'olive', at: now }
const file = { regions: [region()], providers: ['on-1', 'on-2', 'on-3'].map((ref) => provider(ref)) }

let place: Awaited<ReturnType<typeof openPlace>>
let context: Context
let reports: string[]

async function start(): Promise<Context> {
  reports = []
  const clock = { now: () => now }
  const report = (fault: string) => void reports.push(fault)
  const { store, feed, maintenance } = place
  const directory = await Directory.load({ feed, findZone: builtInZones().find, clock, report })
  return {
    store,
    maintenance: maintenance as Context['maintenance'],
    clock,
    keyring: {} as Context['keyring'],
    directory,
    notebook: new Notebook(),
    limits: unlimited,
  }
}

/** Changes a row of a provider directly in the database. With `isAnnounced`, running processes read the change. */
function damage(set: string, ref: string, isAnnounced = false): void {
  using database = new Database(place.path)
  database.run('PRAGMA ignore_check_constraints = ON')
  database.run(`UPDATE providers SET ${set} WHERE ref = '${ref}'`)
  if (isAnnounced) {
    database.run(
      `INSERT INTO changes (noun, record_id) SELECT 'provider', id FROM providers WHERE ref = '${ref}'`,
    )
  }
}

async function found(different: { languageTag?: string } = {}): Promise<string[]> {
  const { items } = await searchProviders(
    context,
    {
      regionId: 1,
      countryCode: undefined,
      modality: undefined,
      languageTag: undefined,
      page: 1,
      pageSize: 20,
      ...different,
    },
    now,
    () => undefined,
  )
  return items.map(({ provider }) => provider.ref)
}

const slotAt = Date.parse('2026-12-02T14:00:00Z')

const book = (ref: string) => {
  const member = { email: `${ref}@example.com`, firstName: 'R', lastName: 'S', country: 'CA' }
  const slot = { providerId: Number(ref.at(-1)), startsAt: slotAt }
  return submitBookingRequest(
    context,
    { partnerId: 1, externalUserId: ref, member, slot, screeningAnswers: [], retry: null },
    now,
  )
}

beforeEach(async () => {
  place = await openPlace()
  context = await start()
  await loadDirectory(context, file, act)
  await place.store.addPartner('Harbourlight', null, act)
})
afterEach(() => place[Symbol.asyncDispose]())

const unreadable = 'the record cannot be read'
const unknownZone = 'the zone data has no time zone Mars/Olympus'
const faults: [what: string, set: string, fault: string][] = [
  ['in a zone that the zone data lacks', "time_zone = 'Mars/Olympus'", unknownZone],
  ['with working hours that are not JSON', "working_hours = '[{'", unreadable],
  ['with languages that are not JSON', "languages_spoken = 'en'", unreadable],
  ['with languages that are not a list', "languages_spoken = '5'", unreadable],
  ['with a number as a language', `languages_spoken = '["en",7]'`, unreadable],
  ['with an object as a modality', `modalities = '[{}]'`, unreadable],
  ['with a number as working hours', "working_hours = '[1]'", unreadable],
  ['with an override without windows', `overrides = '[{"date":"2026-11-30"}]'`, unreadable],
  ['with modalities that are not a list', "modalities = 'null'", unreadable],
  ['with overrides that are not a list', "overrides = '{}'", unreadable],
  ['with null as time off', "time_off = '[null]'", unreadable],
  [
    'with time off on impossible dates',
    `time_off = '[{"from":"2026-13-01","until":"2026-13-02"}]'`,
    unreadable,
  ],
  [
    'with time off from a text that is no date',
    `time_off = '[{"from":"soon","until":"2026-12-24"}]'`,
    unreadable,
  ],
  [
    'with invalid times of work',
    `working_hours = '[{"weekdays":["monday"],"start":"9","end":"17:00"}]'`,
    unreadable,
  ],
  ['with empty working hours', "working_hours = '[{}]'", unreadable],
]

describe.each(faults)('operations: a provider %s', (_, set, fault) => {
  test('an unreadable provider is left out of searches and bookings, and is reported once', async () => {
    damage(set, 'on-2')
    context = await start()
    const report = `provider on-2 is left out of searches: ${fault}`
    expect(reports).toEqual([report])
    expect(context.directory.listUnlisted()).toEqual([{ id: 2, ref: 'on-2', active: true, fault }])
    expect(await found()).toEqual(['on-1', 'on-3'])
    expect(await found({ languageTag: 'en' })).toEqual(['on-1', 'on-3'])
    expect(await endOf(book('on-2'))).toBe('provider_unknown')
    expect(await endOf(book('on-1'))).toBe('stored')
    const partner = await place.store.addPartner('Another', null, act)
    await issueFirstToken(context, partner, act)
    await setProviderActive(context, requireProviderName(context, 'on-3'), false, act)
    expect(await found()).toEqual(['on-1'])
    expect(reports).toEqual([report])
  })

  test('a provider is left out after another process makes the record unreadable', async () => {
    damage(set, 'on-2', true)
    await context.directory.catchUp()
    await context.directory.catchUp()
    expect(reports).toEqual([`provider on-2 is left out of searches: ${fault}`])
    expect(await found()).toEqual(['on-1', 'on-3'])
    expect(await endOf(book('on-3'))).toBe('stored')
  })

  test('an unreadable provider can be deactivated', async () => {
    damage(set, 'on-2')
    context = await start()
    await setProviderActive(context, requireProviderName(context, 'on-2'), false, act)
    using database = new Database(place.path)
    expect(database.query("SELECT suspended FROM providers WHERE ref = 'on-2'").values()).toEqual([[1]])
    expect((await place.store.listAudit(1))[0]).toMatchObject({
      action: 'provider.deactivate',
      record: 'provider 2',
    })
    expect(await found()).toEqual(['on-1', 'on-3'])
  })

  test('an unreadable provider is repaired by loading the directory, and is listed again with the same id', async () => {
    damage(set, 'on-2')
    context = await start()
    expect(await loadDirectory(context, file, act)).toEqual({
      added: [],
      changed: ['on-2'],
      deactivated: [],
      unchanged: 3,
    })
    expect(context.directory.listUnlisted()).toEqual([])
    expect(await found()).toEqual(['on-1', 'on-2', 'on-3'])
    expect(await endOf(book('on-2'))).toBe('stored')
    context = await start()
    expect(reports).toEqual([])
    expect(await found()).toEqual(['on-1', 'on-2', 'on-3'])
  })
})

describe.each(faults)('operations: a booked slot of a provider %s', (_, set) => {
  const offered = () => {
    const listing = context.directory.findListing(2)
    return listing !== null && context.directory.isOffered(listing, slotAt, now)
  }

  test('a booked slot stays taken after the repair, unless the booking was declined', async () => {
    const { id } = await book('on-2')
    expect(offered()).toBe(false)
    damage(set, 'on-2', true)
    await context.directory.catchUp()
    await loadDirectory(context, file, act)
    expect([await found(), offered()]).toEqual([['on-1', 'on-2', 'on-3'], false])

    damage(set, 'on-2', true)
    await context.directory.catchUp()
    await place.store.decline(id, act)
    await context.directory.catchUp()
    await loadDirectory(context, file, act)
    expect([await found(), offered()]).toEqual([['on-1', 'on-2', 'on-3'], true])
  })
})

test.each(faults)(
  'operations: a provider %s does not prevent an export of the other providers',
  async (_, set) => {
    damage(set, 'on-2')
    context = await start()
    const described = exportDirectory(context).providers.map(({ ref }) => ref)
    expect(described.filter((ref) => ref !== 'on-2')).toEqual(['on-1', 'on-3'])
  },
)

describe('operations: a license with an invalid start date', () => {
  test('an invalid license leaves its provider out of searches, instead of being valid for ever', async () => {
    using database = new Database(place.path)
    database.run("UPDATE licenses SET from_date = '2O20-01-01' WHERE provider_id = 2")
    context = await start()
    expect(reports).toEqual(['provider on-2 is left out of searches: the record cannot be read'])
    expect(await found()).toEqual(['on-1', 'on-3'])
  })
})

describe('operations: a key that cannot be opened', () => {
  test('the token of the key is rejected, and other partners are not affected', async () => {
    const token = await issueFirstToken(context, { ...partner, id: 1, organization: null }, act)
    const other = await place.store.addPartner('Other', null, act)
    const otherToken = await issueFirstToken(context, other, act)
    const [{ kid } = { kid: '' }] = await place.store.listKeys()
    using database = new Database(place.path)
    database.run("UPDATE partner_keys SET sealed_secret = x'00' WHERE partner_id = 1")
    context = await start()
    const kindOf = async (text: string) => (await verifyToken(context, text, now)).refusal?.kind
    expect([await kindOf(token), await kindOf(otherToken)]).toEqual([
      'token_invalid',
      'organization_not_configured',
    ])
    expect(await place.maintenance?.check(now)).toContainEqual({
      check: 'sealed values',
      state: 'bad',
      detail: `cannot be opened: key ${kid}`,
    })
    await revokeToken(context, { ...partner, id: 1, organization: null }, act)
    const again = await issueFirstToken(
      context,
      { ...partner, id: 1, organization: null },
      { ...act, at: now + 1 },
    )
    context = await start()
    expect((await verifyToken(context, again, now + 1)).refusal?.kind).toBe('organization_not_configured')
  })
})

describe('operations: an intake whose answers cannot be opened', () => {
  test('an intake with unreadable answers is listed with an unclear risk, next to the other intakes', async () => {
    const submit = (externalUserId: string) => {
      const member = { email: `${externalUserId}@example.com`, firstName: 'R', lastName: 'S', country: 'CA' }
      const screeningAnswers = [{ question: 'Little interest?', answer: '0' }]
      const submission = { partnerId: 1, externalUserId, member, slot: null, screeningAnswers, retry: null }
      return submitBookingRequest(context, submission, now)
    }
    const [broken, whole] = [await submit('broken'), await submit('whole')]
    using database = new Database(place.path)
    database.run(`UPDATE booking_requests SET sealed_screening_answers = x'00' WHERE id = ${broken.id}`)
    const wish = { filter: { intakesOnly: true }, sort: 'risk', page: 1, pageSize: 50 } as const
    const listed = await listQueue(context, wish, act)
    expect(listed.requests.map(({ request, risk }) => [request.id, risk?.ninthItem])).toEqual([
      [broken.id, 'unclear'],
      [whole.id, 'not asked'],
    ])
  })
})

describe('operations: CSV files that name a provider whose record cannot be read', () => {
  let tables: Record<TableName, CsvFile>

  beforeEach(async () => {
    const exported = exportDirectory(context)
    const written = tableNames.map((table) => {
      const bytes = new TextEncoder().encode(formatTable(table, exported))
      return [table, { name: `${table}.csv`, bytes }]
    })
    tables = Object.fromEntries(written)
    damage("working_hours = '[{'", 'on-2')
    context = await start()
  })

  const fault =
    'its stored record cannot be read: load providers, licenses and schedules together, or a JSON file'
  const given: TableName[][] = [
    ['providers'],
    ['licenses'],
    ['schedules'],
    ['regions', 'providers', 'licenses'],
  ]

  test.each(given.map((names) => [names.join(', '), names] as const))(
    'files with only %s are rejected, because the other fields are unknown',
    (_, names) => {
      try {
        readDirectoryTables(
          context,
          names.map((table) => tables[table]),
        )
        expect.unreachable()
      } catch (error) {
        const isAnnounced = (error as DirectoryInvalid).faults.map(({ path, fault }) => ({ path, fault }))
        expect(isAnnounced).toEqual(
          names
            .filter((table) => table !== 'regions')
            .map((table) => ({ path: `${table}.csv line 3, ref`, fault }))
            .sort((a, b) => (a.path < b.path ? -1 : 1)),
        )
      }
    },
  )

  test('files with all fields of the provider repair the record', async () => {
    const { providers, licenses, schedules } = tables
    const entries = readDirectoryTables(context, [providers, licenses, schedules])
    const comparison = compareWithDirectory(context, entries)
    expect(await loadCompared(context, comparison, act)).toMatchObject({ changed: ['on-2'], deactivated: [] })
    expect(context.directory.listUnlisted()).toEqual([])
    expect(await found()).toEqual(['on-1', 'on-2', 'on-3'])
  })
})
