import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { version } from '../../package.json'
import { version as bunVersion } from '../../src/pinned-bun.json'
import { build } from './build'
import { bundledPackages } from './bundled'
import { root } from './bundling'
import { commitOf, committedAt, taggedCommit } from './commit'
import { delivered, deliveredPlatforms } from './delivered'
import { licenseFaults } from './licenses'
import { signatureFault, signed } from './macos-signature'
import { noticesOf } from './notices'
import { hashOf, isPinned, type PinnedPlatform, requirePinned } from './pinned'
import { sbomOf } from './sbom'
import { versionFault } from './version'

// `release.ts` builds dist/release. With --verify, it then builds the same commit again and compares the files.
const isVerifying = process.argv.includes('--verify')
await release(join(root, 'dist', 'release'))
if (isVerifying) await verify()

/** Builds a release in a temporary folder. Renames the folder to `folder` when the release is complete. */
async function release(folder: string): Promise<void> {
  // This Bun is the compiler, so its hash is checked too.
  requirePinned(process.execPath, platformHere())
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const fault = versionFault(version, changelog, commitOf(root), taggedCommit(root, `v${version}`))
  if (fault !== null) throw new Error(fault)
  const packages = await bundledPackages()
  const faults = licenseFaults(packages.values())
  if (faults.length > 0) throw new Error(faults.join('\n'))
  const half = `${folder}.half`
  rmSync(half, { recursive: true, force: true })
  mkdirSync(half, { recursive: true })

  for (const platform of deliveredPlatforms) {
    const { file, target } = delivered[platform]
    const bun = join(root, '.bun', `${bunVersion}-${platform}`, 'bun')
    await build(join(half, file), undefined, { target, bun, pin: platform })
    if (platform.startsWith('darwin-')) sign(join(half, file))
  }
  writeFileSync(join(half, 'THIRD-PARTY-NOTICES.txt'), noticesOf(packages))
  const source = { commit: commitOf(root), committedAt: committedAt(root), platforms: deliveredPlatforms }
  const sbom = sbomOf(packages, source)
  writeFileSync(join(half, 'anteroom.cdx.json'), await validated(`${JSON.stringify(sbom, null, 2)}\n`))
  const names = readdirSync(half).sort()
  for (const algorithm of ['sha256', 'sha512']) {
    const lines = names.map((name) => `${hashOf(join(half, name), algorithm)}  ${name}\n`)
    writeFileSync(join(half, `${algorithm.toUpperCase()}SUMS`), lines.join(''))
  }

  rmSync(folder, { recursive: true, force: true })
  renameSync(half, folder)
  console.log(`dist/release contains ${names.join(', ')} of commit ${commitOf(root)}`)
}

/** @throws Error if the document does not match the schema of CycloneDX 1.6 */
async function validated(text: string): Promise<string> {
  const fault = await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)
  if (fault !== null) throw new Error(`the SBOM does not match its schema: ${JSON.stringify(fault)}`)
  return text
}

/** @throws Error if Bun is not pinned for this platform */
function platformHere(): PinnedPlatform {
  const here = `${process.platform}-${process.arch}`
  if (!isPinned(here)) throw new Error(`releases cannot be built on ${here}, whose Bun is not pinned`)
  return here
}

/** Replaces an invalid signature, because a Mac would not start the executable. @throws Error if it is still invalid */
function sign(executable: string): void {
  const file = readFileSync(executable)
  if (signatureFault(file) === null) return
  const repaired = signed(file, 'anteroom')
  const fault = signatureFault(repaired)
  if (fault !== null) throw new Error(`${executable} cannot be signed: ${fault}`)
  writeFileSync(executable, repaired)
}

/** Builds the release again, with a separate checkout and separate dependencies. Compares the hashes. */
async function verify(): Promise<void> {
  const commit = commitOf(root)
  if (!/^[0-9a-f]{40}$/.test(commit))
    throw new Error(
      `only a clean commit can be verified, but this is ${commit}; commit or discard the changes`,
    )
  const folder = mkdtempSync(join(tmpdir(), 'anteroom-release-'))
  const checkout = join(folder, 'another', 'checkout')
  try {
    await run('git', '-C', root, 'worktree', 'add', '--quiet', '--detach', checkout, commit)
    await run('npm', '--prefix', checkout, 'run', 'release')
    const [ours, theirs] = [root, checkout].map((tree) =>
      readFileSync(join(tree, 'dist/release/SHA512SUMS'), 'utf8'),
    )
    const differing = (ours ?? '').split('\n').filter((line) => !theirs?.split('\n').includes(line))
    if (differing.length > 0) throw new Error(`a second build of ${commit} differs:\n${differing.join('\n')}`)
    console.log(`a second build of ${commit} in another folder has the same bytes`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await run('git', '-C', root, 'worktree', 'prune')
  }
}

async function run(...words: string[]): Promise<void> {
  const code = await Bun.spawn(words, { stdio: ['ignore', 'inherit', 'inherit'] }).exited
  if (code !== 0) throw new Error(`${words.slice(0, 3).join(' ')} failed`)
}
