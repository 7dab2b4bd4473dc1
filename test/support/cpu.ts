/** The time of a core that a process has taken so far, in us: Linux tells it in hundredths of a second. */
export async function cpuMicrosOf(pid: number): Promise<number> {
  const stat = await Bun.file(`/proc/${pid}/stat`).text()
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
  return (Number(user) + Number(system)) * 10_000
}

/** What the main thread of a process has taken of a core so far, in ms: of a thread Linux tells it in ns. */
export async function mainThreadMillisOf(pid: number): Promise<number> {
  const [nanos] = (await Bun.file(`/proc/${pid}/schedstat`).text()).split(' ')
  return Number(nanos) / 1e6
}

/**
 * What something takes of a program's main thread, in ms: nobody else who asks that thread waits longer for it. What others
 * make of the machine meanwhile is not in it, but where no Linux tells what a thread took.
 */
export async function mainThreadMillisFor(pid: number, work: () => Promise<unknown>): Promise<number> {
  const taken = () => (process.platform === 'linux' ? mainThreadMillisOf(pid) : performance.now())
  const before = await taken()
  await work()
  return (await taken()) - before
}
