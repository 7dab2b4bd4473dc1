import { Command, CommanderError } from 'commander'
import { version } from '../package.json'
import { sandboxCommand } from './cli/sandbox'
import { Refusal } from './domain/errors'

const program = new Command('anteroom')
  .description('Partner intake and scheduling in one executable.')
  .version(version)
  .addCommand(sandboxCommand())

for (const command of [program, ...program.commands]) command.exitOverride()

try {
  await program.parseAsync(process.argv)
} catch (error) {
  process.exitCode = report(error)
}

/** Says on stderr what went wrong, without a stack; the answer is the exit code. */
function report(error: unknown): number {
  // Commander has said what is wrong with the words that it was given.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const isForPeople = error instanceof Refusal || (error instanceof Error && 'code' in error)
  process.stderr.write(`anteroom: ${isForPeople ? (error as Error).message : `failed: ${error}`}\n`)
  return 1
}
