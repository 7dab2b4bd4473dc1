import type { Listing } from '../directory/listing'
import { languageMatches } from '../domain/language'
import type { Member } from '../domain/member'
import type { Modality, Provider } from '../domain/provider'
import { type Region, regionRef } from '../domain/region'
import { minuteMillis } from '../scheduling/calendar'
import { formatLocal, type TimeZone } from '../scheduling/time-zone'
import type { Context } from './context'
import { requireRequest } from './find-records'
import {
  type Clocks,
  isDaytime,
  memberTimeIn,
  memberZones,
  type Whereabouts,
  whereaboutsOf,
  type Zones,
} from './members'
import { requirePlaceable } from './transitions'

interface Wish {
  /** BCP 47. */
  readonly language: string
  /** Parsed from the member's free text; empty if nothing is recognized. */
  readonly modalities: readonly Modality[]
}

/** One criterion for a provider. `fits` is null if it cannot be determined. */
export type Reason =
  | { readonly about: 'license'; readonly fits: true | null; readonly regions: readonly string[] }
  | { readonly about: 'language'; readonly fits: boolean; readonly spoken: readonly string[] }
  | { readonly about: 'modality'; readonly fits: boolean | null; readonly offered: readonly Modality[] }
  | { readonly about: 'slots'; readonly fits: boolean; readonly free: number }

export interface Suggestion {
  readonly provider: Provider
  readonly reasons: readonly Reason[]
  /** The earliest free slots, but slots outside the member's daytime come last. */
  readonly slots: readonly Offer[]
}

export type Offer = ReturnType<typeof offerAt>

interface Licensee {
  readonly listing: Listing
  /** The regions in which the member may be and the provider is licensed. */
  readonly places: readonly Region[]
  /** The modalities that the provider offers in `places`. */
  readonly modalities: readonly Modality[]
}

export interface Candidate {
  readonly provider: Provider
  readonly zone: TimeZone
  readonly regions: readonly string[]
  /** False if only the member's country is known. */
  readonly isRegionKnown: boolean
  /** The modalities that the provider offers in `regions`. */
  readonly modalities: readonly Modality[]
  /** Minutes, ascending. */
  readonly freeSlots: readonly number[]
}

export type Suggestions = Awaited<ReturnType<typeof suggestProviders>>

const shownSlots = 3

/**
 * Returns the providers licensed in the region of an intake's member, best match first. @param now ms
 * @throws Refusal record_unknown, or move_unknown if the request is not an assignable intake
 */
export async function suggestProviders(context: Context, clocks: Clocks, id: number) {
  const request = await requireRequest(context, id)
  requirePlaceable('assign', request, null)
  const { member } = request
  const whereabouts = whereaboutsOf(context.directory, member.profile)
  const wish = wishOf(member)
  const zones = memberZones(clocks, member.profile)
  const candidates = candidatesIn(context, whereabouts, context.clock.now())
  const suggestions = rankCandidates(candidates, wish, zones)
  return { member, whereabouts, wish, suggestions }
}

/** Sorts by language, then modality, then the earliest free slot in the daytime. @param zones the member's time zones */
export function rankCandidates(candidates: readonly Candidate[], wish: Wish, zones: Zones): Suggestion[] {
  return candidates
    .map((candidate) => {
      const { provider, zone, freeSlots } = candidate
      const slots = daytimeFirst(zones, freeSlots, shownSlots)
      const offers = slots.map((minute) => offerAt(minute, provider, zone, zones))
      return { provider, reasons: reasonsFor(candidate, wish), slots: offers }
    })
    .sort((a, b) => compareFit(rankOf(a), rankOf(b)))
}

/** Returns at most `most` slots (minutes). Slots outside the member's daytime come last. */
export function daytimeFirst(zones: Zones, slots: readonly number[], most: number): number[] {
  const [day, night] = [[] as number[], [] as number[]]
  for (const slot of slots) {
    if (day.length === most) break
    ;(isDaytime(zones, slot) ? day : night).push(slot)
  }
  return [...day, ...night].slice(0, most)
}

/** @param minute the start @param zone the provider's time zone @param zones the member's */
export function offerAt(minute: number, provider: Provider, zone: TimeZone, zones: Zones) {
  const startsAt = minute * minuteMillis
  return {
    provider,
    startsAt,
    /** The provider's local time, for example `Tue 2026-12-01 09:00`. */
    local: formatLocal(zone, minute),
    memberTime: memberTimeIn(zones, startsAt),
    /** False if it may be earlier than 08:00 or later than 21:00 for the member. */
    isDaytime: isDaytime(zones, minute),
  }
}

