import type { BundledPackage } from './bundled'

/** Licenses that only require their text to be included. Any other license needs a legal review. */
const allowed = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'CC0-1.0', 'ISC', 'MIT']

/** Returns one line for each package whose license is not allowed. */
export function licenseFaults(packages: Iterable<BundledPackage>): string[] {
  return Array.from(packages)
    .filter(({ license }) => !allowed.includes(license))
    .map(
      ({ name, version, license }) => `${name} ${version}: ${license} is not in the list of allowed licenses`,
    )
}
