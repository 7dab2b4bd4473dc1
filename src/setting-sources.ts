import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { isDatabaseAddress, parseDatabaseAddress } from './domain/addresses'
import { didYouMean } from './domain/did-you-mean'
import { Refusal } from './domain/errors'
import { Fault, type Flags, type Setting, type SettingName, settings } from './settings'

interface SettingsLine {
  readonly line: number
  readonly name: string
  readonly value: string
}

/** Parses a file like systemd's EnvironmentFile (systemd.exec(5)). Unlike systemd, reports invalid lines. */
export function readSettingsLines(text: string): { lines: SettingsLine[]; faults: string[] } {
  const lines: SettingsLine[] = []
  const faults: string[] = []
  const fault = (line: number, what: string) => faults.push(`line ${line}: ${what}`)
  for (const { line, text: whole } of joinLines(text)) {
    if (/^\s*([#;]|$)/.test(whole)) continue
    const [, name, written = ''] = /^\s*([A-Za-z_]\w*)=(.*)$/s.exec(whole) ?? []
    const value = name === undefined ? null : unquoted(written.trim())
    if (name === undefined) fault(line, 'must be NAME=value without spaces before =, or a comment')
    else if (value === null) fault(line, `${name}: a quotation mark is not closed, or text follows it`)
    else if (lines.some((each) => each.name === name)) fault(line, `${name}: is set twice`)
    else lines.push({ line, name, value })
  }
  return { lines, faults }
}

/** Joins continued lines. `line` is the line number of the first part. */
function joinLines(text: string): { line: number; text: string }[] {
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

function unquoted(written: string): string | null {
  const [mark] = written
  if (mark !== '"' && mark !== "'") return written.replace(/\\(.)/g, '$1')
  const form = mark === '"' ? /^"((?:[^"\\]|\\.)*)"$/s : /^'([^']*)'$/s
  const inside = form.exec(written)?.[1]
  if (inside === undefined) return null
  return mark === '"' ? inside.replace(/\\(["\\$`])/g, '$1') : inside
}

/** This setting has no flag, because every process on the machine can read command lines. */
export const masterKeyVariable = 'ANTEROOM_MASTER_KEY'

/** The person on whose behalf a command runs, for the audit log. Not a setting: a file would name one person for all. */
export const operatorVariable = 'ANTEROOM_OPERATOR'

const notSettings = [operatorVariable, 'ANTEROOM_TOKEN', 'ANTEROOM_CONTROL_TOKEN']

export const credentialsVariable = 'CREDENTIALS_DIRECTORY'

export type Environment = Readonly<Record<string, string | undefined>>

export function overruledLines(flags: Flags, environment: Environment): string[] {
  const inFile = readSettingsFile(flags.settings ?? environment[settings.settings.variable], [])
  return (Object.keys(settings) as SettingName[]).flatMap((name) => {
    const { flag, variable } = settings[name]
    const [line, given] = [inFile?.get(variable), givenFor(name, flags, environment)]
    if (!line || !given || line.value === given.value) return []
    const by = given.source === flag ? flag : 'the environment'
    return [`${line.source}: has no effect because ${by} overrides it`]
  })
}

interface Source {
  readonly value: string
  readonly source: string
}

/** Reads flags, else the environment, else the file. @throws Refusal settings_invalid, listing every fault */
export function readSettings(
  environment: Environment,
  flags: Flags,
  required: readonly SettingName[],
): Flags {
  const values: Partial<Record<SettingName, string>> = {}
  const faults: string[] = []
  const inFile = readSettingsFile(flags.settings ?? environment[settings.settings.variable], faults)
  // Stops if the file is unreadable. Otherwise every setting in the file would be reported as missing.
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
    if (name.startsWith('ANTEROOM_') && !notSettings.includes(name) && !isVariable(name))
      faults.push(noSetting(name, name))
  }
  faults.push(...passwordFaults(settings.database.flag, flags.database, ' or ANTEROOM_DATABASE'))
  faults.push(...masterKeyFaults(environment, flags, inFile), ...tlsFaults(values))
  if (required.includes('database')) faults.push(...missingKeyFaults(environment, values))
  if (required.includes('baseUrl')) faults.push(...nodesFaults(values))
  if (faults.length > 0) throw new Refusal('settings_invalid', faults.join('\n'))
  return values
}

function givenFor(name: SettingName, flags: Flags, environment: Environment): Source | undefined {
  const { flag, variable } = settings[name]
  const said = flags[name]
  if (said !== undefined) return { value: said, source: flag }
  const value = environment[variable]
  return value === undefined ? undefined : { value, source: variable }
}

function noSetting(source: string, name: string): string {
  const known = [...Object.values(settings).map(({ variable }) => variable), 'ANTEROOM_MASTER_KEY']
  const meant = didYouMean(name, known)
  return `${source}: is not a setting${meant === null ? '' : `; did you mean ${meant}?`}`
}

function isVariable(name: string): boolean {
  return name === masterKeyVariable || Object.values(settings).some(({ variable }) => variable === name)
}

/** Returns the settings by variable; null if the file cannot be read. @param faults gets the reasons */
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
      faults.push(`${source}: is not read from a settings file; use ANTEROOM_MASTER_KEY_FILE`)
    } else if (name === settings.settings.variable) faults.push(`${source}: cannot be set in a settings file`)
    else if (!isVariable(name)) faults.push(noSetting(source, name))
    else found.set(name, { value, source })
  }
  return found
}

