export const nextTurn = () => new Promise<void>((go) => setImmediate(go))

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn()
}

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await nextTurn()
}
