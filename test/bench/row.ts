/** How often the service and what it is held against take turns, at least. */
export const rounds = 5

/** A line of the bench: a figure beside what it is held against, and what it is to be. */
export interface Row {
  readonly name: string
  /** With its unit. */
  readonly figure: string
  /** With its unit, and what it is of where that is not a bare server. */
  readonly reference?: string
  /** The figure to the reference: the median of the rounds. */
  readonly ratio?: number
  /** The smallest and the largest ratio of the rounds. */
  readonly spread?: readonly [smallest: number, largest: number]
  /** The ratio by the CPU time of the servers alone, which those who share the cores change little: its median. */
  readonly cpuRatio?: number
  /** `>= 0.90`, `<= 4 MB`, `< 500 ms`: of the ratio, or of the figure where there is none. */
  readonly goal?: string
}

/** The middle of some figures. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

/** What was measured in rounds that took turns: the service's figures, and those of what it is held against. */
export interface Turns {
  readonly ours: readonly number[]
  readonly theirs: readonly number[]
  readonly unit: string
  /** What theirs are of, where that is not a bare server. */
  readonly beside?: string | undefined
  /** Ratios by CPU time. */
  readonly cpuRatios?: readonly number[]
}

/** The row of such rounds: medians, with ratios of figures of one round alone. */
export function comparing(told: Told, { ours, theirs, unit, beside, cpuRatios }: Turns): Row {
  const ratios = ours.map((figure, round) => figure / (theirs[round] as number))
  const [figure, reference] = [ours, theirs].map((figures) => `${toText(median(figures))} ${unit}`)
  return {
    ...told,
    figure: figure as string,
    reference: beside === undefined ? (reference as string) : `${reference} (${beside})`,
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
    ...(cpuRatios && { cpuRatio: median(cpuRatios) }),
  }
}

/** Three digits tell enough. */
export function toText(figure: number): string {
  return figure >= 100 ? String(Math.round(figure)) : String(Number(figure.toPrecision(3)))
}

/**
 * Whether a row is as it is to be; null where no goal is set.
 *
 * @throws Error for a goal that is not of the form above
 */
export function isMet({ figure, ratio, goal }: Row): boolean | null {
  if (goal === undefined) return null
  const [, relation, bound] = /^(>=|<=|<) (\d+(?:\.\d+)?)/.exec(goal) ?? []
  const told = ratio ?? Number.parseFloat(figure)
  if (relation === '>=') return told >= Number(bound)
  if (relation === '<=') return told <= Number(bound)
  if (relation === '<') return told < Number(bound)
  throw new Error(`no goal: ${goal}`)
}

/** What a row is called, and what it is to be. */
export type Told = Pick<Row, 'name' | 'goal'>

/** A row that is measured, or of why that failed: what the others tell is not to be lost. */
export async function attempt(told: Told, measure: (told: Told) => Promise<Row>): Promise<Row> {
  try {
    return await measure(told)
  } catch (error) {
    return failed(told, error)
  }
}

const failure = 'failed: '

/** The row of what could not be measured. It misses its goal. */
export function failed(told: Told, error: unknown): Row {
  return { ...told, figure: `${failure}${error instanceof Error ? error.message : error}` }
}

/** Whether a row is of what could not be measured. */
export function isFailed({ figure }: Row): boolean {
  return figure.startsWith(failure)
}
