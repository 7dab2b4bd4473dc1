import { Command, CommanderError, Help } from 'commander'
import { requireOwnRuntime } from '../config'
import { Refusal } from '../domain/errors'
import { logDefect } from '../http/log'
import { findCommand, isGroup, takeStorageFlags } from './command'
import { errorText, unknownCommand, usageErrorText } from './errors'
import { exitCodeOf, exitCodes } from './exit-code'
import { storageLast } from './storage'
import { print, printError } from './terminal/output'
import { versionLine } from './version-line'

/** In the order of the help text. */
const descriptions = {
  sandbox: 'Run a test service with sample providers and partners',
  init: 'Create the database and its master key file',
  serve: 'Run the service on the production database',
  organization: 'Manage the organizations that partners act for',
  partner: 'Manage the platforms that call the API',
  token: 'Manage the tokens of partners',
  directory: 'Import and export regions and providers',
  provider: 'Show providers and their slots, and record time off',
  request: 'Work on booking requests and intakes',
  appointments: 'List the appointments of a day, with phone numbers',
  member: 'Find, export, deactivate and erase members',
  audit: 'Show and verify the audit log',
  backup: 'Write an encrypted backup to a new file while the service runs',
  restore: 'Create a database from a backup',
  key: 'Rotate the master key',
  database: 'Copy the database to another place or engine',
  migrate: 'Copy an older database, then upgrade its schema',
  status: 'Show the health of the service and the work that waits for staff',
  doctor: 'Check the database, its files, the bookings, the zone data and the disk',
  completion: 'Print a script that completes commands, options and values in a shell',
  complete: 'Print the completions of a command line, for the shell scripts',
  version: 'Print the versions of the program and its parts, or their licenses',
}

type Name = keyof typeof descriptions

/** Importing all commands doubles the start time, so each has a loader. */
const loaders: Readonly<Record<Name, () => Promise<Command>>> = {
  sandbox: async () => (await import('./commands/sandbox')).sandboxCommand(),
  init: async () => (await import('./commands/database')).initCommand(),
  serve: async () => (await import('./commands/serve')).serveCommand(),
  organization: async () => (await import('./commands/organization')).organizationCommand(),
  partner: async () => (await import('./commands/partner')).partnerCommand(),
  token: async () => (await import('./commands/token')).tokenCommand(),
  directory: async () => (await import('./commands/directory')).directoryCommand(),
  provider: async () => (await import('./commands/provider')).providerCommand(),
  request: async () => (await import('./commands/request')).requestCommand(),
  appointments: async () => (await import('./commands/appointments')).appointmentsCommand(),
  member: async () => (await import('./commands/member')).memberCommand(),
  audit: async () => (await import('./commands/audit')).auditCommand(),
  backup: async () => (await import('./commands/backup')).backupCommand(),
  restore: async () => (await import('./commands/backup')).restoreCommand(),
  key: async () => (await import('./commands/database')).keyCommand(),
  database: async () => (await import('./commands/database')).databaseCommand(),
  migrate: async () => (await import('./commands/database')).migrateCommand(),
  status: async () => (await import('./commands/status')).statusCommand(),
  doctor: async () => (await import('./commands/doctor')).doctorCommand(),
  completion: async () => (await import('./completion/completion')).completionCommand(),
  complete: async () => (await import('./completion/completion')).completeCommand(createProgram),
  version: async () => (await import('./version')).versionCommand(),
}

const unlisted: readonly string[] = ['complete']

/** Loads only the command that the first word names. Without `words`, loads all commands. */
export async function createProgram(words?: readonly string[]): Promise<Command> {
  const program = new Command('anteroom')
    .description('Partner intake and scheduling in one executable')
    .version(await versionLine())
    // An option belongs to the command that it follows: backup and backup drill have options with the same names.
    .enablePositionalOptions()
    // Commands that are not loaded have unknown arguments, so the list of commands shows only names.
    .configureHelp({ subcommandTerm: (command) => command.name() })
  for (const name of Object.keys(descriptions) as Name[]) {
    const isWanted = words === undefined || words[0] === name
    const command = isWanted ? await loaders[name]() : new Command(name)
    program.addCommand(command.description(descriptions[name]), { hidden: unlisted.includes(name) })
  }
  eachCommand(program, (command) => {
    command.exitOverride().configureOutput({ writeOut: print, outputError: () => {} })
    // Wraps descriptions next to long options into narrow columns, so that the terminal does not break the lines.
    const minWidthToWrap = 24
    if (command !== program) command.configureHelp({ subcommandTerm: nameWithArguments, minWidthToWrap })
    storageLast(command)
  })
  return program
}

/** Leaves out `[options]`, because every command has it. */
function nameWithArguments(command: Command): string {
  return new Help().subcommandTerm(command).replace(' [options]', '')
}

export async function run(words: readonly string[]): Promise<number> {
  let said: Meant | undefined
  try {
    requireOwnRuntime()
    said = await meant(words)
    await said.program.parseAsync(said.words, { from: 'user' })
    return Number(process.exitCode ?? exitCodes.done)
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has already printed help and the version.
      const isPrinted = error.exitCode === 0 || error.code === 'commander.help'
      if (!isPrinted) printError(usageErrorText(error, said?.command as Command))
      return error.exitCode === 0 ? exitCodes.done : exitCodes.misused
    }
    printError(errorText(error, words))
    return error instanceof Refusal ? exitCodeOf(error) : exitCodes.failed
  }
}

interface Meant {
  readonly program: Command
  readonly command: Command
  readonly words: readonly string[]
}

/** Rewrites help and storage flags to what Commander expects. @throws Refusal field_invalid for an unknown command */
async function meant(given: readonly string[]): Promise<Meant> {
  const { words, flags } = takeStorageFlags(given)
  const isHelp = words[0] === 'help'
  const named = isHelp ? words.slice(1) : words
  const program = await createProgram(named)
  const { command, depth } = findCommand(program, named)
  const [path, rest] = [named.slice(0, depth), named.slice(depth)]
  const [next] = rest
  // For example `token help issue`.
  if (next === 'help' && isGroup(command)) return meant(['help', ...path, ...rest.slice(1)])
  if (next !== undefined && !next.startsWith('-') && (isHelp || isGroup(command)))
    throw unknownCommand(command, next, listedBelow(command))
  if (isHelp) return { program, command, words: [...path, '--help'] }
  const bare = flags.find(({ said }) => said.length === 1)
  if (bare) throw new Refusal('field_invalid', `option '${bare.said[0]}' needs a value`)
  // A shell alias may add storage flags to every command, so commands without storage ignore these flags.
  const taken = flags.filter(
    ({ said: [flag], behind }) => behind >= depth || command.options.some(({ long }) => long === flag),
  )
  return { program, command, words: [...path, ...taken.flatMap(({ said }) => said as string[]), ...rest] }
}

function listedBelow({ commands, parent }: Command): string[] {
  const names = commands.map((each) => each.name()).filter((name) => !unlisted.includes(name))
  return parent === null ? [...names, 'help'] : names
}

/** Logs an uncaught error without ending the process. Bun's report would include stored values and source code. */
export function logUnanswered(error: unknown): void {
  logDefect('uncaught error', error)
  process.exitCode = exitCodes.failed
}

function eachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command)
  for (const below of command.commands) eachCommand(below, visit)
}
