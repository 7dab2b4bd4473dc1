import { Type } from '@sinclair/typebox'
import type { RequestedSlot } from '../domain/booking-request'
import { defaultPageSize } from '../domain/page'
import type { Provider } from '../domain/provider'
import { type FoundProvider, searchProviders } from '../operations/search-providers'
import { type Availability, horizonMinutes } from '../scheduling/availability'
import { minuteMillis } from '../scheduling/calendar'
import { bookingRequest } from './booking-request'
import { endpoint } from './endpoint'
import { exampleRegionId } from './examples'
import {
  CountryCode,
  Id,
  LanguageTag,
  ModalityName,
  nullable,
  pageParameters,
  presentSlot,
  SlotTime,
} from './fields'
import { pageUrl } from './links'
import { JsonParts } from './respond'

const path = '/partners/v1/providers/'

const ProviderQuery = Type.Object({
  region_id: Type.Optional(
    Type.Integer({
      minimum: 1,
      format: 'int64',
      description: 'The id of a region; required for countries with several regions and for in-person',
      example: exampleRegionId,
    }),
  ),
  country_code: Type.Optional(CountryCode),
  modality: Type.Optional({
    ...ModalityName,
    description: 'How sessions are held; in-person finds who sees people in person in the region',
  }),
  language: Type.Optional(LanguageTag),
  ...pageParameters,
})

const SlotBody = Type.Object(
  { utcStartTime: SlotTime, utcEndTime: SlotTime },
  { title: 'Slot', description: '45 minutes that can be booked' },
)

const ProviderDetails = Type.Object(
  {
    firstName: Type.String(),
    lastName: Type.String(),
    credentials: nullable(Type.String()),
    pronouns: nullable(Type.String()),
    gender: nullable(Type.String()),
    bio: nullable(Type.String()),
    timeZone: Type.String({ description: 'IANA name of the zone that the provider works in' }),
    languagesSpoken: Type.Array(Type.String(), { description: 'BCP 47 language tags' }),
    modalities: Type.Array(ModalityName, { description: 'How sessions can be held' }),
  },
  { title: 'ProviderDetails', description: 'Who the provider is' },
)

const ProviderBody = Type.Object(
  {
    providerId: Id('The selfSchedulingProviderId of a booking'),
    details: ProviderDetails,
    availability: Type.Array(SlotBody, {
      description: 'The free slots that start in the next 30 days, soonest first',
    }),
  },
  { title: 'Provider', description: 'A provider with an active license in the region' },
)

const ProviderPageBody = Type.Object(
  {
    count: Type.Integer({ description: 'Providers on all pages' }),
    next: nullable(Type.String(), 'Full URL of the next page'),
    previous: nullable(Type.String(), 'Full URL of the previous page'),
    results: Type.Array(ProviderBody, { description: 'The providers of the page, by providerId' }),
  },
  { title: 'ProviderPage', description: 'A page of providers' },
)

/** GET providers: who is licensed in a region, with the slots of the next 30 days. */
export const providers = endpoint({
  method: 'GET',
  path,
  operationId: 'searchProviders',
  tag: 'Directory',
  summary: 'Search providers and their free slots',
  description:
    'Finds the providers with an active license in a region, with their free slots of the next 30 days. ' +
    'country_code alone is enough for a country with one country-wide region, but not for in-person.',
  query: ProviderQuery,
  budget: 'reads',
  costOf: ({ page_size: pageSize = defaultPageSize }) => 1 + pageSize,
  answer: {
    status: 200,
    description: 'A page of the providers found',
    schema: ProviderPageBody,
    links: {
      bookingOfSlot: {
        to: bookingRequest,
        description:
          'A providerId and the two times of one of its slots, exactly as received, are the bookingData of a booking',
      },
    },
  },
  refusals: {
    field_invalid: 'page_size: must be at most 100',
    region_unknown: 'names no active region',
    region_outside_country: 'lies in another country',
    region_required: 'is required in a country with several regions',
    page_out_of_range: 'past the last page',
  },
  examples: (slot, baseUrl) => ({ answer: { page: examplePage(slot, baseUrl) } }),
  handler(context, baseUrl) {
    const entryOf = rememberingEntries()
    return function* ({ query, now }) {
      const found = yield* searchProviders(
        context,
        {
          regionId: query.region_id,
          countryCode: query.country_code,
          modality: query.modality,
          languageTag: query.language,
          page: query.page ?? 1,
          pageSize: query.page_size ?? defaultPageSize,
        },
        now,
      )
      const urlOf = (page: number) => pageUrl(baseUrl, path, query, page)
      const next = found.page < found.pages ? urlOf(found.page + 1) : null
      const previous = found.page > 1 ? urlOf(found.page - 1) : null
      const entries: Uint8Array[] = []
      for (const find of found.items) {
        if (entries.length > 0) yield
        entries.push(entryOf(find()))
      }
      return { body: toPage({ count: found.count, next, previous }, entries) }
    }
  },
})

