import { Type } from '@sinclair/typebox'
import type { RequestedSlot } from '../domain/booking-request'
import { defaultPageSize } from '../domain/page'
import { type FoundProvider, searchProviders } from '../operations/search-providers'
import type { Availability } from '../scheduling/availability'
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
    return ({ query, now }) => {
      const found = searchProviders(
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
      return { body: toPage({ count: found.count, next, previous }, found.items.map(entryOf)) }
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

const mostEntries = 2_000

/**
 * What gives a provider's bytes in a page, made once for each availability: making them anew for every search
 * takes ten times as long as all the rest. The oldest are let go, since they are large.
 */
function rememberingEntries(): (found: FoundProvider) => Uint8Array {
  const entries = new Map<Availability, Uint8Array>()
  return (found) => {
    const known = entries.get(found.availability)
    if (known) return known
    const entry = Buffer.from(JSON.stringify(presentProvider(found)))
    entries.set(found.availability, entry)
    const [oldest] = entries.keys()
    if (entries.size > mostEntries && oldest) entries.delete(oldest)
    return entry
  }
}

const comma = Buffer.from(',')
const end = Buffer.from(']}')

/** A page's JSON around the bytes of its entries. */
function toPage(page: Omit<typeof ProviderPageBody.static, 'results'>, entries: readonly Uint8Array[]) {
  const head = Buffer.from(`${JSON.stringify(page).slice(0, -1)},"results":[`)
  const listed = entries.flatMap((entry, index) => (index > 0 ? [comma, entry] : [entry]))
  return Buffer.concat([head, ...listed, end])
}

function presentProvider({ provider, availability }: FoundProvider): typeof ProviderBody.static {
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
    availability: availability.slots.map((start) => presentSlot(start * minuteMillis)),
  }
}
