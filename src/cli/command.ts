import { Command } from 'commander'
import type { Act } from '../domain/audit'
import type { Records } from '../operations/context'
import { changeActive } from '../operations/upkeep'
import { auditRefusals, changesRecords, type Tried, triedBy } from './audit-refusals'
import { type CommonFlags, confirm, printResult } from './output'
import {
  type MakeAct,
  type RecordsAndZones,
  storageCommand,
  type Work,
  withContext,
  withRecords,
  withService,
  withZones,
} from './storage'

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
export function commandsIn<On extends Records | Pick<RecordsAndZones, 'context'>>(open: Open<On>) {
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
/** Makes a command that asks the zone data too. */
export const zonesCommand = commandsIn(withZones)
/** Makes a command that asks the directory too. */
export const contextCommand = commandsIn(withContext)
/** Makes a command that asks the directory and the zone data. */
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
