import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { isDatabaseAddress, parseDatabaseAddress } from './domain/addresses'
import { Refusal } from './domain/errors'
import { Fault, type Flags, type Setting, type SettingName, settings } from './settings'

/** A line of a settings file that sets something. */
export interface SettingsLine {
  /** From 1 on. */
  readonly line: number
  readonly name: string
  readonly value: string
}

/**
 * Reads lines of NAME=value as systemd's EnvironmentFile has them (systemd.exec(5)): comments begin with # or ;, a value may
 * stand in quotes, and a backslash at a line's end goes on in the next. What sets nothing is a fault here, since nobody writes
 * it on purpose. Tells the lines, and the faults as texts.
 */
export function readSettingsLines(text: string): { lines: SettingsLine[]; faults: string[] } {
  const lines: SettingsLine[] = []
  const faults: string[] = []
  const fault = (line: number, what: string) => faults.push(`line ${line}: ${what}`)
  for (const { line, text: whole } of joined(text)) {
    if (/^\s*([#;]|$)/.test(whole)) continue
    const [, name, written = ''] = /^\s*([A-Za-z_]\w*)=(.*)$/s.exec(whole) ?? []
    const value = name === undefined ? null : unquoted(written.trim())
    if (name === undefined)
      fault(line, 'is neither NAME=value, without export and without spaces before =, nor a comment')
    else if (value === null)
      fault(line, `${name}: a quotation mark is left open, or something stands behind it`)
    else if (lines.some((each) => each.name === name)) fault(line, `${name}: is set above already`)
    else lines.push({ line, name, value })
  }
  return { lines, faults }
}

/** The lines, those that are continued as one, each with the number that it begins at. */
function joined(text: string): { line: number; text: string }[] {
  const found: { line: number; text: string }[] = []
  let isOpen = false
  for (const [at, row] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const goesOn = /(^|[^\\])(\\\\)*\\$/.test(row) && !/^\s*[#;]/.test(row)
    const part = goesOn ? row.slice(0, -1) : row
    const last = found.at(-1)
    if (isOpen && last) last.text += part
    else found.push({ line: at + 1, text: part })
    isOpen = goesOn
  }
  return found
}

/** A value as the shell's simplest forms have it; null where a quotation mark does not end it. */
function unquoted(written: string): string | null {
  const [mark] = written
  if (mark !== '"' && mark !== "'") return written.replace(/\\(.)/g, '$1')
  const form = mark === '"' ? /^"((?:[^"\\]|\\.)*)"$/s : /^'([^']*)'$/s
  const inside = form.exec(written)?.[1]
  if (inside === undefined) return null
  return mark === '"' ? inside.replace(/\\(["\\$`])/g, '$1') : inside
}

/** The one setting that has no flag: words of a command can be read by every process of the machine. */
export const masterKeyVariable = 'ANTEROOM_MASTER_KEY'

/** Where systemd puts a service's credentials (systemd.exec(5)). */
export const credentialsVariable = 'CREDENTIALS_DIRECTORY'

export type Environment = Readonly<Record<string, string | undefined>>

/** What a settings file sets otherwise than a flag or the environment, which come before it. */
export function overruledLines(flags: Flags, environment: Environment): string[] {
  const inFile = readSettingsFile(flags.settings ?? environment[settings.settings.variable], [])
  return (Object.keys(settings) as SettingName[]).flatMap((name) => {
    const { flag, variable } = settings[name]
    const [line, given] = [inFile?.get(variable), givenFor(name, flags, environment)]
    if (!line || !given || line.value === given.value) return []
    const by = given.source === flag ? flag : 'the environment'
    return [`${line.source}: has no effect, since ${by} sets it otherwise`]
  })
}

/** The text of a setting, and what names it in a fault: the flag, the variable or the line. */
interface Source {
  readonly value: string
  readonly source: string
}

export function readSettings(
  environment: Environment,
  flags: Flags,
  required: readonly SettingName[],
): Flags {
  const values: Partial<Record<SettingName, string>> = {}
  const faults: string[] = []
  const inFile = readSettingsFile(flags.settings ?? environment[settings.settings.variable], faults)
  // All that it would set would be missing.
  if (inFile === null) throw new Refusal('settings_invalid', faults.join('\n'))
  for (const [name, setting] of Object.entries(settings) as [SettingName, Setting][]) {
    const given = givenFor(name, flags, environment) ?? inFile.get(setting.variable)
    if (given === undefined) {
      if (required.includes(name)) faults.push(`${setting.variable} or ${setting.flag}: is required`)
      continue
    }
    const parsed = setting.parse(given.value)
    if (parsed instanceof Fault) faults.push(`${given.source}: ${parsed.why}`)
    values[name] = given.value
  }
  for (const name of Object.keys(environment)) {
    if (name.startsWith('ANTEROOM_') && !isVariable(name)) faults.push(`${name}: is no setting`)
  }
  faults.push(...passwordFaults(settings.database.flag, flags.database, ' or ANTEROOM_DATABASE'))
  faults.push(...masterKeyFaults(environment, flags, inFile), ...tlsFaults(values))
  if (required.includes('database')) faults.push(...missingKeyFaults(environment, values))
  if (required.includes('baseUrl')) faults.push(...nodesFaults(values))
  if (faults.length > 0) throw new Refusal('settings_invalid', faults.join('\n'))
  return values
}

/** What a flag or else the environment sets. */
function givenFor(name: SettingName, flags: Flags, environment: Environment): Source | undefined {
  const { flag, variable } = settings[name]
  const said = flags[name]
  if (said !== undefined) return { value: said, source: flag }
  const value = environment[variable]
  return value === undefined ? undefined : { value, source: variable }
}

function isVariable(name: string): boolean {
  return name === masterKeyVariable || Object.values(settings).some(({ variable }) => variable === name)
}

/** What a settings file sets, by variable; null where there is none to read. @param faults takes what is wrong with it */
function readSettingsFile(path: string | undefined, faults: string[]): ReadonlyMap<string, Source> | null {
  const found = new Map<string, Source>()
  if (!path) return found
  const text = readSettingsText(path, faults)
  if (text === null) return null
  const { lines, faults: inText } = readSettingsLines(text)
  faults.push(...inText.map((fault) => `${path} ${fault}`))
  for (const { line, name, value } of lines) {
    const source = `${path} line ${line}: ${name}`
    if (name === masterKeyVariable) {
      faults.push(`${source}: is not taken from a file; name a file of its own by ANTEROOM_MASTER_KEY_FILE`)
    } else if (name === settings.settings.variable || !isVariable(name))
      faults.push(`${source}: is no setting`)
    else found.set(name, { value, source })
  }
  return found
}

/** More than all settings take, with what is said of each. */
const mostSettingsBytes = 65_536

/**
 * Null where it cannot be had: a server that runs reads it too, and must not wait for a pipe's other end, nor grow.
 *
 * @param faults takes what is wrong with it
 */
function readSettingsText(path: string, faults: string[]): string | null {
  let file: number | undefined
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const found = fstatSync(file)
    if (found.isFile() && found.size <= mostSettingsBytes) return readFileSync(file, 'utf8')
    const why = found.isFile() ? 'is too large to be one' : 'is not a file'
    faults.push(`the settings file ${path} ${why}`)
  } catch (error) {
    const isThere = (error as { code?: string }).code !== 'ENOENT'
    const unreadable = `the settings file ${path} may not be read by the user that this is run by`
    faults.push(isThere ? unreadable : `there is no settings file at ${path}`)
  } finally {
    if (file !== undefined) closeSync(file)
  }
  return null
}

function masterKeyFaults(
  environment: Environment,
  flags: Flags,
  inFile: ReadonlyMap<string, Source>,
): string[] {
  const names = ['masterKeyFile', 'masterKeyFd'] as const
  const given = names.flatMap(
    (name) => givenFor(name, flags, environment) ?? inFile.get(settings[name].variable) ?? [],
  )
  const source = given.map((each) => each.source)
  if (environment[masterKeyVariable] !== undefined) source.unshift(masterKeyVariable)
  return source.length > 1 ? [`${source.join(' and ')}: give the master key in one way`] : []
}

/** Words of a command can be read by every process of the machine. */
export function passwordFaults(flag: string, database = '', besides = ''): string[] {
  const address = isDatabaseAddress(database) ? parseDatabaseAddress(database) : null
  if (address === null || typeof address === 'string' || address.password === null) return []
  const ways = `PGPASSWORD, PGPASSFILE, ~/.pgpass${besides}`
  return [`${flag}: has a password, which every process can read there; give it by ${ways}`]
}

/** A key stands beside a file alone by itself. */
export function missingKeyFaults(
  environment: Environment,
  { database = '', masterKeyFile, masterKeyFd }: Flags,
): string[] {
  const isGiven = masterKeyFile ?? masterKeyFd ?? environment[masterKeyVariable]
  if (!isDatabaseAddress(database) || isGiven !== undefined || environment[credentialsVariable]) return []
  const { variable, flag } = settings.masterKeyFile
  return [`${variable} or ${flag}: is required, since the database is not a file`]
}

function nodesFaults({ database = '', nodes = '1' }: Flags): string[] {
  if (isDatabaseAddress(database) || nodes === '1') return []
  const { variable, flag } = settings.nodes
  return [`${variable} or ${flag}: must be 1, since the database is a file, which one server alone can serve`]
}

function tlsFaults({ tlsCertificate, tlsKey }: Flags): string[] {
  if ((tlsCertificate === undefined) === (tlsKey === undefined)) return []
  const missing = settings[tlsKey === undefined ? 'tlsKey' : 'tlsCertificate']
  return [`${missing.variable} or ${missing.flag}: is required, since a certificate and its key go together`]
}
