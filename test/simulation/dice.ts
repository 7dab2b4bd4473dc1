import { below, pick, randomFrom } from '../hostile/random'

/** What is left to chance, the same for the same seed. */
export interface Dice {
  /** A whole number from 0 up to, but not, `end`. */
  below(end: number): number
  /** Whether something happens that happens so often: from 0 to 1. */
  chance(share: number): boolean
  pick<T>(from: readonly T[]): T
  /** One of several things, each made as often as its share of all says. */
  weighed<T>(kinds: readonly (readonly [share: number, make: () => T])[]): T
}

export function diceFrom(seed: number): Dice {
  const random = randomFrom(seed)
  return {
    below: (end) => below(random, end),
    chance: (share) => random() < share,
    pick: (from) => pick(random, from),
    weighed(kinds) {
      let place = random() * kinds.reduce((sum, [share]) => sum + share, 0)
      const found = kinds.find(([share]) => {
        place -= share
        return place < 0
      })
      return (found ?? (kinds[0] as (typeof kinds)[number]))[1]()
    },
  }
}
