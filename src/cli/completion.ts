import { Argument, Command } from 'commander'
import bash from './completion.bash' with { type: 'text' }
import fish from './completion.fish' with { type: 'text' }
import zsh from './completion.zsh' with { type: 'text' }
import { printText } from './output'

/** What each shell is given: a function that asks the program itself, by `anteroom complete`. */
const scripts = { bash, zsh, fish }

/** `anteroom completion`: lets a shell complete commands, options and values. */
export function completionCommand(): Command {
  return new Command('completion')
    .description('Print what makes a shell complete commands, options and values')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(scripts)))
    .action((shell: keyof typeof scripts) => printText(scripts[shell]))
}
