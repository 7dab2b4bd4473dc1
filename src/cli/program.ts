import { dirname, resolve } from 'node:path'
import { Command, CommanderError, Help } from 'commander'
import { requireOwnRuntime } from '../config'
import { Refusal } from '../domain/errors'
import { logDefect } from '../http/log'
import { nearest } from './arguments'
import { findCommand, isGroup, takeStorageFlags } from './command'
import { exitCodeOf, exitCodes } from './exit-code'
import { storageLast } from './storage'
import { oneLine, print, printNotice } from './terminal/output'
import { versionLine } from './version-line'

/**
 * Commands in the order of help. Each is imported only when needed: importing all of them takes as long as
 * the rest of a server's start.
 */
const commands = {
  sandbox: [
    'Run a service with a realistic directory and partners in every state, to build against',
    async () => (await import('./commands/sandbox')).sandboxCommand(),
  ],
  init: [
    'Make the database and its master key file',
    async () => (await import('./commands/database')).initCommand(),
  ],
  serve: [
    'Run the service on the production database',
    async () => (await import('./commands/serve')).serveCommand(),
  ],
  organization: [
    'The legal bodies that partners act for',
    async () => (await import('./commands/organization')).organizationCommand(),
  ],
  partner: [
    'The platforms that call the API',
    async () => (await import('./commands/partner')).partnerCommand(),
  ],
  token: [
    'The tokens that partners call the API with',
    async () => (await import('./commands/token')).tokenCommand(),
  ],
  directory: [
    'Regions and providers, from files and into files',
    async () => (await import('./commands/directory')).directoryCommand(),
  ],
  provider: [
    'The clinicians, when they can be had, and why not',
    async () => (await import('./commands/provider')).providerCommand(),
  ],
  request: [
    'The booking requests and intakes of members',
    async () => (await import('./commands/request')).requestCommand(),
  ],
  appointments: [
    'Who has an appointment on a day, and how to reach them',
    async () => (await import('./commands/appointments')).appointmentsCommand(),
  ],
  member: ['The people who seek care', async () => (await import('./commands/member')).memberCommand()],
  audit: [
    'Who did what to which record, and when',
    async () => (await import('./commands/audit')).auditCommand(),
  ],
  backup: [
    'Write a sound copy of the database to a new file, encrypted, while the service runs',
    async () => (await import('./commands/backup')).backupCommand(),
  ],
  restore: [
    'Make a new database of a backup',
    async () => (await import('./commands/backup')).restoreCommand(),
  ],
  key: ['The master key', async () => (await import('./commands/database')).keyCommand()],
  database: [
    'The database itself: copied to another place, or another engine',
    async () => (await import('./commands/database')).databaseCommand(),
  ],
  migrate: [
    'Bring the database of an older version up to date, after a copy',
    async () => (await import('./commands/database')).migrateCommand(),
  ],
  status: [
    'Tell whether the service is up, what waits for staff, and what to do first',
    async () => (await import('./commands/status')).statusCommand(),
  ],
  doctor: [
    'Check the database, its files, what is booked, the zone data and the disk',
    async () => (await import('./commands/doctor')).doctorCommand(),
  ],
  completion: [
    'Print what makes a shell complete commands, options and values',
    async () => (await import('./completion/completion')).completionCommand(),
  ],
  complete: [
    'Print what can follow the words of a command line, for a shell',
    async () => (await import('./completion/completion')).completeCommand(createProgram),
  ],
  version: [
    'Print the version, what it was built from, and the licenses of what is built in',
    async () => (await import('./version')).versionCommand(),
  ],
} satisfies Readonly<Record<string, readonly [description: string, load: () => Promise<Command>]>>

/** Commands for shells only, hidden in help. */
const unlisted: readonly string[] = ['complete']

/**
 * Loads only the command that the first word names, or no command if it names none: help and errors need only
 * the names. Without `words`, loads all commands.
 */
export async function createProgram(words?: readonly string[]): Promise<Command> {
  const program = new Command('anteroom')
    .description('Partner intake and scheduling in one executable')
    .version(await versionLine())
    // An option belongs to the command it follows: backup and backup drill share option names.
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm: nameAlone })
  for (const [name, [description, load]] of Object.entries(commands)) {
    const isWanted = words === undefined || words[0] === name
    const command = isWanted ? await load() : new Command(name)
    program.addCommand(command.description(description), { hidden: unlisted.includes(name) })
  }
  eachCommand(program, (command) => {
    command.exitOverride().configureOutput({ writeOut: print, outputError: writeOneLine })
    // Next to long options, short lines of help are easier to read than lines broken by the terminal.
    const minWidthToWrap = 24
    if (command !== program) command.configureHelp({ subcommandTerm: nameWithArguments, minWidthToWrap })
    storageLast(command)
  })
  return program
}

/** Without arguments: they are unknown for commands that are not loaded. */
function nameAlone(command: Command): string {
  return command.name()
}

/** Without `[options]`, which every command would have. */
function nameWithArguments(command: Command): string {
  return new Help().subcommandTerm(command).replace(' [options]', '')
}

