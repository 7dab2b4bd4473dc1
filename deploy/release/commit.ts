/** Files in the executable, and files that control the build. */
const built = ['src', 'db', 'fixtures', 'deploy/release', 'package.json', 'bun.lock', 'tsconfig.json']

/**
 * Returns the commit of a working tree; `unknown` without git. Ends with `-dirty` if a file of the executable was
 * changed.
 */
export function commitOf(folder: string): string {
  const head = git(folder, 'rev-parse', '--verify', 'HEAD')
  if (head === null) return 'unknown'
  return git(folder, 'status', '--porcelain', '--', ...built) === '' ? head : `${head}-dirty`
}

/** Returns the time of the commit (RFC 3339, UTC); null without git. */
export function committedAt(folder: string): string | null {
  const seconds = git(folder, 'show', '--no-patch', '--format=%ct', 'HEAD')
  return seconds === null ? null : new Date(Number(seconds) * 1000).toISOString()
}

/** Returns the commit of a tag; null if there is no such tag or no git. */
export function taggedCommit(folder: string, tag: string): string | null {
  return git(folder, 'rev-parse', '--verify', '--quiet', `refs/tags/${tag}^{commit}`)
}

function git(folder: string, ...words: string[]): string | null {
  try {
    const { exitCode, stdout } = Bun.spawnSync(['git', '-C', folder, ...words], { stderr: 'ignore' })
    return exitCode === 0 ? stdout.toString().trim() : null
  } catch {
    return null // git is not installed.
  }
}
