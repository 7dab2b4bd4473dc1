/** What a database says of who and what is in force, to be compared with an earlier state of it. */
export interface InForce {
  /** Those in force, and those that wait for their cutover. */
  readonly tokens: readonly TokenInForce[]
  /** Those that are active; providers by their refs. */
  readonly partners: readonly Named[]
  readonly organizations: readonly Named[]
  readonly providers: readonly Named[]
  readonly members: readonly { readonly id: number; readonly active: boolean }[]
  /** The id of the newest request; 0 for none. */
  readonly newestRequest: number
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
  /** Tokens that were handed over since: they are not known any more. */
  readonly lostTokens: readonly TokenInForce[]
  /** How many requests were submitted since. */
  readonly lostRequests: number
}

/** Compares an earlier state of a database with the one that it is to take the place of. */
export function undoneBy(earlier: InForce, replaced: InForce): Undone {
  const activeOf = ({ members }: InForce) => members.filter(({ active }) => active)
  const erased = without(earlier.members, replaced.members)
  const inactive = without(activeOf(earlier), activeOf(replaced))
  return {
    tokens: without(earlier.tokens, replaced.tokens),
    partners: without(earlier.partners, replaced.partners),
    organizations: without(earlier.organizations, replaced.organizations),
    providers: without(earlier.providers, replaced.providers),
    deactivatedMembers: without(inactive, erased).map(({ id }) => id),
    erasedMembers: erased.map(({ id }) => id),
    lostTokens: without(replaced.tokens, earlier.tokens),
    lostRequests: Math.max(0, replaced.newestRequest - earlier.newestRequest),
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
