import { below, pick, randomFrom } from '../hostile/random'

/** Random choices, the same for the same seed. */
export interface Dice {
  /** Returns an integer in [0, end). */
  below(end: number): number
  /** Returns true with the given probability, from 0 to 1. */
  chance(share: number): boolean
  pick<T>(from: readonly T[]): T
  /** Makes a value of a random kind. A share is the relative probability of a kind. */
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
