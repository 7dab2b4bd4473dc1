import { Command, CommanderError } from 'commander'
import { version } from '../../package.json'
import { Refusal } from '../domain/errors'
import { sandboxCommand } from './sandbox'

/** Exit codes: what a command refused, and words that are no command. */
const refused = 1
const misused = 2

/** Runs the command that the words after the program's name ask for, and tells its exit code. */
export async function run(words: readonly string[]): Promise<number> {
  const program = new Command('anteroom')
    .description('Partner intake and scheduling in one executable.')
    .version(version)
    .addCommand(sandboxCommand())
  for (const command of [program, ...program.commands]) command.exitOverride().showHelpAfterError(false)
  try {
    await program.parseAsync(words, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has said on stderr what is wrong with the words.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : misused
    process.stderr.write(`anteroom: ${faultOf(error)}\n`)
    return refused
  }
}

/** What went wrong, for a person: no stack, no path but those that they gave. */
function faultOf(error: unknown): string {
  if (error instanceof Refusal) return error.message
  const { code, syscall } = error as { code?: string; syscall?: string }
  if (code === 'EADDRINUSE') return 'the port is taken; name another with --port'
  if (code === 'ENOENT') return 'a file or folder that was named is not there'
  if (code === 'EACCES' || code === 'EPERM') return 'a file, folder or port that was named may not be used'
  return `failed${code ? ` (${[syscall, code].filter(Boolean).join(' ')})` : ''}: ${error}`
}
