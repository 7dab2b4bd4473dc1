import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { version as typesVersion } from 'bun-types/package.json'
import { version as productVersion } from '../../package.json'
import type { BundledPackage } from './bundled'
import { root } from './bundling'
import { zoneData } from './zone-data'

const rule = '='.repeat(80)

/**
 * Returns the licenses and notices of everything in the executable: packages, zone data, Bun and its libraries.
 * @throws Error if neither a package nor texts/ contains the text of its license
 */
export function noticesOf(packages: ReadonlyMap<string, BundledPackage>): string {
  const sections = [
    `Anteroom ${productVersion} contains third-party software. The following sections list each component\nwith its license.`,
    ...[...packages.values()].map(sectionOf),
    `IANA Time Zone Database ${zoneData.version} (public domain)\n\nIn the packed format of moment-timezone.`,
    bunSection(),
    ...['LGPL-2.0', 'LGPL-2.1', 'Apache-2.0'].map((name) => `${name}\n\n${commonText(name)}`),
  ]
  return `${sections.join(`\n\n${rule}\n`)}\n`
}

function sectionOf({ name, version, license, texts }: BundledPackage): string {
  const own = [...texts].map(([file, text]) => (texts.size > 1 ? `--- ${file}\n\n${text}` : text))
  const said =
    own.length > 0
      ? own
      : [`The package does not include its license text, which is:\n\n${commonText(license)}`]
  return [`${name} ${version} (${license})`, ...said].join('\n\n')
}

/** Returns Bun's license page from the bun-types package, which has the same version as Bun. */
function bunSection(): string {
  if (typesVersion !== Bun.version)
    throw new Error(`bun-types ${typesVersion} does not match Bun ${Bun.version}`)
  const page = readFileSync(join(root, 'node_modules/bun-types/docs/project/license.mdx'), 'utf8')
  return `Bun ${Bun.version} (MIT)\n\n${page.replace(/^---\n[\s\S]*?\n---\n/, '').trim()}`
}

function commonText(license: string): string {
  return readFileSync(join(root, 'deploy/release/texts', `${license}.txt`), 'utf8')
    .replace(/^\n+/, '')
    .trimEnd()
}
