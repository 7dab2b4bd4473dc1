import { readValues } from '../config'
import { didYouMean } from '../domain/did-you-mean'
import { Refusal } from '../domain/errors'
import { foldName } from '../domain/member'
import type { ZoneData } from '../domain/ports/time'
import { formatDate } from '../scheduling/calendar'
import { namedDay, type TimeZone } from '../scheduling/time-zone'
import { settings } from '../settings'

/** @param flag the source of the name @throws Refusal field_invalid, with a similar name */
export function requireZone(zones: ZoneData, name: string, flag: string): TimeZone {
  const zone = zones.find(name)
  if (zone) return zone
  const city = `/${foldName(name).replaceAll(' ', '_')}`
  const meant = zones.names.find((each) => foldName(each).endsWith(city)) ?? didYouMean(name, zones.names)
  throw new Refusal('field_invalid', `${flag}: the time zone is unknown`, {
    action: meant ?? 'an IANA name, for example America/Toronto',
  })
}

/** Replaces `today` and `tomorrow` by a date if a clinic zone is set. @param now ms */
export function dateAtClinic(zones: ZoneData, flags: object, word: string, now: number): string {
  const { clinicZone: name } = readValues(flags)
  if (name === undefined) return word
  const day = namedDay(word, requireZone(zones, name, settings.clinicZone.flag), now)
  return day === null ? word : formatDate(day)
}
