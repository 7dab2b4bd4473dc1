import type { Command } from 'commander'
import { storageFlags } from './storage-flags'

/** A flag that says where the data is, its value, and behind how many words it stood. */
export interface StorageFlag {
  readonly said: [flag: string, value?: string]
  readonly behind: number
}

/** Takes the flags that say where the data is from before a command's name and from between its words. */
export function takeStorageFlags(given: readonly string[]) {
  const words: string[] = []
  const flags: StorageFlag[] = []
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string
    const [flag = ''] = word.split('=', 1)
    const isStorage = storageFlags.includes(flag)
    // From here on they are the command's to take.
    if (word.startsWith('-') && !isStorage) return { words: [...words, ...given.slice(at)], flags }
    if (!isStorage) words.push(word)
    else if (word !== flag) flags.push({ said: [flag, word.slice(flag.length + 1)], behind: words.length })
    else flags.push({ said: saidOf(flag, given[++at]), behind: words.length })
  }
  return { words, flags }
}

function saidOf(flag: string, value: string | undefined): StorageFlag['said'] {
  return value === undefined ? [flag] : [flag, value]
}

/** The command that the first words name, and how many of them that takes. */
export function findCommand(program: Command, words: readonly string[]) {
  let command = program
  let depth = 0
  for (const word of words) {
    const below = command.commands.find((each) => each.name() === word)
    if (below === undefined) break
    command = below
    depth++
  }
  return { command, depth }
}

/** Whether a command does nothing itself: the next word is to name one of its own. */
export function isGroup({ commands, registeredArguments }: Command): boolean {
  return commands.length > 0 && registeredArguments.length === 0
}
