import type { BundledPackage } from './bundled'

/** Under these, what is bundled may be passed on with its text and nothing else asked; another needs a person's judgement. */
const allowed = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'CC0-1.0', 'ISC', 'MIT']

/** What is wrong with the licenses of what is bundled; none where nothing is. */
export function licenseFaults(packages: Iterable<BundledPackage>): string[] {
  return Array.from(packages)
    .filter(({ license }) => !allowed.includes(license))
    .map(
      ({ name, version, license }) => `${name} ${version}: ${license} is not in the list of allowed licenses`,
    )
}
