/** What a database says of who and what is in force, to be compared with an earlier state of it. */
export interface InForce {
  /** Those in force, and those that wait for their cutover. */
  readonly tokens: readonly TokenInForce[]
  /** Those that are active; providers by their refs. */
  readonly partners: readonly Named[]
  readonly organizations: readonly Named[]
  readonly providers: readonly Named[]
  readonly members: readonly { readonly id: number; readonly active: boolean }[]
  /** Each request, and a text that is another once it was accepted, moved, declined, closed or assigned. */
  readonly requests: readonly { readonly id: number; readonly standing: string }[]
  /** The absences that staff entered. */
  readonly absences: readonly AbsenceOfStaff[]
}

/** An absence that staff entered, which no directory brings back. */
export interface AbsenceOfStaff {
  /** All of it: the provider's ref, from when, until when. */
  readonly id: string
}

/** A token by its kid. */
export interface TokenInForce {
  readonly id: string
  /** Its name. */
  readonly partner: string
}

/** A record that may have had another name before. */
export interface Named {
  readonly id: number
  readonly name: string
}

/** What a database has done that an earlier state of it, put in its place, knows nothing of. */
export interface Undone {
  /** Tokens that were revoked, rotated out or cancelled: they are valid again. */
  readonly tokens: readonly TokenInForce[]
  /** Partners, organizations, providers and members that were deactivated: they are active again. */
  readonly partners: readonly Named[]
  readonly organizations: readonly Named[]
  readonly providers: readonly Named[]
  readonly deactivatedMembers: readonly number[]
  /** Members who were erased: they are there again. */
  readonly erasedMembers: readonly number[]
  /** Requests that were accepted, moved, declined, closed or assigned: they stand, and hold slots, as before. */
  readonly changedRequests: readonly number[]
  /** Absences that staff entered: who is ill is offered again. */
  readonly lostAbsences: readonly string[]
  /** Tokens that were handed over since: they are not known any more. */
  readonly lostTokens: readonly TokenInForce[]
  /** How many requests were submitted since. */
  readonly lostRequests: number
}

/** Compares an earlier state of a database with the one that it is to take the place of. */
export function undoneBy(earlier: InForce, replaced: InForce): Undone {
  const activeOf = ({ members }: InForce) => members.filter(({ active }) => active)
  const erased = without(earlier.members, replaced.members)
  const standings = new Map(replaced.requests.map(({ id, standing }) => [id, standing]))
  const changed = earlier.requests.filter(({ id, standing }) => (standings.get(id) ?? standing) !== standing)
  const inactive = without(activeOf(earlier), activeOf(replaced))
  return {
    tokens: without(earlier.tokens, replaced.tokens),
    partners: without(earlier.partners, replaced.partners),
    organizations: without(earlier.organizations, replaced.organizations),
    providers: without(earlier.providers, replaced.providers),
    deactivatedMembers: without(inactive, erased).map(({ id }) => id),
    erasedMembers: erased.map(({ id }) => id),
    changedRequests: changed.map(({ id }) => id),
    lostAbsences: without(replaced.absences, earlier.absences).map(({ id }) => id),
    lostTokens: without(replaced.tokens, earlier.tokens),
    lostRequests: without(replaced.requests, earlier.requests).length,
  }
}

/** Whether anything becomes valid again. What is merely lost endangers nobody. */
export function isAnyValidAgain({ lostTokens: _, lostRequests: __, ...again }: Undone): boolean {
  return Object.values(again).some((records) => records.length > 0)
}

interface Known {
  readonly id: number | string
}

/** Those whose ids are not among the others'. */
function without<One extends Known>(ones: readonly One[], others: readonly Known[]): One[] {
  const ids = new Set(others.map(({ id }) => id))
  return ones.filter(({ id }) => !ids.has(id))
}
