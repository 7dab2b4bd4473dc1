/** A finished move with its result, as its caller saw it. */
export interface Done<Move, Result> {
  readonly move: Move
  readonly result: Result
  /** The times at which it was sent and answered, in ms of the same monotonic clock. */
  readonly askedAt: number
  readonly answeredAt: number
}

/** A model that runs moves one after another. */
export interface Model<State, Move, Result> {
  /** Returns the result of the move and the state after it. Does not change the given state. */
  next(state: State, done: Done<Move, Result>): { readonly result: Result; readonly state: State }
  /** Returns true if a state can be the final one. */
  isEnd(state: State): boolean
}

/**
 * Finds a sequential order of concurrent moves (linearizability, with the search of Wing and Gong). In this order, the model
 * gives each move its actual result, and ends in an allowed state. If a move ended before another began, it comes first.
 * Returns null if there is no such order.
 */
export function serialOrder<State, Move, Result>(
  model: Model<State, Move, Result>,
  state: State,
  done: readonly Done<Move, Result>[],
): Done<Move, Result>[] | null {
  const waiting = done.toSorted((one, other) => one.answeredAt - other.answeredAt)
  const [first] = waiting
  if (!first) return model.isEnd(state) ? [] : null
  // If moves and their results are equal, tries only the first move, because swapping them gives the same order.
  const tried: Done<Move, Result>[] = []
  for (const one of waiting) {
    if (one.askedAt > first.answeredAt || tried.some((other) => isAlike(one, other))) continue
    tried.push(one)
    const { result, state: after } = model.next(state, one)
    if (!Bun.deepEquals(result, one.result)) continue
    const others = waiting.filter((other) => other !== one)
    const rest = serialOrder(model, after, others)
    if (rest) return [one, ...rest]
  }
  return null
}

function isAlike<Move, Result>(one: Done<Move, Result>, other: Done<Move, Result>): boolean {
  return Bun.deepEquals(one.move, other.move) && Bun.deepEquals(one.result, other.result)
}
