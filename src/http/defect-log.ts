/** How long what happens again is counted and not told. */
const quietMillis = 1_000

// Of each kind that was told within the last second: how often it has happened since.
const since = new Map<string, number>()

let write = (line: string): void => console.error(line)

/** Has the process's defects written by a log from now on; stderr takes them unless there is one. */
export function writeDefectsTo(log: (line: string) => void): void {
  write = log
}

/** Says what failed and where in one line, without its message, which may hold what was being stored. */
export function describeDefect(what: string, error: unknown): string {
  const name = error instanceof Error ? error.constructor.name : typeof error
  const code = (error as { code?: unknown } | null)?.code
  const frames = error instanceof Error ? (error.stack ?? '').match(/(?<=^\s+at ).*$/gm) : null
  return [`${what}: ${name}`, code, frames && `at ${frames.slice(0, 8).join(' < ')}`]
    .filter(Boolean)
    .join(' ')
}

/** Logs a defect: at most one line for each kind of it and second. Those in between are counted in the next. */
export function logDefect(what: string, error: unknown): void {
  const kind = describeDefect(what, error)
  const more = since.get(kind)
  if (more !== undefined) since.set(kind, more + 1)
  else tell(kind, kind)
}

function tell(kind: string, line: string): void {
  write(line)
  since.set(kind, 0)
  const ending = setTimeout(() => {
    const more = since.get(kind)
    since.delete(kind)
    if (more) tell(kind, `${kind} (${more} more in the last second)`)
  }, quietMillis)
  ending.unref()
}
