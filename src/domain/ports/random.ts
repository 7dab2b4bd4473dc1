export type RandomSource = (count: number) => Uint8Array

export const secureRandom: RandomSource = (count) => crypto.getRandomValues(new Uint8Array(count))