/** Runs a command line, without the name of the program. Returns the exit code. */
export async function run(words: readonly string[]): Promise<number> {
  try {
    requireOwnRuntime()
    const said = await meant(words)
    await said.program.parseAsync(said.words, { from: 'user' })
    return Number(process.exitCode ?? exitCodes.done)
  } catch (error) {
    // Commander has already printed the error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.misused
    printNotice(messageOf(error, words))
    return error instanceof Refusal ? exitCodeOf[error.kind] : exitCodes.failed
  }
}

/** Normalizes help and storage flags for Commander. @throws CommanderError for an unknown command */
async function meant(given: readonly string[]): Promise<{ program: Command; words: readonly string[] }> {
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
    refuseCommand(command, next)
  if (isHelp) return { program, words: [...path, '--help'] }
  const bare = flags.find(({ said }) => said.length === 1)
  if (bare) command.error(`error: option '${bare.said[0]}' needs a value`)
  // Dropped for commands without storage: a shell alias may add these flags to every command.
  const taken = flags.filter(({ said: [flag], behind }) => behind >= depth || takes(command, flag))
  return { program, words: [...path, ...taken.flatMap(({ said }) => said as string[]), ...rest] }
}

function takes({ options }: Command, flag: string): boolean {
  return options.some(({ long }) => long === flag)
}

function refuseCommand(above: Command, word: string): never {
  const near = nearest(word, listedBelow(above))
  const hint = near === null ? `${pathOf(above)} --help lists them` : `Did you mean ${near}?`
  return above.error(`error: unknown command '${word}' (${hint})`)
}

/** For example `anteroom token issue`. */
function pathOf(command: Command): string {
  const { parent } = command
  return parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`
}

function listedBelow({ commands, parent }: Command): string[] {
  const names = commands.map((each) => each.name()).filter((name) => !unlisted.includes(name))
  return parent === null ? [...names, 'help'] : names
}

/**
 * Logs an uncaught error and goes on: one request or timer must not end all others. Bun's own report would
 * include stored values and source code.
 */
export function logUnanswered(error: unknown): void {
  logDefect('nobody answered', error)
  process.exitCode = exitCodes.failed
}

// Removed from Commander's messages: a rejected value may be a token or personal data.
const repeatedValue = / (?:argument|value) '.*'(?= is invalid)|(?<=but got \d+): .*(?=\.$)/s

/** Commander's `command-argument` means nothing to users. */
const refusedArgument = /^error: command-argument is invalid for argument ('.*?')/

function writeOneLine(text: string, write: (line: string) => void): void {
  write(
    `${oneLine(text.trim().replace(repeatedValue, '').replace(refusedArgument, 'error: argument $1 is invalid'))}\n`,
  )
}

function eachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command)
  for (const below of command.commands) eachCommand(below, visit)
}

/** Messages for errno codes. */
const faults: Readonly<Record<string, string>> = {
  ENOENT: 'a file or folder that was named is not there',
  EEXIST: 'there is something else at a path that was named',
  ENOTDIR: 'a path that was named leads through a file',
  ENAMETOOLONG: 'a path that was named is too long',
  ELOOP: 'a path that was named leads in a circle',
  EISDIR: 'a folder was named where a file is meant',
  EACCES: 'a file, folder or port that was named may not be used',
  EPERM: 'a file, folder or port that was named may not be used',
  EROFS: 'a file or folder that was named may not be written',
  ENOSPC: 'there is no room on the disk',
  EIO: 'the disk or the machine fails to read or write a file',
  EMFILE: 'there are too many open files',
  ENFILE: 'there are too many open files on the machine',
  EDQUOT: 'there is no room on the disk for this user',
  EADDRNOTAVAIL: 'the host that was named is not of this machine',
  ENOTFOUND: 'the host that was named is not known',
}

/** Shows only typed paths and no messages of unexpected errors: they may contain personal data. */
function messageOf(error: unknown, words: readonly string[]): string {
  if (error instanceof Refusal) return error.message
  const { code, syscall, address, port, flag = '--port' } = error as Record<string, string | undefined>
  if (code === 'EADDRINUSE') return `port ${port} of ${address} is taken; name another with ${flag}`
  // Bun reports an unknown host name as EINVAL.
  const meaning = code === 'EINVAL' && syscall === 'listen' ? 'ENOTFOUND' : code
  const known = meaning && faults[meaning]
  if (known) return [givenPath(error, words), known].filter(Boolean).join(': ')
  const what = [syscall, error instanceof Error ? error.constructor.name : typeof error, code]
  return `this failed for a reason that it should have told (${what.filter(Boolean).join(' ')}); please report it`
}

/** The typed path that a file system error is about, or a typed path in the same folder. */
function givenPath(error: unknown, words: readonly string[]): string | undefined {
  const { path } = error as { path?: unknown }
  if (typeof path !== 'string') return undefined
  const paths = words.filter((word) => word !== '' && !word.startsWith('-'))
  const folderOf = (word: string) => dirname(resolve(word))
  const isSibling = (word: string) => word.includes('/') && [path, dirname(path)].includes(folderOf(word))
  return paths.find((word) => resolve(word) === resolve(path)) ?? paths.findLast(isSibling)
}