function examplePage({ providerId, startsAt }: RequestedSlot, baseUrl: string) {
  return {
    summary: 'The first of two pages',
    value: {
      count: 2,
      next: `${baseUrl}${path}?region_id=${exampleRegionId}&page_size=1&page=2`,
      previous: null,
      results: [
        {
          providerId,
          details: {
            firstName: 'Marlow',
            lastName: 'Fernhill',
            credentials: 'PhD',
            pronouns: 'they/them',
            gender: null,
            bio: null,
            timeZone: 'America/Toronto',
            languagesSpoken: ['en-CA', 'fr-CA'],
            modalities: ['in-person' as const, 'in-video' as const],
          },
          availability: [presentSlot(startsAt)],
        },
      ],
    },
  }
}

/** How much of the entries of pages is remembered: of some 4,000 providers. */
const mostEntryBytes = 64 * 1024 * 1024

/**
 * What gives a provider's bytes in a page, made once for each availability: making them anew for every search
 * takes much longer than all the rest. The oldest are let go, since they are large.
 */
function rememberingEntries(): (found: FoundProvider) => Uint8Array {
  const entries = new Map<Availability, Uint8Array>()
  const slotJson = rememberingSlots()
  let size = 0
  return (found) => {
    const known = entries.get(found.availability)
    if (known) return known
    const entry = Buffer.from(`,${entryJson(found, slotJson)}`)
    entries.set(found.availability, entry)
    size += entry.length
    for (const [oldest, { length }] of entries) {
      if (size <= mostEntryBytes) break
      entries.delete(oldest)
      size -= length
    }
    return entry
  }
}

/** As many slots as can start in the time that is offered. */
const mostSlots = horizonMinutes

/** What gives the JSON of a slot by its start, made once: most providers offer the same few hundred. */
function rememberingSlots(): (start: number) => string {
  const slots = new Map<number, string>()
  return (start) => {
    const known = slots.get(start)
    if (known) return known
    const json = JSON.stringify(presentSlot(start * minuteMillis))
    if (slots.size >= mostSlots) slots.clear()
    slots.set(start, json)
    return json
  }
}

const end = Buffer.from(']}')

/** A page's JSON around the bytes of its entries, each of which begins with a comma. */
function toPage(page: Omit<typeof ProviderPageBody.static, 'results'>, entries: readonly Uint8Array[]) {
  const head = Buffer.from(`${JSON.stringify(page).slice(0, -1)},"results":[`)
  const [first, ...others] = entries
  return new JsonParts(first ? [head, first.subarray(1), ...others, end] : [head, end])
}

/** The JSON of a provider; that of their slots is put in, since it is by far the most of it. */
function entryJson({ provider, availability }: FoundProvider, slotJson: (start: number) => string): string {
  const profile = JSON.stringify(presentProfile(provider)).slice(0, -1)
  return `${profile},"availability":[${availability.slots.map(slotJson).join()}]}`
}

/** A provider as a page shows them. */
export function presentFound(found: FoundProvider): typeof ProviderBody.static {
  return JSON.parse(entryJson(found, (start) => JSON.stringify(presentSlot(start * minuteMillis))))
}

function presentProfile(provider: Provider): Omit<typeof ProviderBody.static, 'availability'> {
  return {
    providerId: provider.id,
    details: {
      firstName: provider.firstName,
      lastName: provider.lastName,
      credentials: provider.credentials,
      pronouns: provider.pronouns,
      gender: provider.gender,
      bio: provider.bio,
      timeZone: provider.timeZone,
      languagesSpoken: [...provider.languagesSpoken],
      modalities: [...provider.modalities],
    },
  }
}
