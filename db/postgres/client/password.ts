import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import type { DatabaseAddress, DatabaseHost } from '../../../src/domain/addresses'
import { Refusal } from '../../../src/domain/errors'
import type { DatabaseLogin } from '../../../src/domain/ports/database'

/**
 * Takes the password from the address, else from the environment, else from the password file.
 * @throws Refusal settings_invalid if the password file is unreadable, or readable for other users
 */
export function passwordFor(
  address: DatabaseAddress,
  host: DatabaseHost,
  { password, passFile, isPassFileCredential }: DatabaseLogin,
): string | null {
  if (address.password !== null) return address.password
  if (password) return password
  const text = passFile === null ? null : readPassFile(passFile, isPassFileCredential)
  if (text === null) return null
  const names = host.host.startsWith('/') ? ['localhost', host.host] : [host.host]
  return findPassword(text, [names, [`${host.port}`], [address.database], [address.user]])
}

/** Returns the password of the first matching line (PostgreSQL §34.16, The Password File). */
function findPassword(text: string, wanted: readonly (readonly string[])[]): string | null {
  for (const line of text.split(/\r?\n/)) {
    const fields = line.startsWith('#') ? undefined : fiveFields.exec(line)?.slice(1)
    const isMatch = wanted.every(
      (names, at) => fields?.[at] === '*' || names.includes(unescaped(fields?.[at])),
    )
    if (fields && isMatch) return unescaped(fields[4])
  }
  return null
}

/** Fields end at an unescaped colon. */
const fiveFields = new RegExp(`^${Array(5).fill('((?:\\\\.|[^:\\\\]|\\\\$)*)').join(':')}`)

function unescaped(field = ''): string {
  return field.replace(/\\(.)/g, '$1')
}

function readPassFile(path: string, isCredential = false): string | null {
  let file: number | undefined
  const invalid = (why: string, action?: string) =>
    new Refusal('settings_invalid', `the password file ${path} ${why}`, { action })
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const found = fstatSync(file)
    if (!found.isFile()) throw invalid('is not a file')
    if ((found.mode & 0o077) !== 0 && !isCredential && process.platform !== 'win32')
      throw invalid('is accessible to other users', `run chmod 600 ${path}`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Refusal) throw error
    if ((error as { code?: string }).code === 'ENOENT') return null
    throw invalid('cannot be read by this user')
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
