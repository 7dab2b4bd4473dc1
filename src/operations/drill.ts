import type { Act } from '../domain/audit'
import type { Region } from '../domain/region'
import type { Context } from './context'
import { type FoundPage, listRegions, searchProviders } from './search-providers'
import { rotateToken } from './tokens'

/**
 * A token for a copy of the database that is about to be removed, of a partner who has one. It is made there, and so is of
 * no use anywhere else. Null if no partner could call.
 */
export async function mintDrillToken(copy: Context, act: Act): Promise<string | null> {
  const caller = copy.directory
    .listKeys()
    .find(
      ({ partner, startsAt, endsAt }) =>
        partner.active && partner.organization?.active && startsAt <= act.at && (endsAt ?? Infinity) > act.at,
    )
  return caller ? rotateToken(copy, caller.partner, act.at, act) : null
}

/** In how many regions a drill searches: the time that it takes is not to grow with the directory. */
const mostRegions = 10
/** What one page of an answer can have. */
const firstPage = { page: 1, pageSize: 100 }

/** What a drill asks for: first pages of lists. */
export interface DrillQuestions {
  readonly countries: readonly string[]
  readonly regions: readonly Region[]
}

/** What can be asked of a directory. */
export function questionsFor({ directory }: Context): DrillQuestions {
  const regions = directory.listAllRegions().filter(({ active }) => active)
  const countries = new Set(regions.map(({ countryCode }) => countryCode))
  return { countries: [...countries].slice(0, mostRegions), regions: regions.slice(0, mostRegions) }
}

/** The regions of a country that partners are to be shown. */
export function regionsShown(context: Context, countryCode: string): readonly Region[] {
  return listRegions(context, countryCode, firstPage).items
}

/** The providers of a region that partners are to be shown at a moment (ms). */
export function providersShown(context: Context, { id: regionId }: Region, now: number): FoundPage {
  const search = {
    ...firstPage,
    regionId,
    countryCode: undefined,
    modality: undefined,
    languageTag: undefined,
  }
  const searching = searchProviders(context, search, now)
  for (;;) {
    const step = searching.next()
    if (step.done) return step.value
  }
}
