import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { versionFault } from '../../deploy/release/version'
import { version } from '../../package.json'

const changelog = '# Changelog\n\n## [Unreleased]\n\n## [0.9.0] - 2026-11-25\n\n## [0.8.0]\n'

test('release: a version with a dated section in the changelog and without a tag is accepted', () => {
  expect(versionFault('0.9.0', changelog, 'a', null)).toBeNull()
})

test('release: a version that is tagged at the built commit is accepted', () => {
  expect(versionFault('0.9.0', changelog, 'a', 'a')).toBeNull()
})

test('release: a version that is tagged at another commit is refused', () => {
  expect(versionFault('0.9.0', changelog, 'a', 'b')).toBe(
    'version 0.9.0 is already released: tag v0.9.0 names another commit; increase the version in package.json',
  )
})

test.each(['0.9.1', '0.8.0', '0.9'])(
  'release: version %s without a dated section in the changelog is refused',
  (without) => {
    expect(versionFault(without, changelog, 'a', null)).toBe(
      `CHANGELOG.md has no section "## [${without}] - YYYY-MM-DD"; add it, or change the version in package.json`,
    )
  },
)

test('release: the version of package.json has a section in CHANGELOG.md', () => {
  const text = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')
  expect(versionFault(version, text, 'a', null)).toBeNull()
})
