import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { bundling, root } from './bundling'

/** A package with code or data in the executable. */
export interface BundledPackage {
  readonly name: string
  readonly version: string
  /** An SPDX expression. */
  readonly license: string
  /** SHA-512 of the tarball in hexadecimal, from bun.lock. */
  readonly sha512: string
  /** License and notice texts by file name. Each copy of the executable must include them. */
  readonly texts: ReadonlyMap<string, string>
  /** Folders of the packages that this package imports. */
  readonly imports: readonly string[]
}

const folderOf = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/

let found: Promise<ReadonlyMap<string, BundledPackage>> | undefined

/**
 * Returns the packages in the executable, by folder in node_modules. Omits development packages and unused
 * dependencies.
 */
export function bundledPackages(): Promise<ReadonlyMap<string, BundledPackage>> {
  found ??= findPackages()
  return found
}

async function findPackages(): Promise<ReadonlyMap<string, BundledPackage>> {
  const { metafile } = await Bun.build({
    ...bundling,
    entrypoints: [join(root, 'src/main.ts')],
    metafile: true,
  })
  if (!metafile) throw new Error('the bundler returned no metafile')
  const files = Map.groupBy(Object.keys(metafile.inputs), (path) => folderOf.exec(path)?.[0] ?? '')
  const bundledFiles = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((path) => inputs[path]?.bytesInOutput),
  )
  const folders = [...new Set(bundledFiles.flatMap((path) => folderOf.exec(path)?.[0] ?? []))].sort()
  return new Map(
    folders.map((folder) => {
      const paths = files.get(folder) ?? []
      const imported = paths.flatMap((path) => metafile.inputs[path]?.imports.map((each) => each.path) ?? [])
      const others = imported.flatMap((path) => folderOf.exec(path)?.[0] ?? []).filter((it) => it !== folder)
      return [folder, { ...packageIn(folder, paths), imports: [...new Set(others)].sort() }]
    }),
  )
}

function packageIn(folder: string, paths: readonly string[]): Omit<BundledPackage, 'imports'> {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  if (typeof license !== 'string') throw new Error(`${folder}/package.json has no license`)
  return {
    name,
    version,
    license,
    sha512: hashOf(folder, `${name}@${version}`),
    texts: textsIn(folder, paths),
  }
}

/**
 * Returns the license and notice files of a package. Includes the `*.LICENSE.txt` of code that is bundled in the
 * package.
 */
function textsIn(folder: string, paths: readonly string[]): ReadonlyMap<string, string> {
  const names = readdirSync(join(root, folder)).filter((name) => /^(licen[cs]e|copying|notice)\b/i.test(name))
  const ofFiles = paths.map((path) => basename(path)).filter((name) => /\.LICENSE\.txt$/.test(name))
  const all = [...new Set([...names, ...ofFiles])].sort()
  return new Map(all.map((name) => [name, readFileSync(join(root, folder, name), 'utf8').trim()]))
}

type Lock = { readonly packages: Readonly<Record<string, readonly unknown[]>> }

// bun.lock is JSON with trailing commas.
const lock: Lock = JSON.parse(readFileSync(join(root, 'bun.lock'), 'utf8').replaceAll(/,(?=\s*[}\]])/g, ''))

function hashOf(folder: string, id: string): string {
  const [known, , , integrity] = lock.packages[folder.replaceAll(/\/?node_modules\//g, '/').slice(1)] ?? []
  const base64 = /^sha512-(.+)$/.exec(String(integrity))?.[1]
  if (known !== id || !base64) throw new Error(`bun.lock has no SHA-512 of ${id}`)
  return Buffer.from(base64, 'base64').toString('hex')
}
