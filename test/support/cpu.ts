/** The CPU time of a process in µs, at Linux's resolution of 10 ms. */
export async function cpuMicrosOf(pid: number): Promise<number> {
  const stat = await Bun.file(`/proc/${pid}/stat`).text()
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
  return (Number(user) + Number(system)) * 10_000
}

/** The CPU time of the main thread of a process, in ms. */
export async function mainThreadMillisOf(pid: number): Promise<number> {
  const [nanos] = (await Bun.file(`/proc/${pid}/schedstat`).text()).split(' ')
  return Number(nanos) / 1e6
}

/**
 * The CPU time of a program's main thread during some work, in ms. Returns the elapsed time on systems other than
 * Linux.
 */
export async function mainThreadMillisFor(pid: number, work: () => Promise<unknown>): Promise<number> {
  const taken = () => (process.platform === 'linux' ? mainThreadMillisOf(pid) : performance.now())
  const before = await taken()
  await work()
  return (await taken()) - before
}
