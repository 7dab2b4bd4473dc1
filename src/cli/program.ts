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

/** Commands in the order of the help text. Importing all commands doubles the start time, so each has a loader. */
const commands = {
  sandbox: [
    'Run a test service with sample providers and partners',
    async () => (await import('./commands/sandbox')).sandboxCommand(),
  ],
  init: [
    'Create the database and its master key file',
    async () => (await import('./commands/database')).initCommand(),
  ],
  serve: [
    'Run the service on the production database',
    async () => (await import('./commands/serve')).serveCommand(),
  ],
  organization: [
    'Manage the organizations that partners act for',
    async () => (await import('./commands/organization')).organizationCommand(),
  ],
  partner: [
    'Manage the platforms that call the API',
    async () => (await import('./commands/partner')).partnerCommand(),
  ],
  token: ['Manage the tokens of partners', async () => (await import('./commands/token')).tokenCommand()],
  directory: [
    'Import and export regions and providers',
    async () => (await import('./commands/directory')).directoryCommand(),
  ],
  provider: [
    'Show providers and their slots, and record time off',
    async () => (await import('./commands/provider')).providerCommand(),
  ],
  request: [
    'Work on booking requests and intakes',
    async () => (await import('./commands/request')).requestCommand(),
  ],
  appointments: [
    'List the appointments of a day, with phone numbers',
    async () => (await import('./commands/appointments')).appointmentsCommand(),
  ],
  member: [
    'Find, export, deactivate and erase members',
    async () => (await import('./commands/member')).memberCommand(),
  ],
  audit: ['Show and verify the audit log', async () => (await import('./commands/audit')).auditCommand()],
  backup: [
    'Write an encrypted backup to a new file while the service runs',
    async () => (await import('./commands/backup')).backupCommand(),
  ],
  restore: [
    'Create a database from a backup',
    async () => (await import('./commands/backup')).restoreCommand(),
  ],
  key: ['Rotate the master key', async () => (await import('./commands/database')).keyCommand()],
  database: [
    'Copy the database to another place or engine',
    async () => (await import('./commands/database')).databaseCommand(),
  ],
  migrate: [
    'Copy an older database, then upgrade its schema',
    async () => (await import('./commands/database')).migrateCommand(),
  ],
  status: [
    'Show the health of the service and the work that waits for staff',
    async () => (await import('./commands/status')).statusCommand(),
  ],
  doctor: [
    'Check the database, its files, the bookings, the zone data and the disk',
    async () => (await import('./commands/doctor')).doctorCommand(),
  ],
  completion: [
    'Print a script that completes commands, options and values in a shell',
    async () => (await import('./completion/completion')).completionCommand(),
  ],
  complete: [
    'Print the completions of a command line, for the shell scripts',
    async () => (await import('./completion/completion')).completeCommand(createProgram),
  ],
  version: [
    'Print the versions of the program and its parts, or their licenses',
    async () => (await import('./version')).versionCommand(),
  ],
} satisfies Readonly<Record<string, readonly [description: string, load: () => Promise<Command>]>>

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
  for (const [name, [description, load]] of Object.entries(commands)) {
    const isWanted = words === undefined || words[0] === name
    const command = isWanted ? await load() : new Command(name)
    program.addCommand(command.description(description), { hidden: unlisted.includes(name) })
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
    return error instanceof Refusal ? exitCodeOf[error.kind] : exitCodes.failed
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
