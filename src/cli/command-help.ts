import type { Command } from 'commander'

/** Ends the help of a command with examples, each a line as it is typed. */
export function examples(command: Command, ...lines: string[]): Command {
  return command.addHelpText('after', ['', 'Examples:', ...lines.map((line) => `  ${line}`)].join('\n'))
}
