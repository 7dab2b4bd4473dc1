import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { Glob } from 'bun'
import { judge } from '../../deploy/release/advisories'
import { build } from '../../deploy/release/build'
import { type BundledPackage, bundledPackages } from '../../deploy/release/bundled'
import { licenseFaults } from '../../deploy/release/licenses'
import { noticesOf } from '../../deploy/release/notices'
import { sbomOf } from '../../deploy/release/sbom'
import { zoneData } from '../../deploy/release/zone-data'
import * as packageJson from '../../package.json'
import * as pinnedBun from '../../src/pinned-bun.json'
import { Folder } from '../support/folder'

const root = new URL('../..', import.meta.url).pathname
const packages = await bundledPackages()
const names = Array.from(packages.values(), ({ name }) => name)
const source = {
  commit: 'c'.repeat(40),
  committedAt: '2026-11-22T00:00:00.000Z',
  platforms: ['linux-x64'],
} as const

interface Needs {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly optionalPeers?: readonly string[]
}

/**
 * Reads bun.lock. Returns the names of the program's dependencies, and of all packages that these
 * dependencies need.
 */
function neededNames(): Set<string> {
  const lock = JSON.parse(readFileSync(`${root}/bun.lock`, 'utf8').replaceAll(/,(?=\s*[}\]])/g, ''))
  const needed = new Set<string>(Object.keys(packageJson.dependencies))
  const all: [string, Needs][] = Object.values<[string, string, Needs?]>(lock.packages).map(
    ([id, , needs]) => [id.replace(/(?<=.)@.*/, ''), needs ?? {}],
  )
  for (const name of needed) {
    for (const [, needs] of all.filter(([other]) => other === name)) {
      const { dependencies = {}, peerDependencies = {}, optionalPeers = [] } = needs
      const peers = Object.keys(peerDependencies).filter((peer) => !optionalPeers.includes(peer))
      for (const other of [...Object.keys(dependencies), ...peers]) needed.add(other)
    }
  }
  return needed
}

/** The packages that src and db import at runtime. Imports of types do not count. */
async function importedNames(): Promise<Set<string>> {
  const transpiler = new Bun.Transpiler({ loader: 'ts' })
  const files = ['src/**/*.ts', 'db/**/*.ts'].flatMap((pattern) =>
    Array.from(new Glob(pattern).scanSync(root)),
  )
  const paths = files.flatMap((file) =>
    transpiler.scanImports(readFileSync(`${root}/${file}`, 'utf8')).map(({ path }) => path),
  )
  const outside = paths.filter((path) => !/^(\.|node:|bun$|bun:)/.test(path))
  return new Set(outside.map((path) => /^(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path))
}

describe('release: the bundled packages', () => {
  test('the bundled packages are exactly those that the program imports or needs', async () => {
    const imported = await importedNames()
    expect(imported.size).toBeGreaterThan(10)
    expect([...imported].filter((name) => !names.includes(name))).toEqual([])
    const { devDependencies, optionalDependencies } = packageJson
    const others = Object.keys({ ...devDependencies, ...optionalDependencies })
    expect(others.filter((name) => names.includes(name))).toEqual([])
    const needed = neededNames()
    expect(names.filter((name) => !needed.has(name))).toEqual([])
    // Every declared dependency is bundled.
    expect(Object.keys(packageJson.dependencies).filter((name) => !names.includes(name))).toEqual([])
  })

  test('the bundled packages have allowed licenses, and a license that is not allowed is reported', () => {
    expect(licenseFaults(packages.values())).toEqual([])
    const [one] = packages.values()
    const other = { ...(one as BundledPackage), name: 'other', version: '1.2.3', license: 'AGPL-3.0-only' }
    expect(licenseFaults([other])).toEqual([
      'other 1.2.3: AGPL-3.0-only is not in the list of allowed licenses',
    ])
  })

  test('the notices contain the full license of each bundled package and of Bun, and no path of the build machine', () => {
    const notices = noticesOf(packages)
    for (const { name, version, texts } of packages.values()) {
      expect(notices).toContain(`\n${name} ${version} (`)
      for (const text of texts.values()) expect(notices).toContain(text)
    }
    for (const words of [
      `Bun ${Bun.version} (MIT)`,
      'GNU LIBRARY GENERAL PUBLIC LICENSE',
      'GNU LESSER GENERAL PUBLIC LICENSE',
      'Facebook, Inc. and its affiliates', // a license inside the bundle of Swagger UI
      `IANA Time Zone Database ${zoneData.version}`,
    ]) {
      expect(notices).toContain(words)
    }
    expect(notices).not.toContain(root)
  })
})

describe('release: the bill of materials', () => {
  const sbom = sbomOf(packages, source)
  const text = JSON.stringify(sbom)

  test('the bill of materials is valid CycloneDX 1.6, and the validator rejects an invalid one', async () => {
    const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6)
    expect(await validator.validate(text)).toBeNull()
    expect(await validator.validate(JSON.stringify({ ...sbom, components: [{}] }))).not.toBeNull()
  })

  test('the bill of materials lists each package with its version, license, package URL, hash and dependencies', () => {
    const { components, dependencies, metadata } = JSON.parse(text)
    const listed = components.filter(({ type }: { type: string }) => type === 'library')
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(names)
    const purl = `pkg:npm/%40sinclair/typebox@${packageJson.dependencies['@sinclair/typebox']}`
    expect(listed.find(({ name }: { name: string }) => name === '@sinclair/typebox')).toEqual({
      type: 'library',
      'bom-ref': purl,
      name: '@sinclair/typebox',
      version: packageJson.dependencies['@sinclair/typebox'],
      purl,
      licenses: [{ license: { id: 'MIT' } }],
      hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }],
    })
    const references = components.map((one: { 'bom-ref': string }) => one['bom-ref'])
    expect(dependencies[0]).toEqual({ ref: `anteroom@${packageJson.version}`, dependsOn: references })
    const ageDependencies = dependencies.find(({ ref }: { ref: string }) =>
      ref.startsWith('pkg:npm/age-encryption@'),
    )
    expect(ageDependencies.dependsOn.join()).toMatch(/noble\/ciphers.*noble\/curves.*scure\/base/)
    expect(metadata.component.properties).toEqual([{ name: 'anteroom:commit', value: source.commit }])
    expect(metadata.timestamp).toBe(source.committedAt)
  })

  test('the bill of materials lists the zone data, and Bun with its libraries and the hash of its executable', () => {
    const { components } = JSON.parse(text)
    expect(components.at(-2)).toMatchObject({ name: 'IANA Time Zone Database', version: zoneData.version })
    const bun = components.at(-1)
    expect(bun).toMatchObject({ name: 'bun', version: Bun.version, purl: `pkg:npm/bun@${Bun.version}` })
    expect(bun.components[0]).toEqual({
      type: 'file',
      'bom-ref': 'bun-linux-x64',
      name: `@oven/bun-linux-x64-baseline ${Bun.version}: executable`,
      hashes: [{ alg: 'SHA-512', content: pinnedBun.executables['linux-x64'].sha512 }],
    })
    const linked = Object.fromEntries(
      bun.components.map(({ name, version }: { name: string; version?: string }) => [name, version]),
    )
    expect(linked.SQLite).toBe(process.versions.sqlite)
    expect([linked['WebKit JavaScriptCore'], linked.BoringSSL]).toEqual([
      process.versions.webkit,
      process.versions.boringssl,
    ])
  })
})

