import { name as product, license as productLicense, version as productVersion } from '../../package.json'
import { version as bunVersion, executables } from '../../src/pinned-bun.json'
import type { BundledPackage } from './bundled'
import { type RuntimePart, runtimeParts } from './runtime-parts'
import { zoneData } from './zone-data'

export interface Source {
  readonly commit: string
  /** RFC 3339; null if unknown. */
  readonly committedAt: string | null
  /** Built platforms, named as in src/pinned-bun.json. */
  readonly platforms: readonly (keyof typeof executables)[]
}

/**
 * Returns the software bill of materials (CycloneDX 1.6): bundled packages, zone data, Bun of each platform, and Bun's
 * libraries. Reproducible: the timestamp is the time of the commit, and there is no serial number.
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
        description: "Packed by moment-timezone. Bun's zone data is not used",
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

/** Returns the package URL. The @ of a scope must be escaped (specification of package URLs). */
function purlOf({ name, version }: BundledPackage): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

function licensesOf(id: string): object[] {
  return [{ license: { id } }]
}

/** Describes Bun's executable for a platform. The platform's executable is built from it. */
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
