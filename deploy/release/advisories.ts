import { bundledPackages } from './bundled'
import { root } from './bundling'

/** What a registry says of a version of a package, as far as it is read here. */
interface Advisory {
  readonly title: string
  readonly severity: string
  readonly url: string
  /** A range, as package.json has them. */
  readonly vulnerable_versions: string
}

/** What came of asking a registry for advisories. */
export interface Finding {
  /** For people, a line each. */
  readonly lines: readonly string[]
  /** Whether what is bundled must not be delivered. */
  readonly isBad: boolean
}

/**
 * Judges what `bun audit --json` printed: what is bundled must have no advisory of high or critical severity; whatever
 * else there is, in what is for development too, is told.
 *
 * @param bundled the versions of the packages that are bundled, by their names
 */
export function judge(printed: string, bundled: ReadonlyMap<string, string>): Finding {
  const told = parse(printed)
  if (told === null) {
    const why =
      printed
        .trim()
        .split('\n')
        .at(-1)
        ?.replace(/\S+:\/\/\S+/, 'the registry') || 'no answer'
    return { lines: [`advisories: not checked, since no registry serves them here (${why})`], isBad: false }
  }
  const all = Object.entries(told).flatMap(([name, advisories]) =>
    advisories.map((advisory) => {
      const version = bundled.get(name)
      const isBundled = version !== undefined && Bun.semver.satisfies(version, advisory.vulnerable_versions)
      return { name, ...advisory, isBundled }
    }),
  )
  const lines = all.map(({ name, severity, title, url, isBundled }) => {
    return `advisories: ${severity} in ${name}${isBundled ? ', which is bundled' : ''}: ${title} (${url})`
  })
  const isBad = all.some(({ severity, isBundled }) => isBundled && /^(high|critical)$/.test(severity))
  return { lines: lines.length > 0 ? lines : ['advisories: none'], isBad }
}

/** Null where it is no list of advisories by package: Bun says in words why, or the registry in JSON of its own. */
function parse(printed: string): Readonly<Record<string, readonly Advisory[]>> | null {
  try {
    const told: unknown = JSON.parse(printed)
    if (typeof told !== 'object' || told === null || Array.isArray(told)) return null
    return Object.values(told).every(Array.isArray) ? (told as Record<string, Advisory[]>) : null
  } catch {
    return null
  }
}

// `bun deploy/release/advisories.ts`: exit code 1 where what is bundled must not be delivered.
if (import.meta.main) {
  const audit = Bun.spawn([process.execPath, 'audit', '--json'], {
    cwd: root,
    stderr: 'pipe',
    timeout: 60_000,
  })
  const [printed, said] = await Promise.all([audit.stdout.text(), audit.stderr.text(), audit.exited])
  const packages = [...(await bundledPackages()).values()]
  const bundled = new Map(packages.map(({ name, version }) => [name, version]))
  const { lines, isBad } = judge(printed.trim() || said, bundled)
  for (const line of lines) console.log(line)
  process.exitCode = isBad ? 1 : 0
}
