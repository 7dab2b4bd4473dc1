import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import type { DatabaseLogin } from '../../../src/domain/database'
import type { DatabaseAddress, DatabaseHost } from '../../../src/domain/database-address'
import { Refusal } from '../../../src/domain/errors'

/**
 * The password for a host: of the address, else of the environment, else of the password file; null where none has it.
 *
 * @throws Refusal settings_invalid for a password file that others may read, or that cannot be read
 */
export function passwordFor(
  address: DatabaseAddress,
  host: DatabaseHost,
  sources: DatabaseLogin,
): string | null {
  if (address.password !== null) return address.password
  if (sources.password !== null && sources.password !== '') return sources.password
  const text = sources.passFile === null ? null : readPassFile(sources.passFile, sources.isPassFileCredential)
  if (text === null) return null
  const name = host.host.startsWith('/') ? ['localhost', host.host] : [host.host]
  return findPassword(text, [name, [`${host.port}`], [address.database], [address.user]])
}

/** The password of the first line of a password file (libpq's, PostgreSQL §34.16) that each of the values stands in. */
function findPassword(text: string, values: readonly (readonly string[])[]): string | null {
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue
    const fields = fiveFields.exec(line)?.slice(1)
    const isFor = values.every((each, at) => fields?.[at] === '*' || each.includes(unescaped(fields?.[at])))
    if (fields && isFor) return unescaped(fields[4])
  }
  return null
}

/** Each up to a colon that no backslash stands before. */
const fiveFields = new RegExp(`^${Array(5).fill('((?:\\\\.|[^:\\\\]|\\\\$)*)').join(':')}`)

function unescaped(field = ''): string {
  return field.replace(/\\(.)/g, '$1')
}

/** Null where there is none. */
function readPassFile(path: string, isCredential = false): string | null {
  let file: number | undefined
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const found = fstatSync(file)
    if (!found.isFile()) throw new Refusal('settings_invalid', `the password file ${path} is not a file`)
    if ((found.mode & 0o077) !== 0 && !isCredential && process.platform !== 'win32') {
      throw new Refusal(
        'settings_invalid',
        `the password file ${path} can be read by others than its owner: give it mode 0600`,
      )
    }
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Refusal) throw error
    if ((error as { code?: string }).code === 'ENOENT') return null
    throw new Refusal(
      'settings_invalid',
      `the password file ${path} may not be read by the user that this is run by`,
    )
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
