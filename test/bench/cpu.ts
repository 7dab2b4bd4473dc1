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