describe('release: the installed packages', () => {
  test('installed packages have exact versions and no URLs, and none reports its installation to a server', () => {
    const { dependencies, devDependencies } = packageJson
    const versions = Object.values({ ...dependencies, ...devDependencies })
    expect(versions.filter((version) => !/^(npm:[\w@/-]+@)?\d+\.\d+\.\d+$/.test(version))).toEqual([])
    const lock = readFileSync(`${root}/bun.lock`, 'utf8')
    expect(lock).not.toContain('://')
    // The package @scarf/scarf would report each installation to a server. An override replaces this package.
    expect(lock).not.toContain('["@scarf/scarf@')
    expect(readFileSync(`${root}/node_modules/@scarf/scarf/package.json`, 'utf8')).not.toContain(
      '"@scarf/scarf"',
    )
  })

  test('Bun and its types have the pinned version, and the pinned hashes are distinct', () => {
    expect(packageJson.packageManager).toBe(`bun@${pinnedBun.version}`)
    expect(packageJson.devDependencies['bun-types']).toBe(pinnedBun.version)
    const hashes = Object.values(pinnedBun.executables).map(({ sha512 }) => sha512)
    expect(hashes.filter((hash) => !/^[0-9a-f]{128}$/.test(hash))).toEqual([])
    expect(new Set(hashes).size).toBe(hashes.length)
  })
})

describe('release: security advisories', () => {
  const advisory = { id: 1, url: 'https://example.com/1', title: 'A fault', vulnerable_versions: '<2.0.0' }
  const bundled = new Map([['bundled', '1.2.3']])
  const auditOutput = (name: string, more: object) => JSON.stringify({ [name]: [{ ...advisory, ...more }] })

  test.each([
    [
      'an advisory of high severity for a bundled version is listed and blocks the release',
      auditOutput('bundled', { severity: 'high' }),
      true,
    ],
    [
      'an advisory of critical severity for a bundled version is listed and blocks the release',
      auditOutput('bundled', { severity: 'critical' }),
      true,
    ],
    [
      'an advisory of moderate severity for a bundled version is listed and does not block the release',
      auditOutput('bundled', { severity: 'moderate' }),
      false,
    ],
    [
      'an advisory of high severity for another version is listed and does not block the release',
      auditOutput('bundled', { severity: 'high', vulnerable_versions: '>=2.0.0' }),
      false,
    ],
    [
      'an advisory of critical severity for a development package is listed and does not block the release',
      auditOutput('other', { severity: 'critical' }),
      false,
    ],
  ])('%s', (_, printed, isBad) => {
    const finding = judge(printed, bundled)
    expect(finding.isBad).toBe(isBad)
    expect(finding.lines).toHaveLength(1)
    expect(finding.lines[0]).toContain('A fault (https://example.com/1)')
  })

  test('advisories are reported as not checked if the registry does not serve them, and do not block the release', () => {
    expect(judge('{}', bundled)).toEqual({ lines: ['advisories: none'], isBad: false })
    const printed = 'bun audit v1\n\nerror: POST https://registry.example.com/bulk - 405'
    expect(judge(printed, bundled)).toEqual({
      lines: [
        'advisories: not checked, because the registry does not serve them (error: POST the registry - 405)',
      ],
      isBad: false,
    })
    expect(judge('{"error":"not_found"}', bundled)).toEqual({
      lines: ['advisories: not checked, because the registry does not serve them ({"error":"not_found"})'],
      isBad: false,
    })
  })
})

test('release: a build is refused if Bun does not match the pinned hash', async () => {
  using folder = new Folder()
  const bun = folder.file('bun')
  await Bun.write(bun, 'another')
  const building = build(folder.file('anteroom'), 'src/main.ts', {
    target: 'bun-linux-arm64',
    bun,
    pin: 'linux-arm64',
  })
  const fault = await building.catch(String)
  expect(fault).toContain(`${bun} does not match its hash in src/pinned-bun.json: its SHA-512 is `)
  expect(existsSync(folder.file('anteroom'))).toBe(false)
})
