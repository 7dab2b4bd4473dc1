/**
 * Polls a condition until it is true.
 *
 * @throws Error after the timeout
 */
export async function eventually(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  timeoutMillis = 120_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMillis
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`waited too long for ${what}`)
    await Bun.sleep(5)
  }
}
