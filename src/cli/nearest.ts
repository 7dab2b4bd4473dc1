import { editDistance } from '../domain/edit-distance'

/** The word that may have been meant by another; null if none is near. */
export function nearest(word: string, known: readonly string[]): string | null {
  const most = Math.max(1, Math.floor(word.length / 3))
  const near = known
    .map((each) => ({ each, steps: editDistance(word, each) }))
    .filter(({ steps }) => steps <= most)
    .sort((one, other) => one.steps - other.steps)
  return near[0]?.each ?? null
}
