import { Argument, Command, Option } from 'commander'
import type { Act } from '../domain/audit'
import type { Records } from '../operations/context'
import { changeActive } from '../operations/maintenance'
import type { SettingName } from '../settings'
import { auditRefusals, changesRecords, type Tried, triedBy } from './audit-refusals'
import {
  type MakeAct,
  type RecordsAndZones,
  requireOperator,
  storageFlags,
  storageSettings,
  type Work,
  withContext,
  withRecords,
  withService,
  withSettings,
  withZones,
} from './storage'
import { type Answer, type CommonFlags, printAnswer } from './terminal/output'
import { confirm } from './terminal/question'

interface StorageFlag {
  readonly said: [flag: string, value?: string]
  readonly behind: number
}

/** Removes storage flags that are before or between the words of a command. Returns the flags and the rest. */
export function takeStorageFlags(given: readonly string[]) {
  const words: string[] = []
  const flags: StorageFlag[] = []
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string
    const [flag = ''] = word.split('=', 1)
    const isStorage = storageFlags.includes(flag)
    // Stops at the first other option, because the command itself parses the rest.
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

/** Returns the command and the number of words in its name. The words after the name are arguments. */
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

export function isGroup({ commands, registeredArguments }: Command): boolean {
  return commands.length > 0 && registeredArguments.length === 0
}

export function commandGroup(name: string, commands: readonly Command[], description = ''): Command {
  const group = new Command(name).description(description)
  for (const command of commands) group.addCommand(command)
  return group
}

type OptionValue =
  | Option
  | readonly [flags: string, meaning: string, parse?: Parse | Default, byDefault?: Default]
type Parse = (text: string, before: never) => unknown
type Default = string | number | boolean

export interface CommandValue<Run> {
  readonly name: string
  /** Missing for top-level commands, because their descriptions are in program.ts. */
  readonly description?: string
  readonly words?: readonly (
    | Argument
    | readonly [word: string, meaning?: string, parse?: (text: string) => unknown]
  )[]
  /** Settings that are also options of the command. */
  readonly settings?: readonly SettingName[]
  readonly options?: readonly OptionValue[]
  readonly examples?: readonly string[]
  readonly run: Run
}

export function json(meaning = 'print the result as JSON'): OptionValue {
  return ['--json', meaning]
}

export const yes: OptionValue = ['--yes', 'skip the confirmation']

export function required(flags: string, meaning: string, parse?: (text: string) => unknown): Option {
  const option = new Option(flags, meaning).makeOptionMandatory()
  return parse ? option.argParser(parse) : option
}

/** Makes a command without a database. `run` gets the arguments, then the flags. */
export function plainCommand({
  name,
  description = '',
  words = [],
  settings = [],
  options = [],
  examples = [],
  run,
}: CommandValue<(...given: never[]) => Done>): Command {
  const command = new Command(name).description(description)
  for (const word of words) {
    if (word instanceof Argument) command.addArgument(word)
    else command.argument(word[0], word[1] ?? '', word[2] as (text: string) => unknown)
  }
  withSettings(command, settings)
  for (const option of options) {
    if (option instanceof Option) command.addOption(option)
    else command.option(...(option as [string, string, string?]))
  }
  if (examples.length > 0) {
    command.addHelpText('after', ['', 'Examples:', ...examples.map((line) => `  ${line}`)].join('\n'))
  }
  return command.action(async (...given: unknown[]) => {
    const answer = await (run as (...given: unknown[]) => Done)(...given)
    if (answer) printAnswer(given.at(-2) as CommonFlags, answer)
  })
}

export function storageCommand(value: CommandValue<(...given: never[]) => Done>): Command {
  return plainCommand({ ...value, settings: [...storageSettings, ...(value.settings ?? [])] })
}

export interface Call<On, Flags = object> {
  readonly context: On
  readonly flags: Readonly<CommonFlags & Flags>
  readonly act: MakeAct
  /** The contents of the audit line if the command is refused. */
  readonly tried: Tried
}

type Open<On> = (flags: object, work: Work<On>) => Promise<void>
/** Result of `run`: the answer to print, or undefined if `run` has printed everything. */
export type Done = Answer | undefined | Promise<Answer | undefined>

/** Returns a function that makes commands. Each command opens its data with `open`. */
export function commandsIn<On extends Records | Pick<RecordsAndZones, 'context'>>(open: Open<On>) {
  return <Flags, Words extends unknown[]>(
    value: CommandValue<(call: Call<On, Flags>, ...words: Words) => Done>,
  ): Command =>
    storageCommand({
      ...value,
      settings: ['requireOperator', ...(value.settings ?? [])],
      run: async (...given: unknown[]) => {
        const [flags, words] = [given.at(-2) as CommonFlags & Flags, given.slice(0, -2) as Words]
        await open(flags, (context, act) => {
          const tried = triedBy(given.at(-1) as Command, flags)
          const records: Records = 'context' in context ? context.context : context
          const work = async () => {
            if (tried.showsPeople) requireOperator(flags)
            const answer = await value.run({ context, flags, act, tried }, ...words)
            if (answer) printAnswer(flags, answer)
          }
          const attempt = changesRecords(tried) ? () => changeActive(records, work) : work
          return auditRefusals(records, tried, attempt)
        })
      },
    })
}

export const recordsCommand = commandsIn(withRecords)
export const zonesCommand = commandsIn(withZones)
export const contextCommand = commandsIn(withContext)
export const serviceCommand = commandsIn(withService)

/** Returns a function that makes commands on one record: `find` gets the first argument, `run` gets the record. */
export function commandsOn<
  On extends Records,
  Found extends number | { readonly id: number },
  Named = string,
>(
  open: Open<On>,
  word: readonly [argument: string, meaning: string, parse?: (text: string) => Named],
  find: (context: On, named: Named) => Found | Promise<Found>,
) {
  const make = commandsIn(open)
  return <Flags, Words extends unknown[]>(
    value: CommandValue<(call: Call<On, Flags>, record: Found, ...words: Words) => Done>,
  ): Command =>
    make({
      ...value,
      words: [word, ...(value.words ?? [])],
      run: async (call: Call<On, Flags>, named: Named, ...words: Words) => {
        const found = await find(call.context, named)
        call.tried.id = typeof found === 'number' ? found : found.id
        return value.run(call, found, ...words)
      },
    })
}

type Switch = readonly [description: string, example: string]

interface Switches<On, Found> {
  readonly deactivate: Switch
  readonly reactivate: Switch
  readonly set: (context: On, record: Found, active: boolean, act: Act) => Promise<void>
  readonly question: (record: Found, context: On) => string | Promise<string>
  readonly nameOf: (record: Found) => string
  readonly noteOn?: (context: On, record: Found) => string
}

/** Makes the commands `deactivate` and `reactivate`. Only `deactivate` asks for confirmation. */
export function switchCommands<On, Found extends { readonly id: number }>(
  make: (value: CommandValue<(call: Call<On>, record: Found) => Done>) => Command,
  { deactivate, reactivate, set, question, nameOf, noteOn = () => '' }: Switches<On, Found>,
): Command[] {
  return [
    make({
      name: 'deactivate',
      description: deactivate[0],
      options: [json(), yes],
      examples: [deactivate[1]],
      async run({ context, flags, act }, record) {
        const note = noteOn(context, record)
        await confirm((await question(record, context)) + note, flags)
        await set(context, record, false, act())
        return { json: { id: record.id, active: false }, text: `${nameOf(record)} is deactivated.${note}` }
      },
    }),
    make({
      name: 'reactivate',
      description: reactivate[0],
      options: [json()],
      examples: [reactivate[1]],
      async run({ context, act }, record) {
        await set(context, record, true, act())
        return { json: { id: record.id, active: true }, text: `${nameOf(record)} is active.` }
      },
    }),
  ]
}

export function stateOf({ active }: { readonly active?: boolean }): string {
  return active ? 'active' : 'deactivated'
}
