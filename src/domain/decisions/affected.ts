import { type AuditLine, auditActions } from '../audit'

/** The acts by which someone sees or changes data of a person. */
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

/** Maps ids to the actions. */
export type Touched = Map<number, Set<string>>

/** The records that lines show or change. */
export interface Found {
  readonly members: Touched
  readonly requests: Touched
  /** The number of lines about people whom the lines do not name, by action. */
  readonly unnamed: Map<string, number>
  readonly actors: Set<string>
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

export function touch(touched: Touched, id: number, actions: Iterable<string>): void {
  touched.set(id, new Set([...(touched.get(id) ?? []), ...actions]))
}

/** Also finds `olive` in `operator anteroom (olive, by login uid)`. */
function isOperator(actor: string, name: string): boolean {
  return (
    actor === name ||
    (actor.startsWith('operator ') &&
      actor
        .split(/[ (),]+/)
        .slice(1)
        .includes(name))
  )
}
