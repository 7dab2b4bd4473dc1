/** A finished move with its result, as its caller saw it. */
export interface Done<Move, Result> {
  readonly move: Move
  readonly result: Result
  /** When it was sent and answered, in ms on any monotonic clock. */
  readonly askedAt: number
  readonly answeredAt: number
}

/** A sequential model of the moves. */
export interface Model<State, Move, Result> {
  /** @returns the result and the next state; does not change the given state */
  next(state: State, done: Done<Move, Result>): { readonly result: Result; readonly state: State }
  /** Returns true if a state can be the final one. */
  isEnd(state: State): boolean
}

/**
 * Finds a sequential order of concurrent moves (linearizability, by the search of Wing and Gong). In this order each move
 * has its actual result, no move precedes one that had ended before it began, and the final state is allowed.
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
  // Try only the first of equal moves: an order that begins with another one differs only by swapping the two.
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
