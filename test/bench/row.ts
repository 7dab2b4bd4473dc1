/** The middle of some figures. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

/** A line of the bench: a figure beside what it is held against, and what it is to be. */
export interface Row {
  readonly name: string
  readonly figure: string
  readonly reference?: string
  readonly ratio?: number
  readonly goal?: string
}

export function printRow({ name, figure, reference, ratio, goal }: Row): void {
  const told = [
    `${name}: ${figure}`,
    reference && `beside ${reference}`,
    ratio !== undefined && `ratio ${ratio.toFixed(2)}`,
    goal && `goal ${goal}`,
  ]
  console.log(told.filter(Boolean).join('; '))
}
