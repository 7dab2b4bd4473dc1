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
 * The commands in the order in which help lists them. Each is loaded when it is needed: loading all of them would take as
 * long as the rest of a server's start.
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

/** What shells alone call. */
const unlisted: readonly string[] = ['complete']

/**
 * The command line: the whole of it, or what is wanted for some words. That is one command where the first word names it,
 * and otherwise none: what only lists them, or says that there is no such one, is not to wait for them.
 */
export async function createProgram(words?: readonly string[]): Promise<Command> {
  const program = new Command('anteroom')
    .description('Partner intake and scheduling in one executable')
    .version(await versionLine())
    // Options are those of the command that they follow: backup and backup drill have some of the same name.
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm: nameAlone })
  for (const [name, [description, load]] of Object.entries(commands)) {
    const isWanted = words === undefined || words[0] === name
    const command = isWanted ? await load() : new Command(name)
    program.addCommand(command.description(description), { hidden: unlisted.includes(name) })
  }
  eachCommand(program, (command) => {
    command.exitOverride().configureOutput({ writeOut: print, outputError: writeOneLine })
    // Long options leave little room for what they mean: lines of few words are better than those that a terminal breaks.
    const minWidthToWrap = 24
    if (command !== program) command.configureHelp({ subcommandTerm: nameWithArguments, minWidthToWrap })
    storageLast(command)
  })
  return program
}

/** What a command takes is told by its own help: of those that are not loaded it is not known here. */
function nameAlone(command: Command): string {
  return command.name()
}

/** A command with what it takes: that it has options is nothing that tells it from others, and its own help has them. */
function nameWithArguments(command: Command): string {
  return new Help().subcommandTerm(command).replace(' [options]', '')
}

/** Runs the command that the words after the program's name ask for, and tells its exit code. */
export async function run(words: readonly string[]): Promise<number> {
  try {
    requireOwnRuntime()
    const said = await meant(words)
    await said.program.parseAsync(said.words, { from: 'user' })
    return Number(process.exitCode ?? exitCodes.done)
  } catch (error) {
    // Commander has said on stderr what is wrong with the words.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.misused
    printNotice(messageOf(error, words))
    return error instanceof Refusal ? exitCodeOf[error.kind] : exitCodes.failed
  }
}

/** The words as Commander takes them, and the command line for them. @throws CommanderError for a command that there is not */
async function meant(given: readonly string[]): Promise<{ program: Command; words: readonly string[] }> {
  const { words, flags } = takeStorageFlags(given)
  const isHelp = words[0] === 'help'
  const named = isHelp ? words.slice(1) : words
  const program = await createProgram(named)
  const { command, depth } = findCommand(program, named)
  const [path, rest] = [named.slice(0, depth), named.slice(depth)]
  const [next] = rest
  // As in `token help issue`.
  if (next === 'help' && isGroup(command)) return meant(['help', ...path, ...rest.slice(1)])
  if (next !== undefined && !next.startsWith('-') && (isHelp || isGroup(command)))
    refuseCommand(command, next)
  if (isHelp) return { program, words: [...path, '--help'] }
  const bare = flags.find(({ said }) => said.length === 1)
  if (bare) command.error(`error: option '${bare.said[0]}' needs a value`)
  // An alias of the whole program may tell commands of it that need no data.
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

/** The words that name a command, the program's own first. */
function pathOf(command: Command): string {
  const { parent } = command
  return parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`
}

/** The names that can follow that of a command. */
function listedBelow({ commands, parent }: Command): string[] {
  const names = commands.map((each) => each.name()).filter((name) => !unlisted.includes(name))
  return parent === null ? [...names, 'help'] : names
}

/**
 * Logs an error that nobody answers, and goes on: one request or timer must not end all others. Bun would print it whole,
 * with what was being stored and our source.
 */
export function logUnanswered(error: unknown): void {
  logDefect('nobody answered', error)
  process.exitCode = exitCodes.failed
}

// Commander repeats a value that it refuses: it may be a token, or tell of a person.
const repeatedValue = / (?:argument|value) '.*'(?= is invalid)|(?<=but got \d+): .*(?=\.$)/s

/** Commander's word for an argument's value, which says nothing to whoever typed it. */
const refusedArgument = /^error: command-argument is invalid for argument ('.*?')/

/** What is wrong with the words, and the word that may have been meant, in one line. */
function writeOneLine(text: string, write: (line: string) => void): void {
  write(
    `${oneLine(text.trim().replace(repeatedValue, '').replace(refusedArgument, 'error: argument $1 is invalid'))}\n`,
  )
}

function eachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command)
  for (const below of command.commands) eachCommand(below, visit)
}

/** What the system's codes mean to whoever gives a command. */
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

/** What went wrong, for a person: no path but those that they gave, and of what nobody foresaw no message. */
function messageOf(error: unknown, words: readonly string[]): string {
  if (error instanceof Refusal) return error.message
  const { code, syscall, address, port, flag = '--port' } = error as Record<string, string | undefined>
  if (code === 'EADDRINUSE') return `port ${port} of ${address} is taken; name another with ${flag}`
  // What the runtime makes of a name that leads to no address.
  const meaning = code === 'EINVAL' && syscall === 'listen' ? 'ENOTFOUND' : code
  const known = meaning && faults[meaning]
  if (known) return [givenPath(error, words), known].filter(Boolean).join(': ')
  // Where in our source it failed would tell them nothing.
  const what = [syscall, error instanceof Error ? error.constructor.name : typeof error, code]
  return `this failed for a reason that it should have told (${what.filter(Boolean).join(' ')}); please report it`
}

/** The word that led to a failure of the file system: the path itself, or one beside which something was made. */
function givenPath(error: unknown, words: readonly string[]): string | undefined {
  const { path } = error as { path?: unknown }
  if (typeof path !== 'string') return undefined
  const paths = words.filter((word) => word !== '' && !word.startsWith('-'))
  const folderOf = (word: string) => dirname(resolve(word))
  const isSibling = (word: string) => word.includes('/') && [path, dirname(path)].includes(folderOf(word))
  return paths.find((word) => resolve(word) === resolve(path)) ?? paths.findLast(isSibling)
}
