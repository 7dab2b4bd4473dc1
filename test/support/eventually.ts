/** Asks again until the answer is yes, or it has taken too long. */
export async function eventually(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  patienceMillis = 120_000,
): Promise<void> {
  const deadline = performance.now() + patienceMillis
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`waited too long for ${what}`)
    await Bun.sleep(5)
  }
}
