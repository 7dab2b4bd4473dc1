/** True in the long run: `npm run test:long`. */
export const isLong = Boolean(process.env.TEST_LONG)

/** Returns the number of repetitions: `inLong` in the long run, otherwise `inSuite`. */
export function times(inSuite: number, inLong: number): number {
  return isLong ? inLong : inSuite
}

export function printFigure(figure: string): void {
  console.log(`figure: ${figure}`)
}
