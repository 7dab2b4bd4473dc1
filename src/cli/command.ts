import { Command } from 'commander'
import type { Act } from '../domain/audit'
import type { Records } from '../operations/context'
import { changeActive } from '../operations/upkeep'
import type { Service } from '../service'
import { auditRefusals, changesRecords, type Tried, triedBy } from './audit-refusals'
import {
  type MakeAct,
  storageCommand,
  storageFlags,
  type Work,
  withContext,
  withRecords,
  withService,
} from './storage'
import { type CommonFlags, confirm, printResult } from './terminal/output'

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

/** Commands that share their first word. */
export function commandGroup(name: string, description: string, commands: readonly Command[]): Command {
  const group = new Command(name).description(description)
  for (const command of commands) group.addCommand(command)
  return group
}

/** `--json`, which printJson and its like obey. */
export function asJson(command: Command, meaning = 'print it as JSON'): Command {
  return command.option('--json', meaning)
}

/** `--yes`, which confirm obeys. */
export function asking(command: Command): Command {
  return command.option('--yes', 'do not ask')
}

/** A command at work: what was opened for it, and what it was told beside its arguments. */
export interface Call<On, Flags = object> {
  readonly context: On
  readonly flags: Readonly<CommonFlags & Flags>
  readonly act: MakeAct
  /** What the audit log is told if the command is refused. */
  readonly tried: Tried
}

type Open<On> = (flags: object, work: Work<On>) => Promise<void>
type Done = void | Promise<void>

/** Tells how to make the commands that work on what is opened for them; an action is given their arguments too. */
export function commandsIn<On extends Records | Pick<Service, 'context'>>(open: Open<On>) {
  return <Flags, Words extends unknown[]>(
    name: string,
    description: string,
    action: (call: Call<On, Flags>, ...words: Words) => Done,
  ): Command =>
    storageCommand(name, description).action((...given: unknown[]) => {
      const [flags, words] = [given.at(-2) as CommonFlags & Flags, given.slice(0, -2) as Words]
      return open(flags, (context, act) => {
        const tried = triedBy(given.at(-1) as Command, flags)
        const records: Records = 'context' in context ? context.context : context
        const work = async () => action({ context, flags, act, tried }, ...words)
        return auditRefusals(records, tried, changesRecords(tried) ? () => changeActive(records, work) : work)
      })
    })
}

/** Makes a command that asks the records alone. */
export const recordsCommand = commandsIn(withRecords)
/** Makes a command that asks the directory too. */
export const contextCommand = commandsIn(withContext)
/** Makes a command that asks the zone data too. */
export const serviceCommand = commandsIn(withService)

/** Tells how to make the commands on one kind of record: an action is given the one that the first argument names. */
export function commandsOn<
  On extends Records,
  Found extends number | { readonly id: number },
  Named = string,
>(
  open: Open<On>,
  [argument, meaning, parse]: readonly [argument: string, meaning: string, parse?: (text: string) => Named],
  find: (context: On, named: Named) => Found | Promise<Found>,
) {
  const make = commandsIn(open)
  return <Flags, Words extends unknown[]>(
    name: string,
    description: string,
    action: (call: Call<On, Flags>, record: Found, ...words: Words) => Done,
  ): Command =>
    make(name, description, async (call: Call<On, Flags>, named: Named, ...words: Words) => {
      const found = await find(call.context, named)
      call.tried.id = typeof found === 'number' ? found : found.id
      return action(call, found, ...words)
    }).argument(argument, meaning, parse)
}

type Change<On, Found> = (context: On, record: Found, act: Act) => Promise<void>

interface Switch<On, Found> {
  readonly deactivate: readonly [description: string, change: Change<On, Found>]
  readonly reactivate: readonly [description: string, change: Change<On, Found>]
  readonly question: (record: Found, context: On) => string | Promise<string>
  /** As `Partner Lantern`. */
  readonly nameOf: (record: Found) => string
  /** What a person should know beside the question and the answer. */
  readonly noteOn?: (context: On, record: Found) => string
}

/** The two commands that switch a record off, which asks, and on again. */
export function switchCommands<On, Found extends { readonly id: number }>(
  make: (name: string, description: string, action: (call: Call<On>, record: Found) => Done) => Command,
  { deactivate, reactivate, question, nameOf, noteOn = () => '' }: Switch<On, Found>,
): Command[] {
  return [
    asking(
      asJson(
        make('deactivate', deactivate[0], async ({ context, flags, act }, record) => {
          const note = noteOn(context, record)
          await confirm((await question(record, context)) + note, flags)
          await deactivate[1](context, record, act())
          printResult(flags, { id: record.id, active: false }, `${nameOf(record)} is deactivated.${note}`)
        }),
      ),
    ),
    asJson(
      make('reactivate', reactivate[0], async ({ context, flags, act }, record) => {
        await reactivate[1](context, record, act())
        printResult(flags, { id: record.id, active: true }, `${nameOf(record)} is active.`)
      }),
    ),
  ]
}

export function stateOf({ active }: { readonly active?: boolean }): string {
  return active ? 'active' : 'deactivated'
}
