import { Command, CommanderError } from 'commander'
import { version } from '../../package.json'
import { requireOwnRuntime } from '../config'
import { Refusal } from '../domain/errors'
import { describeDefect, logDefect } from '../http/defect-log'
import { auditCommand } from './audit'
import { backupCommand, restoreCommand } from './backup'
import { completionCommand } from './completion'
import { initCommand, migrateCommand } from './database'
import { directoryCommand } from './directory'
import { doctorCommand } from './doctor'
import { exitCodeOf, exitCodes } from './exit-code'
import { keyCommand } from './key'
import { memberCommand } from './member'
import { organizationCommand } from './organization'
import { oneLine, printNotice } from './output'
import { partnerCommand } from './partner'
import { providerCommand } from './provider'
import { requestCommand } from './request'
import { sandboxCommand } from './sandbox'
import { serveCommand } from './serve'
import { tokenCommand } from './token'

/** The whole of the command line. */
export function createProgram(): Command {
  const program = new Command('anteroom')
    .description('Partner intake and scheduling in one executable')
    .version(version)
    // Options are those of the command that they follow: backup and backup verify have some of the same name.
    .enablePositionalOptions()
    .addCommand(sandboxCommand())
    .addCommand(initCommand())
    .addCommand(serveCommand())
    .addCommand(organizationCommand())
    .addCommand(partnerCommand())
    .addCommand(tokenCommand())
    .addCommand(directoryCommand())
    .addCommand(providerCommand())
    .addCommand(requestCommand())
    .addCommand(memberCommand())
    .addCommand(auditCommand())
    .addCommand(backupCommand())
    .addCommand(restoreCommand())
    .addCommand(keyCommand())
    .addCommand(migrateCommand())
    .addCommand(doctorCommand())
    .addCommand(completionCommand())
  eachCommand(program, (command) => command.exitOverride().configureOutput({ outputError: writeOneLine }))
  return program
}

/** Runs the command that the words after the program's name ask for, and tells its exit code. */
export async function run(words: readonly string[]): Promise<number> {
  try {
    requireOwnRuntime()
    await createProgram().parseAsync(meant(words), { from: 'user' })
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
