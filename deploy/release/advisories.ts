import { bundledPackages } from './bundled'
import { root } from './bundling'

/** An advisory of an npm registry. Only the fields that are used. */
interface Advisory {
  readonly title: string
  readonly severity: string
  readonly url: string
  /** A semver range. */
  readonly vulnerable_versions: string
}

export interface Finding {
  /** One line for each advisory. */
  readonly lines: readonly string[]
  /** True if a bundled package has a high or critical advisory. */
  readonly isBad: boolean
}

/**
 * Judges the output of `bun audit --json`. High and critical advisories of bundled packages are bad. All other
 * advisories are only listed.
 *
 * @param bundled versions of the bundled packages by name
 */
export function judge(printed: string, bundled: ReadonlyMap<string, string>): Finding {
  const found = parse(printed)
  if (found === null) {
    const why =
      printed
        .trim()
        .split('\n')
        .at(-1)
        ?.replace(/\S+:\/\/\S+/, 'the registry') || 'no answer'
    return {
      lines: [`advisories: not checked, because the registry does not serve them (${why})`],
      isBad: false,
    }
  }
  const all = Object.entries(found).flatMap(([name, advisories]) =>
    advisories.map((advisory) => {
      const version = bundled.get(name)
      const isBundled = version !== undefined && Bun.semver.satisfies(version, advisory.vulnerable_versions)
      return { name, ...advisory, isBundled }
    }),
  )
  const lines = all.map(({ name, severity, title, url, isBundled }) => {
    return `advisories: ${severity} in ${name}${isBundled ? ' (bundled)' : ''}: ${title} (${url})`
  })
  const isBad = all.some(({ severity, isBundled }) => isBundled && /^(high|critical)$/.test(severity))
  return { lines: lines.length > 0 ? lines : ['advisories: none'], isBad }
}

/** Returns null if Bun printed an error, either as text or as JSON of the registry. */
function parse(printed: string): Readonly<Record<string, readonly Advisory[]>> | null {
  try {
    const parsed: unknown = JSON.parse(printed)
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return null
    return Object.values(parsed).every(Array.isArray) ? (parsed as Record<string, Advisory[]>) : null
  } catch {
    return null
  }
}

// `bun deploy/release/advisories.ts`: exit code 1 if a bundled package has a high or critical advisory.
if (import.meta.main) {
  const audit = Bun.spawn([process.execPath, 'audit', '--json'], {
    cwd: root,
    stderr: 'pipe',
    timeout: 60_000,
  })
  const [printed, errors] = await Promise.all([audit.stdout.text(), audit.stderr.text(), audit.exited])
  const packages = [...(await bundledPackages()).values()]
  const bundled = new Map(packages.map(({ name, version }) => [name, version]))
  const { lines, isBad } = judge(printed.trim() || errors, bundled)
  for (const line of lines) console.log(line)
  process.exitCode = isBad ? 1 : 0
}
