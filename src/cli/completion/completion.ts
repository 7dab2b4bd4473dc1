import { Argument, type Command, type Option } from 'commander'
import { type Flags, readOptionalStorage } from '../../config'
import type { Offered } from '../../domain/ports/database'
import { settings } from '../../settings'
import { findCommand, isGroup, plainCommand, takeStorageFlags } from '../command'
import { storageFlags, storageSettings } from '../storage'
import { verbatim } from '../terminal/output'
import bash from './completion.bash' with { type: 'text' }
import fish from './completion.fish' with { type: 'text' }
import zsh from './completion.zsh' with { type: 'text' }

/** Each script defines a function that calls `anteroom complete`. */
const scripts = { bash, zsh, fish }

export function completionCommand(): Command {
  return plainCommand({
    name: 'completion',
    words: [new Argument('<shell>', 'the shell').choices(Object.keys(scripts))],
    examples: [
      'anteroom completion bash > /etc/bash_completion.d/anteroom',
      'anteroom completion zsh > /usr/local/share/zsh/site-functions/_anteroom',
      'anteroom completion fish > ~/.config/fish/completions/anteroom.fish',
    ],
    run: (shell: keyof typeof scripts) => ({ json: scripts[shell], text: verbatim(scripts[shell]) }),
  })
}

type Create = (words: readonly string[]) => Promise<Command>

/** Prints completions of the last word, one a line. The scripts of `anteroom completion` call this command. */
export function completeCommand(create: Create): Command {
  return plainCommand({
    name: 'complete',
    words: [['[words...]', 'after --: the words of the command line; the last one is being typed']],
    run: async (words: string[]) => {
      // Errors are not shown, because a message would break the line that is being typed.
      const offers = await offersFor(words, create).catch(() => [])
      return { json: offers, text: verbatim(offers.map((offer) => `${offer}\n`).join('')) }
    },
  })
}

/** Returns completions of the last word. For `:files` and `:folders` the shell lists files or folders itself. */
export async function offersFor(given: readonly string[], create: Create): Promise<readonly string[]> {
  // bash passes --format=csv as three words: --format, = and csv.
  const before = given.slice(0, -1).filter((word) => word !== '=')
  const begin = (given.at(-1) ?? '').replace(/^=$/, '')
  const { words } = takeStorageFlags(before)
  const isHelp = words[0] === 'help'
  const named = isHelp ? words.slice(1) : words
  const program = await create(named)
  const { command, depth } = findCommand(program, named)
  const { waiting, places } = readWords(command, named.slice(depth), before.at(-1))
  const offer = async (wanted: Wanted, word: string) =>
    startingWith(word, await offeredValues(wanted, word, before))
  if (waiting) return offer(waiting, begin)
  const [flag = '', value] = begin.split(/=(.*)/s)
  const assigned = value === undefined ? undefined : wantedBy(findOption(command, flag))
  if (assigned && value !== undefined) return (await offer(assigned, value)).map((word) => `${flag}=${word}`)
  if (begin.startsWith('-')) return startingWith(begin, optionFlags(command))
  const below = places === 0 ? startingWith(begin, namesBelow(command, isHelp)) : []
  if (isHelp || isGroup(command)) return below
  const { registeredArguments: taken } = command
  const argument = taken[places] ?? taken.findLast(({ variadic }) => variadic)
  if (argument === undefined) return below
  return [...below, ...(await offer({ name: argument.name(), choices: argument.argChoices }, begin))]
}

interface Wanted {
  readonly name: string
  readonly choices: readonly string[] | undefined
}

/** `places` is the number of arguments before the last word. `waiting` is the option whose value is being typed. */
function readWords(command: Command, rest: readonly string[], last: string | undefined) {
  let waiting = storageFlags.includes(last ?? '') ? wantedStorage(last) : undefined
  let places = 0
  let isOpen = false
  for (const [at, word] of rest.entries()) {
    if (isOpen) isOpen = false
    else if (!word.startsWith('-')) places++
    else {
      const wanted = wantedBy(findOption(command, word))
      isOpen = wanted !== undefined
      if (at === rest.length - 1) waiting ??= wanted
    }
  }
  return { waiting, places }
}

function findOption({ options }: Command, flag: string): Option | undefined {
  return options.find(({ long, short }) => long === flag || short === flag)
}

function wantedBy(option: Option | undefined): Wanted | undefined {
  if (!option?.required) return undefined
  return { name: nameIn(option.flags), choices: option.argChoices }
}

function wantedStorage(flag: string | undefined): Wanted | undefined {
  const setting = storageSettings.map((name) => settings[name]).find((each) => each.flag === flag)
  return setting && { name: nameIn(setting.argument ?? ''), choices: undefined }
}

function nameIn(flags: string): string {
  return /<([^>]+)>/.exec(flags)?.[1]?.replace(/\.+$/, '') ?? ''
}

function optionFlags(command: Command): string[] {
  const own = command.options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : []))
  return [...own, ...(isGroup(command) ? storageFlags : []), '--help']
}

function namesBelow(command: Command, isHelp: boolean): string[] {
  // Leaves out hidden commands, which only shells call.
  const listed = command.createHelp().visibleCommands(command)
  const names = listed.map((each) => each.name()).filter((name) => name !== 'help')
  return isGroup(command) && !isHelp ? [...names, 'help'] : names
}

const fileNames: readonly string[] = ['file', 'files', 'path', 'backup', 'place']

async function offeredValues({ name, choices }: Wanted, begin: string, before: readonly string[]) {
  if (choices) return choices
  if (fileNames.includes(name)) return [':files']
  if (name === 'folder') return [':folders']
  if (name === 'zone') return Intl.supportedValuesOf('timeZone')
  if (name === 'state') return (await import('../../domain/booking-request')).requestStates
  const offered = offeredBy[name]
  const { setting } = readOptionalStorage(storageOf(before))
  if (!offered || !setting) return []
  const { databaseAt } = await import('../../service')
  return (await databaseAt(setting)).listOffers(offered, begin)
}

const offeredBy: Readonly<Record<string, Offered>> = {
  organization: 'organization',
  partner: 'partner',
  provider: 'provider',
  ref: 'provider',
  request: 'request',
  member: 'member',
  region: 'region',
}

function storageOf(words: readonly string[]): Flags {
  const flags: Partial<Record<(typeof storageSettings)[number], string>> = {}
  for (const name of storageSettings) {
    const { flag } = settings[name]
    const at = words.lastIndexOf(flag)
    const assigned = words.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1)
    const value = assigned ?? (at < 0 ? undefined : words[at + 1])
    if (value !== undefined) flags[name] = value
  }
  return flags
}

function startingWith(begin: string, offers: readonly string[]): string[] {
  return offers.filter((offer) => offer.startsWith(begin) || offer.startsWith(':'))
}
