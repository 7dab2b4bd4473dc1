import { Command } from 'commander'
import type { Act } from '../domain/audit'
import { type CommonFlags, confirm, printLine } from './output'
import { type MakeAct, storageCommand } from './storage'

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

/** A command at work on one record. */
export interface Call<On, Found, Flags = CommonFlags, Words extends unknown[] = []> {
  readonly context: On
  readonly record: Found
  readonly act: MakeAct
  readonly flags: Flags
  /** Its arguments but the one that names the record. */
  readonly words: Words
}

type Action<C> = (call: C) => void | Promise<void>

/**
 * Tells how to make the commands on one kind of record: each opens what it works on and finds the record that its first
 * argument names.
 */
export function commandsOn<On, Found, Named = string>(
  open: <T>(flags: object, work: (context: On, act: MakeAct) => Promise<T>) => Promise<T>,
  [argument, meaning, parse]: readonly [argument: string, meaning: string, parse?: (text: string) => Named],
  find: (context: On, named: Named) => Found | Promise<Found>,
) {
  return <Flags, Words extends unknown[]>(
    name: string,
    description: string,
    action: Action<Call<On, Found, Flags, Words>>,
  ): Command =>
    storageCommand(name, description)
      .argument(argument, meaning, parse ?? ((text) => text as Named))
      .action((named: Named, ...rest: unknown[]) => {
        const [flags, words] = [rest.at(-2) as Flags & object, rest.slice(0, -2) as Words]
        return open(flags, async (context, act) =>
          action({ context, record: await find(context, named), act, flags, words }),
        )
      })
}

type Change<On, Found> = (context: On, record: Found, act: Act) => Promise<void>

interface Switch<On, Found> {
  readonly deactivate: readonly [description: string, change: Change<On, Found>]
  readonly reactivate: readonly [description: string, change: Change<On, Found>]
  readonly question: (record: Found) => string
  /** As `Partner Lantern`. */
  readonly nameOf: (record: Found) => string
  /** What a person should know beside the question and the answer. */
  readonly noteOn?: (context: On, record: Found) => string
}

/** The two commands that switch a record off, which asks, and on again. */
export function switchCommands<On, Found>(
  make: (name: string, description: string, action: Action<Call<On, Found>>) => Command,
  { deactivate, reactivate, question, nameOf, noteOn }: Switch<On, Found>,
): Command[] {
  return [
    asking(
      make('deactivate', deactivate[0], async ({ context, record, act, flags }) => {
        const note = noteOn?.(context, record) ?? ''
        await confirm(question(record) + note, flags)
        await deactivate[1](context, record, act())
        printLine(`${nameOf(record)} is deactivated.${note}`)
      }),
    ),
    make('reactivate', reactivate[0], async ({ context, record, act }) => {
      await reactivate[1](context, record, act())
      printLine(`${nameOf(record)} is active.`)
    }),
  ]
}

export function stateOf({ active }: { readonly active?: boolean }): string {
  return active ? 'active' : 'deactivated'
}
