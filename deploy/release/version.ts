/**
 * Returns the reason that a version cannot be released; null if there is none.
 * @param changelog CHANGELOG.md, in Keep a Changelog form
 * @param tagged commit of the version's tag; null without a tag
 */
export function versionFault(
  version: string,
  changelog: string,
  commit: string,
  tagged: string | null,
): string | null {
  const heading = changelog.split('\n').find((line) => line.startsWith(`## [${version}]`))
  if (!heading || !/\] - \d{4}-\d{2}-\d{2}$/.test(heading)) {
    return `CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD"; add it, or change the version in package.json`
  }
  // The commit ends with -dirty if files were changed.
  if (tagged !== null && tagged !== commit.replace('-dirty', '')) {
    return `version ${version} is already released: tag v${version} names another commit; increase the version in package.json`
  }
  return null
}
