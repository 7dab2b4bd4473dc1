export interface Done<Move, Result> {
  readonly move: Move
  readonly result: Result
  /** When the move was sent and answered, in ms of a monotonic clock. */
  readonly askedAt: number
  readonly answeredAt: number
}

export interface Model<State, Move, Result> {
  /** Returns the result of the move and the state after it. Does not change the given state. */
  next(state: State, done: Done<Move, Result>): { readonly result: Result; readonly state: State }
  isEnd(state: State): boolean
}

/**
 * Returns a sequential order of concurrent moves, or null if there is none (linearizability, with the search of Wing
 * and Gong). In this order, the model gives every move its actual result and ends in an allowed state. A move that
 * ended before another began comes first.
 */
export function serialOrder<State, Move, Result>(
  model: Model<State, Move, Result>,
  state: State,
  done: readonly Done<Move, Result>[],
): Done<Move, Result>[] | null {
  const waiting = done.toSorted((one, other) => one.answeredAt - other.answeredAt)
  const [first] = waiting
  if (!first) return model.isEnd(state) ? [] : null
  // Tries only one of several equal moves with equal results.
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
