/** The seed of all random choices. HOSTILE_SEED changes it. */
export const seed = Number(process.env.HOSTILE_SEED ?? 20_261_201)

/** Returns numbers in [0, 1), the same for the same seed (Mulberry32). */
export type Random = () => number

export function randomFrom(start: number): Random {
  let state = start | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Returns an integer in [0, end). */
export function below(random: Random, end: number): number {
  return Math.floor(random() * end)
}

export function pick<T>(random: Random, from: readonly T[]): T {
  return from[below(random, from.length)] as T
}

export function shuffled<T>(random: Random, things: readonly T[]): T[] {
  return things
    .map((thing) => ({ thing, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ thing }) => thing)
}

/** Calls a function for each item, with limited concurrency. Returns the results in the order of the items. */
export async function eachOf<T, R>(
  things: readonly T[],
  concurrency: number,
  call: (thing: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async () => {
    while (next < things.length) {
      const index = next++
      results[index] = await call(things[index] as T, index)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return results
}
