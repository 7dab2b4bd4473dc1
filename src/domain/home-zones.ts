import { foldName, type MemberProfile } from './member'

/**
 * The regions of countries with several time zones, each with its name in English and all zones (IANA) that people in
 * it live by, the one of most of them first.
 */
const regionZones: readonly (readonly [ref: string, name: string, zones: string])[] = [
  ['CA-AB', 'Alberta', 'America/Edmonton'],
  ['CA-BC', 'British Columbia', 'America/Vancouver America/Edmonton America/Fort_Nelson America/Creston'],
  ['CA-MB', 'Manitoba', 'America/Winnipeg'],
  ['CA-NB', 'New Brunswick', 'America/Moncton'],
  ['CA-NL', 'Newfoundland and Labrador', 'America/St_Johns America/Goose_Bay'],
  ['CA-NS', 'Nova Scotia', 'America/Halifax'],
  ['CA-NT', 'Northwest Territories', 'America/Edmonton America/Inuvik'],
  ['CA-NU', 'Nunavut', 'America/Iqaluit America/Rankin_Inlet America/Cambridge_Bay America/Atikokan'],
  ['CA-ON', 'Ontario', 'America/Toronto America/Winnipeg America/Atikokan'],
  ['CA-PE', 'Prince Edward Island', 'America/Halifax'],
  ['CA-QC', 'Quebec', 'America/Toronto America/Halifax America/Blanc-Sablon'],
  ['CA-SK', 'Saskatchewan', 'America/Regina America/Edmonton'],
  ['CA-YT', 'Yukon', 'America/Whitehorse'],
  ['US-AL', 'Alabama', 'America/Chicago'],
  ['US-AK', 'Alaska', 'America/Anchorage America/Adak'],
  ['US-AZ', 'Arizona', 'America/Phoenix America/Denver'],
  ['US-AR', 'Arkansas', 'America/Chicago'],
  ['US-CA', 'California', 'America/Los_Angeles'],
  ['US-CO', 'Colorado', 'America/Denver'],
  ['US-CT', 'Connecticut', 'America/New_York'],
  ['US-DE', 'Delaware', 'America/New_York'],
  ['US-DC', 'District of Columbia', 'America/New_York'],
  ['US-FL', 'Florida', 'America/New_York America/Chicago'],
  ['US-GA', 'Georgia', 'America/New_York'],
  ['US-HI', 'Hawaii', 'Pacific/Honolulu'],
  ['US-ID', 'Idaho', 'America/Boise America/Los_Angeles'],
  ['US-IL', 'Illinois', 'America/Chicago'],
  ['US-IN', 'Indiana', 'America/Indiana/Indianapolis America/Chicago'],
  ['US-IA', 'Iowa', 'America/Chicago'],
  ['US-KS', 'Kansas', 'America/Chicago America/Denver'],
  ['US-KY', 'Kentucky', 'America/New_York America/Chicago'],
  ['US-LA', 'Louisiana', 'America/Chicago'],
  ['US-ME', 'Maine', 'America/New_York'],
  ['US-MD', 'Maryland', 'America/New_York'],
  ['US-MA', 'Massachusetts', 'America/New_York'],
  ['US-MI', 'Michigan', 'America/Detroit America/Menominee'],
  ['US-MN', 'Minnesota', 'America/Chicago'],
  ['US-MS', 'Mississippi', 'America/Chicago'],
  ['US-MO', 'Missouri', 'America/Chicago'],
  ['US-MT', 'Montana', 'America/Denver'],
  ['US-NE', 'Nebraska', 'America/Chicago America/Denver'],
  ['US-NV', 'Nevada', 'America/Los_Angeles America/Denver'],
  ['US-NH', 'New Hampshire', 'America/New_York'],
  ['US-NJ', 'New Jersey', 'America/New_York'],
  ['US-NM', 'New Mexico', 'America/Denver'],
  ['US-NY', 'New York', 'America/New_York'],
  ['US-NC', 'North Carolina', 'America/New_York'],
  ['US-ND', 'North Dakota', 'America/Chicago America/Denver'],
  ['US-OH', 'Ohio', 'America/New_York'],
  ['US-OK', 'Oklahoma', 'America/Chicago'],
  ['US-OR', 'Oregon', 'America/Los_Angeles America/Boise'],
  ['US-PA', 'Pennsylvania', 'America/New_York'],
  ['US-RI', 'Rhode Island', 'America/New_York'],
  ['US-SC', 'South Carolina', 'America/New_York'],
  ['US-SD', 'South Dakota', 'America/Chicago America/Denver'],
  ['US-TN', 'Tennessee', 'America/Chicago America/New_York'],
  ['US-TX', 'Texas', 'America/Chicago America/Denver'],
  ['US-UT', 'Utah', 'America/Denver'],
  ['US-VT', 'Vermont', 'America/New_York'],
  ['US-VA', 'Virginia', 'America/New_York'],
  ['US-WA', 'Washington', 'America/Los_Angeles'],
  ['US-WV', 'West Virginia', 'America/New_York'],
  ['US-WI', 'Wisconsin', 'America/Chicago'],
  ['US-WY', 'Wyoming', 'America/Denver'],
  ['AU-ACT', 'Australian Capital Territory', 'Australia/Sydney'],
  ['AU-NSW', 'New South Wales', 'Australia/Sydney Australia/Broken_Hill Australia/Lord_Howe'],
  ['AU-NT', 'Northern Territory', 'Australia/Darwin'],
  ['AU-QLD', 'Queensland', 'Australia/Brisbane'],
  ['AU-SA', 'South Australia', 'Australia/Adelaide'],
  ['AU-TAS', 'Tasmania', 'Australia/Hobart'],
  ['AU-VIC', 'Victoria', 'Australia/Melbourne'],
  ['AU-WA', 'Western Australia', 'Australia/Perth Australia/Eucla'],
]

/**
 * The names of the zones that a person may live by: those of the region that their state names, by code (ON, CA-ON) or
 * English name, neither case nor accents of which matter; else those of their country.
 *
 * @param zonesOf the zones of a country, by its code
 */
export function homeZonesOf(
  { country, state }: Pick<MemberProfile, 'country' | 'state'>,
  zonesOf: (country: string) => readonly string[],
): readonly string[] {
  const named = foldName(state ?? '')
  const region = regionZones.find(([ref, name]) => {
    const [of, code = ''] = ref.split('-')
    return of === country && [code, ref, name].some((text) => foldName(text) === named)
  })
  return region ? region[2].split(' ') : zonesOf(country)
}
