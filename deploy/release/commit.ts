/** What is built in, or decides how: other files may differ without a trace in the executable. */
const built = ['src', 'db', 'fixtures', 'deploy/release', 'package.json', 'bun.lock', 'tsconfig.json']

/** The commit of a working tree, with `-dirty` behind it where what is built in differs; `unknown` without git. */
export function commitOf(folder: string): string {
  const head = git(folder, 'rev-parse', '--verify', 'HEAD')
  if (head === null) return 'unknown'
  return git(folder, 'status', '--porcelain', '--', ...built) === '' ? head : `${head}-dirty`
}

/** When the commit of a working tree was made (RFC 3339, UTC); null without git. */
export function committedAt(folder: string): string | null {
  const seconds = git(folder, 'show', '--no-patch', '--format=%ct', 'HEAD')
  return seconds === null ? null : new Date(Number(seconds) * 1000).toISOString()
}

/** The commit that a tag names; null without such a tag or without git. */
export function taggedCommit(folder: string, tag: string): string | null {
  return git(folder, 'rev-parse', '--verify', '--quiet', `refs/tags/${tag}^{commit}`)
}

function git(folder: string, ...words: string[]): string | null {
  try {
    const { exitCode, stdout } = Bun.spawnSync(['git', '-C', folder, ...words], { stderr: 'ignore' })
    return exitCode === 0 ? stdout.toString().trim() : null
  } catch {
    return null // There is no git.
  }
}
