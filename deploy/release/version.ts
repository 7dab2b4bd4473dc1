/**
 * Why a version may not be released; null if it may.
 * @param changelog CHANGELOG.md, in Keep a Changelog form
 * @param tagged the commit that the tag of this version names; null without such a tag
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
  if (tagged !== null && tagged !== commit) {
    return `version ${version} is already released, as tag v${version} of another commit; raise the version in package.json`
  }
  return null
}
