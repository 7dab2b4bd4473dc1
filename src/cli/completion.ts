import { Argument, Command } from 'commander'
import { printText } from './output'

/** `anteroom completion`: lets a shell complete commands and options. */
export function completionCommand(): Command {
  return new Command('completion')
    .description('Print what makes a shell complete commands and options')
    .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', '\nFor bash: anteroom completion bash > /etc/bash_completion.d/anteroom')
    .action((shell: string, _flags: object, command: Command) => {
      const offers = offersOf(command.parent as Command)
      const preface = shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''
      printText(shell === 'fish' ? `${fish(offers)}\n` : `${preface}${bash(offers)}\n`)
    })
}

/** What can follow the words of a command, by those words: `token` is followed by issue, rotate and the rest. */
type Offers = ReadonlyMap<string, readonly string[]>

function offersOf(program: Command): Offers {
  const offers = new Map<string, readonly string[]>()
  const visit = (command: Command, words: readonly string[]) => {
    const below = command.commands.map((each) => each.name())
    const flags = command.options.flatMap(({ long }) => long ?? [])
    offers.set(words.join(' '), [...below, ...flags, '--help'])
    for (const each of command.commands) visit(each, [...words, each.name()])
  }
  visit(program, [])
  return offers
}

function bash(offers: Offers): string {
  const cases = Array.from(offers, ([words, next]) => `    '${words}') offers='${next.join(' ')}' ;;`)
  return `_anteroom() {
  local command='' word offers=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ "$word" == -* ]] && break
    command="\${command:+$command }$word"
  done
  while :; do
    case "$command" in
${cases.join('\n')}
    esac
    [[ -n "$offers" || -z "$command" ]] && break
    [[ "$command" == *' '* ]] && command="\${command% *}" || command=''
  done
  COMPREPLY=($(compgen -W "$offers" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _anteroom anteroom`
}

function fish(offers: Offers): string {
  const lines = Array.from(offers, ([words, next]) => {
    const seen = words.split(' ').filter(Boolean)
    const conditions = seen.map((word) => `__fish_seen_subcommand_from ${word}`)
    const here = conditions.length > 0 ? conditions.join('; and ') : '__fish_use_subcommand'
    return `complete -c anteroom -n '${here}' -a '${next.join(' ')}'`
  })
  return lines.join('\n')
}
