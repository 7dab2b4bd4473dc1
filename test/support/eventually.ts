/** Polls a condition until it is true. @throws Error after the timeout */
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
