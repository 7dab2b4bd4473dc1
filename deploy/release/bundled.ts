import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { bundling, root } from './bundling'

/** A package of which the executable holds code or data. */
export interface BundledPackage {
  readonly name: string
  readonly version: string
  /** An SPDX expression. */
  readonly license: string
  /** SHA-512 of the package as it was fetched, in hexadecimal, from bun.lock. */
  readonly sha512: string
  /** What must go with each copy: the license and the notices, by their files' names. */
  readonly texts: ReadonlyMap<string, string>
  /** The folders of the packages that it imports. */
  readonly imports: readonly string[]
}

const folderOf = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/

let found: Promise<ReadonlyMap<string, BundledPackage>> | undefined

/**
 * What the bundler itself says it puts into the executable, by the packages' folders in node_modules: not what is
 * installed, of which most is for development, or declared and never imported.
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
  if (!metafile) throw new Error('the bundler does not tell what it bundles')
  const files = Map.groupBy(Object.keys(metafile.inputs), (path) => folderOf.exec(path)?.[0] ?? '')
  const held = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((path) => inputs[path]?.bytesInOutput),
  )
  const folders = [...new Set(held.flatMap((path) => folderOf.exec(path)?.[0] ?? []))].sort()
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
  if (typeof license !== 'string') throw new Error(`${folder} does not tell its license`)
  return {
    name,
    version,
    license,
    sha512: hashOf(folder, `${name}@${version}`),
    texts: textsIn(folder, paths),
  }
}

/** The license and notices of a package, and those of the bundled files that others have bundled before us. */
function textsIn(folder: string, paths: readonly string[]): ReadonlyMap<string, string> {
  const names = readdirSync(join(root, folder)).filter((name) => /^(licen[cs]e|copying|notice)\b/i.test(name))
  const beside = paths.map((path) => basename(path)).filter((name) => /\.LICENSE\.txt$/.test(name))
  const all = [...new Set([...names, ...beside])].sort()
  return new Map(all.map((name) => [name, readFileSync(join(root, folder, name), 'utf8').trim()]))
}

type Lock = { readonly packages: Readonly<Record<string, readonly unknown[]>> }

// JSON but for the commas behind the last of each list.
const lock: Lock = JSON.parse(readFileSync(join(root, 'bun.lock'), 'utf8').replaceAll(/,(?=\s*[}\]])/g, ''))

function hashOf(folder: string, id: string): string {
  const [known, , , integrity] = lock.packages[folder.replaceAll(/\/?node_modules\//g, '/').slice(1)] ?? []
  const base64 = /^sha512-(.+)$/.exec(String(integrity))?.[1]
  if (known !== id || !base64) throw new Error(`bun.lock does not hold ${id}`)
  return Buffer.from(base64, 'base64').toString('hex')
}
