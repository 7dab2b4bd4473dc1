/** The number of rounds. In each round the service and the reference take turns. */
export const rounds = 5

/** A row of the benchmark: a figure, its reference and its goal. */
export interface Row {
  readonly name: string
  readonly figure: string
  /** The value of the reference with its unit. The text names the reference if it is not a bare server. */
  readonly reference?: string
  /** The median of the rounds' ratios. A ratio is the figure divided by the reference. */
  readonly ratio?: number
  /** The smallest and the largest ratio of the rounds. */
  readonly spread?: readonly [smallest: number, largest: number]
  /** The median ratio of the CPU times of the two servers. Other processes affect CPU time little. */
  readonly cpuRatio?: number
  /** A bound of the ratio, or of the figure if there is no ratio: `>= 0.90`, `<= 4 MB` or `< 500 ms`. */
  readonly goal?: string
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

export interface Turns {
  readonly ours: readonly number[]
  readonly theirs: readonly number[]
  readonly unit: string
  /** The name of the reference; absent for a bare server. */
  readonly referenceName?: string | undefined
  readonly cpuRatios?: readonly number[]
}

/** Makes a row from the medians of all rounds. Each ratio compares two figures of the same round. */
export function comparing(spec: RowSpec, { ours, theirs, unit, referenceName, cpuRatios }: Turns): Row {
  const ratios = ours.map((figure, round) => figure / (theirs[round] as number))
  const [figure, reference] = [ours, theirs].map((figures) => `${toText(median(figures))} ${unit}`)
  return {
    ...spec,
    figure: figure as string,
    reference: referenceName === undefined ? (reference as string) : `${reference} (${referenceName})`,
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
    ...(cpuRatios && { cpuRatio: median(cpuRatios) }),
  }
}

/** Rounds to three significant digits, or to an integer from 100 on. */
export function toText(figure: number): string {
  return figure >= 100 ? String(Math.round(figure)) : String(Number(figure.toPrecision(3)))
}

/**
 * Returns whether a row meets its goal. Returns null for a row without a goal.
 * @throws Error if the goal is not written like the examples at `Row.goal`
 */
export function isMet({ figure, ratio, goal }: Row): boolean | null {
  if (goal === undefined) return null
  const [, relation, bound] = /^(>=|<=|<) (\d+(?:\.\d+)?)/.exec(goal) ?? []
  const value = ratio ?? Number.parseFloat(figure)
  if (relation === '>=') return value >= Number(bound)
  if (relation === '<=') return value <= Number(bound)
  if (relation === '<') return value < Number(bound)
  throw new Error(`invalid goal: ${goal}`)
}

export type RowSpec = Pick<Row, 'name' | 'goal'>

/** Measures a row. Returns a failed row if the measurement throws, so that the other rows are still printed. */
export async function attempt(spec: RowSpec, measure: (spec: RowSpec) => Promise<Row>): Promise<Row> {
  try {
    return await measure(spec)
  } catch (error) {
    return failed(spec, error)
  }
}

const failure = 'failed: '

export function failed(spec: RowSpec, error: unknown): Row {
  return { ...spec, figure: `${failure}${error instanceof Error ? error.message : error}` }
}

export function isFailed({ figure }: Row): boolean {
  return figure.startsWith(failure)
}