const mostSettingsBytes = 65_536

/** Returns null if the file cannot be read. Rejects a pipe or a huge file, because a running server must not block. */
function readSettingsText(path: string, faults: string[]): string | null {
  let file: number | undefined
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const found = fstatSync(file)
    if (found.isFile() && found.size <= mostSettingsBytes) return readFileSync(file, 'utf8')
    const why = found.isFile() ? `is larger than ${mostSettingsBytes} bytes` : 'is not a file'
    faults.push(`the settings file ${path} ${why}`)
  } catch (error) {
    const isThere = (error as { code?: string }).code !== 'ENOENT'
    const unreadable = `no permission to read the settings file ${path}`
    faults.push(isThere ? unreadable : `there is no settings file at ${path}`)
  } finally {
    if (file !== undefined) closeSync(file)
  }
  return null
}

function masterKeyFaults(environment: Environment, flags: Flags, inFile: ReadonlyMap<string, Source>) {
  const names = ['masterKeyFile', 'masterKeyFd'] as const
  const given = names.flatMap(
    (name) => givenFor(name, flags, environment) ?? inFile.get(settings[name].variable) ?? [],
  )
  const source = given.map((each) => each.source)
  if (environment[masterKeyVariable] !== undefined) source.unshift(masterKeyVariable)
  return source.length > 1 ? [`${source.join(' and ')}: give the master key in only one way`] : []
}

/** Reports a password in a flag, because every process on the machine can read command lines. */
export function passwordFaults(flag: string, database = '', more = ''): string[] {
  const address = isDatabaseAddress(database) ? parseDatabaseAddress(database) : null
  if (address === null || typeof address === 'string' || address.password === null) return []
  const ways = `PGPASSWORD, PGPASSFILE, ~/.pgpass${more}`
  return [`${flag}: must not contain a password, because every process can read it; use ${ways}`]
}

export function missingKeyFaults(
  environment: Environment,
  { database = '', masterKeyFile, masterKeyFd }: Flags,
): string[] {
  const isGiven = masterKeyFile ?? masterKeyFd ?? environment[masterKeyVariable]
  if (!isDatabaseAddress(database) || isGiven !== undefined || environment[credentialsVariable]) return []
  const { variable, flag } = settings.masterKeyFile
  return [`${variable} or ${flag}: is required for a database server`]
}

function nodesFaults({ database = '', nodes = '1' }: Flags): string[] {
  if (isDatabaseAddress(database) || nodes === '1') return []
  const { variable, flag } = settings.nodes
  return [`${variable} or ${flag}: must be 1, because only one server can use a database file`]
}

function tlsFaults({ tlsCertificate, tlsKey }: Flags): string[] {
  if ((tlsCertificate === undefined) === (tlsKey === undefined)) return []
  const missing = settings[tlsKey === undefined ? 'tlsKey' : 'tlsCertificate']
  return [`${missing.variable} or ${missing.flag}: is missing; set both the TLS certificate and its key`]
}
