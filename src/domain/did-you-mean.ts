/**
 * Returns the known word that is most similar to a misspelled word. Returns null if no known word is similar, or if
 * two known words are equally similar.
 */
export function didYouMean(word: string, known: readonly string[]): string | null {
  if (known.length * word.length ** 2 > maxSteps) return null
  const most = Math.max(1, Math.floor(word.length / 3))
  const near = known
    .filter((each) => Math.abs(each.length - word.length) <= mostZeros + most)
    .map((each) => ({ each, steps: stepsBetween(word, each) }))
    .filter(({ steps }) => steps <= most)
    .sort((one, other) => one.steps - other.steps)
  const [first, second] = near
  return first === undefined || first.steps === second?.steps ? null : first.each
}

/** Limits a search to about a second, for example for a word of 14 letters among 100,000 refs. */
const maxSteps = 2e7

/** The maximum number of zeros that a user may omit from a ref, for example on-6 for on-0006. */
const mostZeros = 9

/** Edit distance, minus 0.5 if both words have the same letters. Ignores case and leading zeros of numbers. */
function stepsBetween(word: string, known: string): number {
  const [one, other] = [word, known].map((text) => text.toLowerCase().replace(/(?<!\d)0+(?=\d)/g, ''))
  const lettersOf = (text = '') => [...text].sort().join('')
  const reordered = one !== other && lettersOf(one) === lettersOf(other) ? 0.5 : 0
  return editDistance(one as string, other as string) - reordered
}

/** Returns the Damerau edit distance. A swap of two adjacent letters counts as one edit. */
export function editDistance(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, at) => at)]
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0
  for (let row = 1; row <= one.length; row++) {
    rows[row] = [row]
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1]
      const isExchanged =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      ;(rows[row] as number[])[column] = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (isSame ? 0 : 1),
        isExchanged ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
  }
  return at(one.length, other.length)
}
