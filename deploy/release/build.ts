import { join, resolve } from 'node:path'
import { bundledPackages } from './bundled'
import { bundling, root } from './bundling'
import { commitOf } from './commit'
import { noticesOf } from './notices'
import { type PinnedPlatform, requirePinned } from './pinned'
import { zoneData } from './zone-data'

/** For which platform an executable is built, of which Bun. */
export interface Platform {
  readonly target: Bun.Build.CompileTarget
  /** The path of that platform's Bun; nothing is fetched. */
  readonly bun: string
  /** What that Bun is held to. */
  readonly pin: PinnedPlatform
}

/**
 * Builds the executable: hardened against what lies in the folder in which it is started, and the same bytes for the same
 * commit in whatever folder it is built.
 *
 * @param entry the program's first module; another for what is to be measured beside it
 * @throws AggregateError where it cannot be bundled; Error where the Bun is not the one that is pinned
 */
export async function build(outfile: string, entry = 'src/main.ts', platform?: Platform): Promise<void> {
  if (platform) requirePinned(platform.bun, platform.pin)
  const notices = noticesOf(await bundledPackages())
  await Bun.build({
    ...bundling,
    entrypoints: [join(root, entry)],
    bytecode: true,
    define: {
      ...bundling.define,
      BUILT_COMMIT: JSON.stringify(commitOf(root)),
      BUILT_ZONE_DATA: JSON.stringify(zoneData.version),
      BUILT_NOTICES: JSON.stringify(notices),
    },
    compile: {
      outfile: resolve(outfile),
      // Either could run a script that lies in the folder of the start.
      autoloadDotenv: false,
      autoloadBunfig: false,
      ...(platform && { target: platform.target, executablePath: platform.bun }),
    },
  })
}

// `bun deploy/release/build.ts FILE [ENTRY]`: for the platform on which this runs, of the Bun that runs it.
if (import.meta.main) {
  const [outfile, entry] = process.argv.slice(2)
  if (!outfile) throw new Error('build.ts needs the path of the executable')
  await build(outfile, entry)
}
