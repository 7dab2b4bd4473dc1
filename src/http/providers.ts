import { Type } from '@sinclair/typebox'
import { modalities } from '../domain/modality'
import { defaultPageSize } from '../domain/page'
import { Choice } from '../domain/validation'
import type { Context } from '../operations/context'
import { type FoundProvider, searchProviders } from '../operations/search-providers'
import type { Availability } from '../scheduling/availability'
import { formatInstant, minuteMillis } from '../scheduling/calendar'
import { slotMinutes } from '../scheduling/slots'
import { CountryCode, LanguageTag, pageParameters, readQuery } from './fields'
import type { Gated } from './gate'
import { pageUrl } from './links'

const path = '/partners/v1/providers/'

export const ProviderQuery = Type.Object({
  region_id: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'The id of a region; required for countries with several regions and for in-person',
    }),
  ),
  country_code: Type.Optional(CountryCode),
  modality: Type.Optional(
    Choice(modalities, {
      description: 'How sessions are held; in-person finds who sees people in person in the region',
    }),
  ),
  language: Type.Optional(LanguageTag),
  ...pageParameters,
})

const NullableText = Type.Union([Type.String(), Type.Null()])

const SlotTime = Type.String({ format: 'date-time', description: 'UTC, to be sent back exactly as it is' })

export const SlotBody = Type.Object(
  { utcStartTime: SlotTime, utcEndTime: SlotTime },
  { title: 'Slot', description: '45 minutes that can be booked' },
)

export const ProviderBody = Type.Object(
  {
    providerId: Type.Integer({ description: 'The selfSchedulingProviderId of a booking' }),
    details: Type.Object({
      firstName: Type.String(),
      lastName: Type.String(),
      credentials: NullableText,
      pronouns: NullableText,
      gender: NullableText,
      bio: NullableText,
      timeZone: Type.String({ description: 'IANA name of the zone that the provider works in' }),
      languagesSpoken: Type.Array(Type.String(), { description: 'BCP 47 language tags' }),
      modalities: Type.Array(Choice(modalities), { description: 'How sessions can be held' }),
    }),
    availability: Type.Array(SlotBody, {
      description: 'The free slots that start in the next 30 days, soonest first',
    }),
  },
  { title: 'Provider', description: 'A provider with an active license in the region' },
)

export const ProviderPageBody = Type.Object(
  {
    count: Type.Integer({ description: 'Providers on all pages' }),
    next: Type.Union([Type.String(), Type.Null()], { description: 'Full URL of the next page' }),
    previous: Type.Union([Type.String(), Type.Null()], { description: 'Full URL of the previous page' }),
    results: Type.Array(ProviderBody, { description: 'The providers of the page, by providerId' }),
  },
  { title: 'ProviderPage', description: 'A page of providers' },
)

/** GET providers: who is licensed in a region, with the slots of the next 30 days. */
export function providers(app: Gated, context: Context, baseUrl: string) {
  return app.get(
    path,
    ({ query, now }) => {
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
      return presentPage(found.count, next, previous, found.items)
    },
    {
      transform: (call) => {
        call.query = readQuery(call.request.url, ProviderQuery) as typeof call.query
      },
      query: ProviderQuery,
      // It documents alone: Elysia does not look into an answer that is a Response.
      response: { 200: ProviderPageBody },
      detail: {
        operationId: 'searchProviders',
        tags: ['Directory'],
        summary: 'Search providers and their free slots',
        description:
          'Finds the providers with an active license in a region, with their free slots of the next 30 days. ' +
          'country_code alone is enough for a country with one country-wide region, but not for in-person.',
      },
    },
  )
}

// A page is put together from bytes that were made once for each provider's availability: making them anew
// for every search takes ten times as long as all the rest. The oldest are let go, since they are large.
const entries = new Map<Availability, Uint8Array>()
const mostEntries = 2_000

function presentPage(
  count: number,
  next: string | null,
  previous: string | null,
  found: readonly FoundProvider[],
): Response {
  const head = JSON.stringify({ count, next, previous }).slice(0, -1)
  const parts: Uint8Array[] = [Buffer.from(`${head},"results":[`)]
  for (const [index, provider] of found.entries()) {
    if (index > 0) parts.push(comma)
    parts.push(entryOf(provider))
  }
  parts.push(end)
  return new Response(Buffer.concat(parts), { headers: { 'Content-Type': 'application/json' } })
}

const comma = Buffer.from(',')
const end = Buffer.from(']}')

function entryOf(found: FoundProvider): Uint8Array {
  const known = entries.get(found.availability)
  if (known) return known
  const entry = Buffer.from(JSON.stringify(presentProvider(found)))
  entries.set(found.availability, entry)
  const [oldest] = entries.keys()
  if (entries.size > mostEntries && oldest) entries.delete(oldest)
  return entry
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
    availability: availability.slots.map((start) => ({
      utcStartTime: formatInstant(start * minuteMillis),
      utcEndTime: formatInstant((start + slotMinutes) * minuteMillis),
    })),
  }
}
