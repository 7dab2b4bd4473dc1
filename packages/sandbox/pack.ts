import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DeliveredPlatform, delivered, deliveredPlatforms } from '../../deploy/release/delivered'
import { version } from '../../package.json'
import launcher from './package.json'

const root = new URL('../..', import.meta.url).pathname

export interface Packing {
  /** The path of each system's executable. */
  readonly executables: Partial<Record<DeliveredPlatform, string>>
  /** The path of the notices of what is built into them, if there are any. */
  readonly notices?: string
  /** The folder for the tarballs, which is emptied first. */
  readonly folder: string
  /** From 0, which is quick, to 9, which is small. */
  readonly gzipLevel?: number
}

/**
 * Packs the npm package of the sandbox and one for each executable, which the first has as its optional dependency of
 * exactly the same version. The same files give the same bytes.
 *
 * @returns the names of the tarballs, the package that needs the others last
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
        'launch.mjs': join(root, 'packages/sandbox/launch.mjs'),
        'README.md': join(root, 'packages/sandbox/README.md'),
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

/** What a package holds beside its package.json: for each name the file that it is a copy of. */
type Contents = Readonly<Record<string, string>>

function nameOf(platform: DeliveredPlatform): string {
  return `@anteroom/sandbox-${platform}`
}

/** Where launch.mjs looks for it. */
function executableIn(platform: DeliveredPlatform): string {
  return platform === 'win32-x64' ? 'bin/anteroom.exe' : 'bin/anteroom'
}

/** What keeps a package from all other systems. */
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
    // Yarn would otherwise leave it in its archive, where the system cannot start it.
    preferUnplugged: true,
    publishConfig: { access: 'public' },
  }
}

/** The packer is Bun's, which is pinned: npm's bytes change with the npm and the Node that there are. */
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

/** What was released; without a release, what was built for this machine. */
function whatIsThere(): Omit<Packing, 'folder'> {
  const release = join(root, 'dist/release')
  if (!existsSync(release)) {
    return { executables: { [`${process.platform}-${process.arch}`]: join(root, 'dist/anteroom') } }
  }
  const files = deliveredPlatforms.map((platform) => [platform, join(release, delivered[platform].file)])
  return { executables: Object.fromEntries(files), notices: join(release, 'THIRD-PARTY-NOTICES.txt') }
}

/** Why these are not to be packed under this version, as far as this machine can start one of them. */
function whyNot({ executables }: Omit<Packing, 'folder'>): string | undefined {
  const missing = Object.values(executables).find((path) => !existsSync(path))
  if (missing) return `there is no ${missing.replace(root, '')}: npm run build makes one`
  const own = executables[`${process.platform}-${process.arch}` as DeliveredPlatform]
  const told = own && Bun.spawnSync([own, '--version']).stdout.toString().split(/\s/)[0]
  if (told && told !== version)
    return `${own.replace(root, '')} is of version ${told}, and this is ${version}`
}

if (import.meta.main) {
  const folder = join(root, 'dist/packages')
  const found = whatIsThere()
  const fault = whyNot(found)
  if (fault) {
    console.error(`pack:sandbox: ${fault}`)
    process.exit(1)
  }
  for (const name of packSandbox({ ...found, folder })) {
    console.log(`dist/packages/${name}  ${(Bun.file(join(folder, name)).size / 1e6).toFixed(1)} MB`)
  }
}
