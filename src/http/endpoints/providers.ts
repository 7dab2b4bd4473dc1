import { type Static, Type } from '@sinclair/typebox'
import type { RequestedSlot } from '../../domain/booking-request'
import { defaultPageSize } from '../../domain/page'
import type { Provider } from '../../domain/provider'
import type { Turn } from '../../operations/context'
import { type FoundPage, type FoundProvider, searchProviders } from '../../operations/search-providers'
import type { Availability } from '../../scheduling/availability'
import { minuteMillis } from '../../scheduling/calendar'
import { bookingRequest } from './booking-request'
import { endpoint } from './endpoint'
import {
  CountryCode,
  exampleRegionId,
  Id,
  LanguageTag,
  ModalityName,
  nullable,
  pageParameters,
  presentSlot,
  SlotTime,
} from './fields'
import { type Draft, isCurrent, makePage, PageCache, renewed, SlotTable, slotBytes } from './provider-page'
import { pageUrl } from './query'

const path = '/partners/v1/providers/'

const ProviderQuery = Type.Object({
  region_id: Type.Optional(
    Type.Integer({
      minimum: 1,
      format: 'int64',
      description: 'Id of a region. Required if the country has several regions or the modality is in-person',
      example: exampleRegionId,
    }),
  ),
  country_code: Type.Optional(CountryCode),
  modality: Type.Optional({
    ...ModalityName,
    description: 'Form of the session. in-person finds providers who see members in person in the region',
  }),
  language: Type.Optional({ ...LanguageTag, description: 'BCP 47 tag of a language the provider speaks' }),
  ...pageParameters,
})

const SlotBody = Type.Object(
  { utcStartTime: SlotTime, utcEndTime: { ...SlotTime, examples: ['2026-12-01T14:45:00Z'] } },
  { title: 'Slot', description: 'A bookable session of 45 minutes' },
)

const ProviderDetails = Type.Object(
  {
    firstName: Type.String({ description: 'First name' }),
    lastName: Type.String({ description: 'Last name' }),
    credentials: nullable(Type.String(), 'Professional credentials, for example PhD; null if unknown'),
    pronouns: nullable(Type.String(), 'Pronouns; null if unknown'),
    gender: nullable(Type.String(), 'Gender; null if unknown'),
    bio: nullable(Type.String(), 'Short biography; null if unknown'),
    timeZone: Type.String({ description: "IANA name of the provider's time zone" }),
    languagesSpoken: Type.Array(Type.String(), { description: 'BCP 47 tags of the languages spoken' }),
    modalities: Type.Array(ModalityName, { description: 'Forms of session that the provider offers' }),
  },
  { title: 'ProviderDetails', description: 'Profile of the provider' },
)

const ProviderBody = Type.Object(
  {
    providerId: Id('Id of the provider; send it as selfSchedulingProviderId to book'),
    details: ProviderDetails,
    availability: Type.Array(SlotBody, { description: 'Free slots of the next 30 days, earliest first' }),
  },
  { title: 'Provider', description: 'A provider with an active license in the region' },
)

const ProviderPageBody = Type.Object(
  {
    count: Type.Integer({ description: 'Total number of providers on all pages' }),
    next: nullable(Type.String(), 'Full URL of the next page; null on the last page'),
    previous: nullable(Type.String(), 'Full URL of the previous page; null on the first page'),
    results: Type.Array(ProviderBody, { description: 'The providers of the page, sorted by providerId' }),
  },
  { title: 'ProviderPage', description: 'A page of providers' },
)

export const providers = endpoint({
  method: 'GET',
  path,
  operationId: 'searchProviders',
  tag: 'Directory',
  summary: 'Search providers and their free slots',
  description:
    'Finds providers with an active license in a region, with their free slots in the next 30 days. For a ' +
    'country with one country-wide region, country_code alone is enough, except for in-person.',
  query: ProviderQuery,
  budget: 'reads',
  costOf: ({ page_size: pageSize = defaultPageSize }) => 1 + pageSize,
  answer: {
    status: 200,
    description: 'A page of matching providers',
    schema: ProviderPageBody,
    isRevalidated: true,
    links: {
      bookingOfSlot: {
        to: bookingRequest,
        description:
          'To book a slot, send its providerId and its two times, exactly as received, as bookingData',
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
    const pages = new PageCache(() => context.limits.cachedBytes)
    const slots = new SlotTable()
    return ({ query, now, authenticated, turn }) => {
      // The links in a page repeat the query exactly as sent, so each spelling of a query has a separate page.
      const asked = JSON.stringify(query)
      const known = pages.get(asked)
      if (known && isCurrent(known, authenticated.version, now))
        return { body: known.representation, counted: known.counted }
      return search(query, now, asked, turn)
    }

    async function search(query: Static<typeof ProviderQuery>, now: number, asked: string, turn: Turn) {
      const waiting = turn()
      if (waiting) await waiting
      const found = await searchProviders(
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
        turn,
      )
      const before = pages.get(asked)
      const write = (draft: Draft, { provider }: FoundProvider, availability: Availability) =>
        writeEntry(draft, provider, availability, now, slots)
      const page =
        (before && renewed(before, found, now)) ??
        (await makePage(found, pageHead(found, query, baseUrl), now, before, write, turn))
      pages.keep(asked, page)
      return { body: page.representation, counted: page.counted }
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

/** Returns the JSON of the page up to its first entry. */
function pageHead(found: FoundPage, query: Static<typeof ProviderQuery>, baseUrl: string): string {
  const { page, pages, count } = found
  const urlOf = (to: number) => pageUrl(baseUrl, path, query, to)
  const next = page < pages ? urlOf(page + 1) : null
  const previous = page > 1 ? urlOf(page - 1) : null
  return `${JSON.stringify({ count, next, previous }).slice(0, -1)},"results":[`
}

/** @param now ms */
function writeEntry(
  draft: Draft,
  provider: Provider,
  { slots }: Availability,
  now: number,
  table: SlotTable,
): void {
  draft.addText(`${JSON.stringify(presentProfile(provider)).slice(0, -1)},"availability":`)
  if (slots.length === 0) draft.addText('[')
  draft.add(slots.length * slotBytes, (bytes, at) => {
    const end = table.write(slots, now, bytes, at)
    // The first slot starts with a bracket, not a comma.
    if (slots.length > 0) bytes.write('[', at)
    return end
  })
  draft.addText(']}')
}

export function presentFound(
  { provider }: FoundProvider,
  { slots }: Availability,
): typeof ProviderBody.static {
  return {
    ...presentProfile(provider),
    availability: Array.from(slots, (start) => presentSlot(start * minuteMillis)),
  }
}

function presentProfile(provider: Provider): Omit<typeof ProviderBody.static, 'availability'> {
  const { id: providerId, firstName, lastName, credentials, pronouns, gender, bio, timeZone } = provider
  const [languagesSpoken, modalities] = [[...provider.languagesSpoken], [...provider.modalities]]
  const person = { firstName, lastName, credentials, pronouns, gender, bio, timeZone }
  return { providerId, details: { ...person, languagesSpoken, modalities } }
}
