/** Whether the long run is on: `npm run test:long`. */
export const isLong = Boolean(process.env.TEST_LONG)

/** Returns the repetitions for the normal run or for the long run. */
export function times(inSuite: number, inLong: number): number {
  return isLong ? inLong : inSuite
}

/** Prints a measurement for the reader of a test run. */
export function tellFigure(figure: string): void {
  console.log(`figure: ${figure}`)
}
