import { join, resolve } from 'node:path'
import { bundledPackages } from './bundled'
import { bundling, root } from './bundling'
import { commitOf } from './commit'
import { noticesOf } from './notices'
import { type PinnedPlatform, requirePinned } from './pinned'
import { zoneData } from './zone-data'

export interface Platform {
  readonly target: Bun.Build.CompileTarget
  /** Path of Bun for the platform. With this path, the bundler downloads nothing. */
  readonly bun: string
  /** `bun` must have the hash that is pinned for this platform. */
  readonly pin: PinnedPlatform
}

/**
 * Builds the executable. It loads no configuration from its working directory. The same commit gives the same bytes in
 * any folder.
 *
 * @param entry the entry module; benchmarks use other modules
 * @throws AggregateError if bundling fails; Error if Bun does not have the pinned hash
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
      // Must not load .env and bunfig.toml, because both could run a script from the working directory.
      autoloadDotenv: false,
      autoloadBunfig: false,
      ...(platform && { target: platform.target, executablePath: platform.bun }),
    },
  })
}

// `bun deploy/release/build.ts FILE [ENTRY]` builds for this platform, with the Bun that runs this script.
if (import.meta.main) {
  const [outfile, entry] = process.argv.slice(2)
  if (!outfile) throw new Error('missing path of the executable: build.ts FILE [ENTRY]')
  await build(outfile, entry)
}
