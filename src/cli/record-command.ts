import { Command } from 'commander'
import type { Act } from '../domain/audit'
import { confirm, type Flags, printLine } from './output'
import { type MakeAct, storageCommand } from './storage'

/** Commands that share their first word. */
export function commandGroup(name: string, description: string, commands: readonly Command[]): Command {
  const group = new Command(name).description(description)
  for (const command of commands) group.addCommand(command)
  return group
}

/** How the commands on one kind of record find the one that they are on, and on what they work. */
interface Finding<On, Found> {
  readonly open: <T>(flags: object, work: (on: On, act: MakeAct) => Promise<T>) => Promise<T>
  readonly argument: string
  /** What the argument may be. */
  readonly meaning: string
  readonly find: (on: On, named: string) => Found | Promise<Found>
}

/** What a command does with its record; further arguments come behind the flags. */
export type RecordAction<On, Found, F extends Flags, More extends unknown[]> = (
  on: On,
  found: Found,
  act: MakeAct,
  flags: F,
  ...more: More
) => void | Promise<void>

/** Makes the commands on one kind of record, each of which finds the record that its first argument names. */
export function commandsOn<On, Found>({ open, argument, meaning, find }: Finding<On, Found>) {
  return <F extends Flags, More extends unknown[]>(
    name: string,
    description: string,
    action: RecordAction<On, Found, F, More>,
  ): Command =>
    storageCommand(name, description)
      .argument(argument, meaning)
      .action((named: string, ...rest: [...More, F, Command]) => {
        const flags = rest.at(-2) as F
        const more = rest.slice(0, -2) as More
        return open(flags, async (on, act) => action(on, await find(on, named), act, flags, ...more))
      })
}

type CommandOn<On, Found> = (
  name: string,
  description: string,
  action: RecordAction<On, Found, Flags, []>,
) => Command

interface Switch<On, Found> {
  readonly deactivate: readonly [description: string, change: Change<On, Found>]
  readonly reactivate: readonly [description: string, change: Change<On, Found>]
  readonly question: (found: Found) => string
  /** As `Partner Lantern`. */
  readonly nameOf: (found: Found) => string
  /** What a person should know beside the question and the answer. */
  readonly noteOn?: (on: On, found: Found) => string
}

type Change<On, Found> = (on: On, found: Found, act: Act) => Promise<void>

/** The two commands that switch a record off, which asks, and on again. */
export function switchCommands<On, Found>(
  commandOn: CommandOn<On, Found>,
  { deactivate, reactivate, question, nameOf, noteOn }: Switch<On, Found>,
): Command[] {
  return [
    commandOn('deactivate', deactivate[0], async (on, found, act, flags) => {
      const note = noteOn?.(on, found) ?? ''
      await confirm(question(found) + note, flags)
      await deactivate[1](on, found, act())
      printLine(`${nameOf(found)} is deactivated.${note}`)
    }).option('--yes', 'do not ask'),
    commandOn('reactivate', reactivate[0], async (on, found, act) => {
      await reactivate[1](on, found, act())
      printLine(`${nameOf(found)} is active.`)
    }),
  ]
}

export function stateOf({ active }: { readonly active?: boolean }): string {
  return active ? 'active' : 'deactivated'
}
