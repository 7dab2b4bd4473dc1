import { type AuditLine, auditActions } from '../audit'

/** Acts that show or change a person's data. */
export const personActions = auditActions.filter((action) =>
  /^(request|member)\.|^database\.back-up$|^audit\.affected$/.test(action),
)

/** Selects lines from `since` (ms, inclusive) until `until` (exclusive). */
export interface ActorSpan {
  /** The whole actor; null for each actor that `operator` names. */
  readonly actor: string | null
  readonly operator?: string
  readonly since: number
  readonly until: number
}

/** The records that lines show or change. */
export type Found = ReturnType<typeof nothing>

export function nothing() {
  return {
    /** The actions by id. */
    members: new Map<number, Set<string>>(),
    requests: new Map<number, Set<string>>(),
    /** The number of lines about people whom the lines do not name, by action. */
    unnamed: new Map<string, number>(),
    actors: new Set<string>(),
  }
}

export function takeLine(found: Found, line: AuditLine, { operator }: ActorSpan): void {
  const { actor, action, record, outcome } = line
  if (operator !== undefined && !isOperator(actor, operator)) return
  found.actors.add(actor)
  // A refused command has shown and changed nothing. A conflict reveals that the address belongs to the member.
  if (/^[a-z]+(_[a-z]+)+$/.test(outcome) && action !== 'member.email-conflict') return
  const [noun, id] = record?.split(' ') ?? []
  if (noun === 'member' || noun === 'request') touch(found[`${noun}s`], Number(id), [action])
  else found.unnamed.set(action, (found.unnamed.get(action) ?? 0) + 1)
}

export function touch(touched: Found['members'], id: number, actions: Iterable<string>): void {
  touched.set(id, new Set([...(touched.get(id) ?? []), ...actions]))
}

/** Also finds `olive` in `operator anteroom (olive, by login uid)`. */
function isOperator(actor: string, name: string): boolean {
  const [noun, ...words] = actor.split(/[ (),]+/)
  return actor === name || (noun === 'operator' && words.includes(name))
}
