import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DeliveredPlatform, delivered, deliveredPlatforms } from '../../deploy/release/delivered'
import { version } from '../../package.json'
import launcher from './package.json'

const root = new URL('../..', import.meta.url).pathname

export interface Packing {
  /** Paths of the executables, by platform. */
  readonly executables: Partial<Record<DeliveredPlatform, string>>
  /** Path of the third-party notices, if any. */
  readonly notices?: string
  /** Folder for the tarballs. Its old content is deleted first. */
  readonly folder: string
  /** From 0 (fastest) to 9 (smallest). */
  readonly gzipLevel?: number
}

/**
 * Packs the npm package of the sandbox, and one package for each executable. The sandbox package depends on the
 * executable packages optionally, with the same version. The same files give the same bytes.
 *
 * @returns the names of the tarballs; the sandbox package is last
 */
export function packSandbox({ executables, notices, folder, gzipLevel = 9 }: Packing): string[] {
  rmSync(folder, { recursive: true, force: true })
  const given = deliveredPlatforms.flatMap((platform) => {
    const executable = executables[platform]
    return executable === undefined ? [] : [{ platform, executable }]
  })
  const pack = (manifest: Manifest, contents: Contents) => packOne(manifest, contents, folder, gzipLevel)
  const license = join(root, 'LICENSE')
  return [
    ...given.map(({ platform, executable }) =>
      pack(platformManifest(platform), {
        [executableIn(platform)]: executable,
        LICENSE: license,
        ...(notices !== undefined && { 'THIRD-PARTY-NOTICES.txt': notices }),
      }),
    ),
    pack(
      {
        ...launcher,
        version,
        optionalDependencies: Object.fromEntries(given.map(({ platform }) => [nameOf(platform), version])),
      },
      {
        ...Object.fromEntries(
          [...launcher.files, 'README.md'].map((name) => [name, join(root, 'packages/sandbox', name)]),
        ),
        LICENSE: license,
      },
    ),
  ]
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly [field: string]: unknown
}

/** Files of a package. Keys are names in the package, values are source paths. */
type Contents = Readonly<Record<string, string>>

function nameOf(platform: DeliveredPlatform): string {
  return `@anteroom/sandbox-${platform}`
}

/** Path of the executable in its package. launch.mjs uses the same path. */
function executableIn(platform: DeliveredPlatform): string {
  return platform === 'win32-x64' ? 'bin/anteroom.exe' : 'bin/anteroom'
}

/** Fields of package.json with which npm installs a package only on one platform. */
function systemOf(platform: DeliveredPlatform) {
  const [os, cpu] = platform.split('-')
  return { os: [os], cpu: [cpu], ...(os === 'linux' && { libc: ['glibc'] }) }
}

function platformManifest(platform: DeliveredPlatform): Manifest {
  return {
    name: nameOf(platform),
    version,
    description: `The executable of ${launcher.name} for ${platform}`,
    license: launcher.license,
    files: ['bin', 'THIRD-PARTY-NOTICES.txt'],
    ...systemOf(platform),
    // Without preferUnplugged, Yarn does not unpack the executable, so it cannot be started.
    preferUnplugged: true,
    publishConfig: { access: 'public' },
  }
}

/** Packs with Bun, because its version is pinned. npm would write bytes that depend on the versions of npm and Node. */
function packOne(manifest: Manifest, contents: Contents, folder: string, gzipLevel: number): string {
  const stage = mkdtempSync(join(tmpdir(), 'anteroom-pack-'))
  try {
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
    chmodSync(join(stage, 'package.json'), 0o644)
    for (const [name, source] of Object.entries(contents)) {
      mkdirSync(join(stage, name, '..'), { recursive: true })
      copyFileSync(source, join(stage, name))
      chmodSync(join(stage, name), name.startsWith('bin/') || name === 'launch.mjs' ? 0o755 : 0o644)
    }
    const name = `${manifest.name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`
    const words = ['pm', 'pack', '--ignore-scripts', '--quiet', '--gzip-level', String(gzipLevel)]
    const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...words, '--destination', folder], {
      cwd: stage,
    })
    if (exitCode !== 0 || !existsSync(join(folder, name))) throw new Error(`cannot pack ${name}: ${stderr}`)
    return name
  } finally {
    rmSync(stage, { recursive: true })
  }
}

/**
 * Returns the executables of the release. Without a release, returns the executable that was built for this machine.
 */
function findExecutables(): Omit<Packing, 'folder'> {
  const release = join(root, 'dist/release')
  if (!existsSync(release)) {
    return { executables: { [`${process.platform}-${process.arch}`]: join(root, 'dist/anteroom') } }
  }
  const files = deliveredPlatforms.map((platform) => [platform, join(release, delivered[platform].file)])
  return { executables: Object.fromEntries(files), notices: join(release, 'THIRD-PARTY-NOTICES.txt') }
}

/** Returns a fault of the executables, if any. Checks only the version of the executable for this machine. */
function packingFault({ executables }: Omit<Packing, 'folder'>): string | undefined {
  const missing = Object.values(executables).find((path) => !existsSync(path))
  if (missing) return `there is no ${missing.replace(root, '')}; run npm run build`
  const own = executables[`${process.platform}-${process.arch}` as DeliveredPlatform]
  const built = own && Bun.spawnSync([own, '--version']).stdout.toString().split(/\s/)[0]
  if (built && built !== version)
    return `${own.replace(root, '')} has version ${built} instead of ${version}; build it again`
}

if (import.meta.main) {
  const folder = join(root, 'dist/packages')
  const found = findExecutables()
  const fault = packingFault(found)
  if (fault) {
    console.error(`pack:sandbox: ${fault}`)
    process.exit(1)
  }
  for (const name of packSandbox({ ...found, folder })) {
    console.log(`dist/packages/${name}  ${(Bun.file(join(folder, name)).size / 1e6).toFixed(1)} MB`)
  }
}
