/** Whether the tests may take as long as they like: `npm run test:long`. */
export const isLong = Boolean(process.env.TEST_LONG)

/** How often something is done: so many times in the suite, and so many when it may take long. */
export function times(inSuite: number, inLong: number): number {
  return isLong ? inLong : inSuite
}

/** Prints what a test measured, for whoever reads the run: figures that it holds to nothing, or only to a bound. */
export function tellFigure(figure: string): void {
  console.log(`figure: ${figure}`)
}
