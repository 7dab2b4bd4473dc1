import { Command, CommanderError } from 'commander'
import { version } from '../../package.json'
import { requireOwnRuntime } from '../config'
import { Refusal } from '../domain/errors'
import { describeDefect, logDefect } from '../http/defect-log'
import { exitCodeOf, exitCodes } from './exit-code'
import { oneLine, print, printNotice } from './output'

/**
 * The commands in the order in which help lists them, each loaded when it is wanted: to load and make all of them would
 * take as long as the rest of a server's start.
 */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  sandbox: async () => (await import('./sandbox')).sandboxCommand(),
  init: async () => (await import('./database')).initCommand(),
  serve: async () => (await import('./serve')).serveCommand(),
  organization: async () => (await import('./organization')).organizationCommand(),
  partner: async () => (await import('./partner')).partnerCommand(),
  token: async () => (await import('./token')).tokenCommand(),
  directory: async () => (await import('./directory')).directoryCommand(),
  provider: async () => (await import('./provider')).providerCommand(),
  request: async () => (await import('./request')).requestCommand(),
  appointments: async () => (await import('./appointments')).appointmentsCommand(),
  member: async () => (await import('./member')).memberCommand(),
  audit: async () => (await import('./audit')).auditCommand(),
  backup: async () => (await import('./backup')).backupCommand(),
  restore: async () => (await import('./backup')).restoreCommand(),
  key: async () => (await import('./key')).keyCommand(),
  migrate: async () => (await import('./database')).migrateCommand(),
  doctor: async () => (await import('./doctor')).doctorCommand(),
  completion: async () => (await import('./completion')).completionCommand(),
}

/** The command line: the whole of it, or what is wanted for some words, which is one command where the first names it. */
export async function createProgram([first = '']: readonly string[] = []): Promise<Command> {
  // What completes commands has to know all of them.
  const isOne = Object.hasOwn(commands, first) && first !== 'completion'
  const wanted = isOne ? [first] : Object.keys(commands)
  const program = new Command('anteroom')
    .description('Partner intake and scheduling in one executable')
    .version(version)
    // Options are those of the command that they follow: backup and backup verify have some of the same name.
    .enablePositionalOptions()
  for (const name of wanted) program.addCommand(await (commands[name] as () => Promise<Command>)())
  eachCommand(program, (command) =>
    command.exitOverride().configureOutput({ writeOut: print, outputError: writeOneLine }),
  )
  return program
}

/** Runs the command that the words after the program's name ask for, and tells its exit code. */
export async function run(words: readonly string[]): Promise<number> {
  try {
    requireOwnRuntime()
    const said = meant(words)
    await (await createProgram(said)).parseAsync(said, { from: 'user' })
    return Number(process.exitCode ?? exitCodes.done)
  } catch (error) {
    // Commander has said on stderr what is wrong with the words.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.misused
    printNotice(faultOf(error))
    return error instanceof Refusal ? exitCodeOf[error.kind] : exitCodes.failed
  }
}

/** Of `help backup verify` Commander would take the first two words alone. */
function meant(words: readonly string[]): readonly string[] {
  const [first, ...named] = words
  return first === 'help' && named.length > 1 ? [...named, '--help'] : words
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

/** What is wrong with the words, and the word that may have been meant, in one line. */
function writeOneLine(text: string, write: (line: string) => void): void {
  write(`${oneLine(text.trim().replace(repeatedValue, ''))}\n`)
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
function faultOf(error: unknown): string {
  if (error instanceof Refusal) return error.message
  const { code, syscall, address, port } = error as Record<string, string | undefined>
  if (code === 'EADDRINUSE') return `port ${port} of ${address} is taken; name another with --port`
  const known = code && faults[code]
  if (known) return known
  return describeDefect(['failed', syscall].filter(Boolean).join(' in '), error)
}
