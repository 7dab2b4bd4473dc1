import type { Directory } from '../directory/directory'
import type { Act } from '../domain/audit'
import { newAuthorizationNumber, type RequestRecord } from '../domain/booking-request'
import { decideAssignment, refuseAssignment } from '../domain/decide-placement'
import type { Member } from '../domain/member'
import type { Provider } from '../domain/provider'
import { regionRef } from '../domain/region'
import type { Context } from './context'
import { whereaboutsOf } from './member-region'
import { placeRequest } from './place-request'

/** What of an intake's provider a person should look at before they are assigned; nothing is refused for it. */
export type AssignmentConcern =
  | { readonly about: 'unlicensed'; readonly region: string }
  | { readonly about: 'region unknown'; readonly country: string }

/**
 * Attaches a provider to an intake, with a slot of theirs (`startsAt`, ms) or without one (null). An intake
 * that has a provider already gets the new one in their place: it is pending again and its earlier slot free.
 *
 * @throws Refusal record_unknown, move_unknown for what is no intake that can be assigned or for a provider
 *   who is deactivated, slot_unavailable, slot_conflicts_with_yours, storage_busy
 */
export function assignProvider(
  context: Context,
  requestId: number,
  provider: Provider,
  startsAt: number | null,
  act: Act,
): Promise<RequestRecord> {
  const authorizationNumber = newAuthorizationNumber()
  return placeRequest(context, requestId, provider, startsAt, act, refuseAssignment, (draft, facts) =>
    decideAssignment({ ...draft, authorizationNumber }, facts),
  )
}

/** @throws Refusal move_unknown for a booking request, for an intake that is closed or whose person was erased */
export function requireAssignable(
  request: RequestRecord,
): asserts request is RequestRecord & { readonly member: Member } {
  const refusal = refuseAssignment(request)
  if (refusal) throw refusal
}

/** Whether the provider may practise where the member is, at an instant (ms); null if nothing speaks against it. */
export function concernOf(
  directory: Directory,
  { profile }: Member,
  provider: Provider,
  at: number,
): AssignmentConcern | null {
  const { region } = whereaboutsOf(directory, profile)
  if (!region) return { about: 'region unknown', country: profile.country }
  const isLicensed = directory.listLicensed(region.id, at).some((found) => found.provider.id === provider.id)
  return isLicensed ? null : { about: 'unlicensed', region: regionRef(region) }
}
