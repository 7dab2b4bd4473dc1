/** Something that was done while other things were, as whoever asked for it saw it. */
export interface Done<Move, Told> {
  readonly move: Move
  readonly told: Told
  /** ms, of any beginning: when it was asked for, and when it was answered. */
  readonly askedAt: number
  readonly toldAt: number
}

/** What things that are done one after another come to, said by a model of them. */
export interface Model<State, Move, Told> {
  /** @returns what came of it, and the state then; the state given stays as it is */
  next(state: State, done: Done<Move, Told>): { readonly told: Told; readonly state: State }
  /** Whether a state may be the last. */
  isEnd(state: State): boolean
}

/**
 * An order in which things that were done at once could have been done one after another (linearizability, by the search of
 * Wing and Gong): each comes to what was told, none stands before one that had ended when it began, and all lead to
 * an end that may be. Null if there is none.
 */
export function serialOrder<State, Move, Told>(
  model: Model<State, Move, Told>,
  state: State,
  done: readonly Done<Move, Told>[],
): Done<Move, Told>[] | null {
  const waiting = done.toSorted((one, other) => one.toldAt - other.toldAt)
  const [first] = waiting
  if (!first) return model.isEnd(state) ? [] : null
  // Of those that are alike the first to be answered is tried: an order that begins with another is one in which these
  // two are exchanged.
  const tried: Done<Move, Told>[] = []
  for (const one of waiting) {
    if (one.askedAt > first.toldAt || tried.some((other) => isAlike(one, other))) continue
    tried.push(one)
    const { told, state: after } = model.next(state, one)
    if (!Bun.deepEquals(told, one.told)) continue
    const others = waiting.filter((other) => other !== one)
    const rest = serialOrder(model, after, others)
    if (rest) return [one, ...rest]
  }
  return null
}

function isAlike<Move, Told>(one: Done<Move, Told>, other: Done<Move, Told>): boolean {
  return Bun.deepEquals(one.move, other.move) && Bun.deepEquals(one.told, other.told)
}
