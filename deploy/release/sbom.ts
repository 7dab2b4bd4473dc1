import { name as product, license as productLicense, version as productVersion } from '../../package.json'
import { version as bunVersion, executables } from '../../src/pinned-bun.json'
import type { BundledPackage } from './bundled'
import { type RuntimePart, runtimeParts } from './runtime-parts'
import { zoneData } from './zone-data'

/** From what, and when, the executables were built. */
export interface Source {
  readonly commit: string
  /** RFC 3339; null where it is not known. */
  readonly committedAt: string | null
  /** The platforms that were built, by their names in src/pinned-bun.json. */
  readonly platforms: readonly (keyof typeof executables)[]
}

/**
 * The bill of materials of the executables (CycloneDX 1.6): each package that is bundled, the zone data, Bun of each
 * platform, and what Bun links. The same for the same commit: its time is the commit's, and it has no serial number.
 */
export function sbomOf(packages: ReadonlyMap<string, BundledPackage>, source: Source): object {
  const all = [...packages.values()]
  const references = new Map([...packages].map(([folder, one]) => [folder, purlOf(one)]))
  const zones = `zones@${zoneData.version}`
  const bun = `pkg:npm/bun@${bunVersion}`
  const itself = `${product}@${productVersion}`
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      ...(source.committedAt && { timestamp: source.committedAt }),
      component: {
        type: 'application',
        'bom-ref': itself,
        name: product,
        version: productVersion,
        licenses: licensesOf(productLicense),
        properties: [{ name: 'anteroom:commit', value: source.commit }],
      },
    },
    components: [
      ...all.map(packageComponent),
      {
        type: 'data',
        'bom-ref': zones,
        name: 'IANA Time Zone Database',
        version: zoneData.version,
        description: "As moment-timezone packs it; Bun's own zone data is not used",
      },
      {
        type: 'platform',
        'bom-ref': bun,
        name: 'bun',
        version: bunVersion,
        purl: bun,
        licenses: licensesOf('MIT'),
        components: [...source.platforms.map(bunOf), ...runtimeParts().map(partComponent)],
      },
    ],
    dependencies: [
      { ref: itself, dependsOn: [...all.map(purlOf), zones, bun] },
      ...all.map((one) => ({
        ref: purlOf(one),
        dependsOn: one.imports.flatMap((folder) => references.get(folder) ?? []),
      })),
    ],
  }
}

function packageComponent(one: BundledPackage): object {
  const { name, version, license, sha512 } = one
  return {
    type: 'library',
    'bom-ref': purlOf(one),
    name,
    version,
    purl: purlOf(one),
    licenses: licensesOf(license),
    hashes: [{ alg: 'SHA-512', content: sha512 }],
  }
}

/** A package's address (package-url specification): the scope's @ is escaped. */
function purlOf({ name, version }: BundledPackage): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

function licensesOf(id: string): object[] {
  return [{ license: { id } }]
}

/** The executable of Bun that a platform's is made of. */
function bunOf(platform: Source['platforms'][number]): object {
  const pin = executables[platform]
  return {
    type: 'file',
    'bom-ref': `bun-${platform}`,
    name: `${pin.package} ${bunVersion}: executable`,
    hashes: [{ alg: 'SHA-512', content: pin.sha512 }],
  }
}

function partComponent({ name, version, license }: RuntimePart): object {
  return {
    type: 'library',
    'bom-ref': `bun-part-${name.replaceAll(' ', '-')}`,
    name,
    ...(version && { version }),
    ...(license && { licenses: licensesOf(license) }),
  }
}