export function wishOf({ profile }: Member): Wish {
  const { preferredSpokenLanguage: language, preferredModality } = profile
  return { language, modalities: modalitiesIn(preferredModality ?? '') }
}

/** Returns true if a provider speaks the language and offers a wanted modality. An empty list of modalities means any. */
export function suits({ listing, modalities: offered }: Licensee, { language, modalities }: Wish): boolean {
  const speaks = listing.provider.languagesSpoken.some((tag) => languageMatches(tag, language))
  return speaks && (modalities.length === 0 || offered.some((modality) => modalities.includes(modality)))
}

/** Returns the modalities that a member's free text mentions. */
export function modalitiesIn(text: string): Modality[] {
  return modalityWords.filter(({ words }) => words.test(text)).map(({ modality }) => modality)
}

const modalityWords: readonly { readonly modality: Modality; readonly words: RegExp }[] = [
  { modality: 'in-person', words: /\bin[\s-]?person\b|\bface[\s-]to[\s-]face\b|\bin[\s-]office\b/i },
  { modality: 'telephonic', words: /\b(tele)?phone\b|\btelephonic\b/i },
  { modality: 'in-video', words: /\bvideo|\bvirtual\b|\bonline\b/i },
]

/** Returns the providers licensed in the member's region at `now` (ms). For an unknown region, searches the country. */
export function licenseesIn({ directory }: Context, { region, candidates }: Whereabouts, now: number) {
  const licensed = new Map<Listing, Region[]>()
  for (const place of region ? [region] : candidates) {
    for (const listing of directory.listLicensed(place.id, now)) {
      licensed.set(listing, [...(licensed.get(listing) ?? []), place])
    }
  }
  return Array.from(licensed, ([listing, places]) => {
    return { listing, places, modalities: modalitiesAmong(listing.provider, places) }
  })
}

function candidatesIn(context: Context, whereabouts: Whereabouts, now: number): Candidate[] {
  return licenseesIn(context, whereabouts, now).map(({ listing, places, modalities }) => {
    const free = places.flatMap(({ id }) => context.directory.availabilityIn(listing, id, now).slots)
    return {
      provider: listing.provider,
      zone: listing.calendar.schedule.zone,
      regions: places.map(regionRef),
      isRegionKnown: whereabouts.region !== null,
      modalities,
      freeSlots: [...new Set(free)].sort((a, b) => a - b),
    }
  })
}

function modalitiesAmong({ modalities, inPersonRegionIds }: Provider, places: readonly Region[]): Modality[] {
  const seesPeople = places.some(({ id }) => inPersonRegionIds.includes(id))
  return modalities.filter((modality) => modality !== 'in-person' || seesPeople)
}

function reasonsFor(candidate: Candidate, { language, modalities }: Wish): Reason[] {
  const { regions, isRegionKnown, provider, modalities: offered, freeSlots } = candidate
  const spoken = provider.languagesSpoken.filter((tag) => languageMatches(tag, language))
  const matching = offered.filter((modality) => modalities.includes(modality))
  const [speaks, suits] = [spoken.length > 0, matching.length > 0]
  return [
    { about: 'license', fits: isRegionKnown || null, regions },
    { about: 'language', fits: speaks, spoken: speaks ? spoken : provider.languagesSpoken },
    { about: 'modality', fits: modalities.length > 0 ? suits : null, offered: suits ? matching : offered },
    { about: 'slots', fits: freeSlots.length > 0, free: freeSlots.length },
  ]
}

/** Sort keys, most important first; smaller is better. */
function rankOf({ reasons, slots: [first], provider }: Suggestion): number[] {
  const against = (about: Reason['about']) =>
    reasons.some((reason) => reason.about === about && reason.fits === false) ? 1 : 0
  const start = [first?.isDaytime ? 0 : 1, first?.startsAt ?? Number.MAX_SAFE_INTEGER]
  return [against('language'), against('modality'), ...start, provider.id]
}

function compareFit(a: readonly number[], b: readonly number[]): number {
  const differing = a.findIndex((value, place) => value !== b[place])
  return differing === -1 ? 0 : (a[differing] as number) - (b[differing] as number)
}
