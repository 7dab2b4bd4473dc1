import type { Command } from 'commander'
import type { Provider, TimeOff } from '../domain/provider'
import type { Context } from '../operations/context'
import { parseTimeOff, removeTimeOff } from '../operations/providers'
import { asJson, type Call, commandGroup } from './command'
import { onProvider } from './on-provider'
import { columnsOf, printResult, printRows } from './output'

const absenceForm = 'a date, a local date-time as 2026-12-01T13:00, or an instant as 2026-12-01T18:00:00Z'

/** `anteroom provider time-off`: when providers are away. */
export function timeOffCommand(): Command {
  return commandGroup('time-off', 'When providers are away', [
    asJson(
      onAbsence('remove', 'Take an absence back, its boundaries written as list shows them', removeAbsence),
    ),
    asJson(
      onProvider('list', 'List when a provider is away, and who has said so', listAbsences),
      'print them as JSON',
    ),
  ])
}

type AbsenceAction = (call: Call<Context>, provider: Provider, from: string, until: string) => Promise<void>

function onAbsence(name: string, description: string, action: AbsenceAction): Command {
  return onProvider(name, description, action)
    .argument('<from>', absenceForm)
    .argument('<until>', 'in the same form; a date is the last day, the others the end')
}

const removeAbsence: AbsenceAction = async ({ context, flags, act }, provider, from, until) => {
  const { isOfDirectory } = await removeTimeOff(context, provider, parseTimeOff(from, until), act())
  const line = `Provider ${provider.ref} has no time off from ${from} to ${until} any more.`
  const again = isOfDirectory
    ? ' It came with the directory: the next load brings it back if it has it still.'
    : ''
  printResult(flags, { provider: provider.ref, from, until, isOfDirectory }, `${line}${again}`)
}

function listAbsences({ flags }: Call<Context>, provider: Provider): void {
  printRows(flags, absencesBySource(provider), absenceColumns, 'There is no time off.')
}

/** An absence and who has said so: staff by a command, or the directory that was loaded. */
export type SourcedAbsence = TimeOff & { readonly source: 'directory' | 'staff' }

/** All absences of a provider, those first that the directory has. */
export function absencesBySource({ timeOff, staffTimeOff }: Provider): SourcedAbsence[] {
  return [
    ...timeOff.map(({ from, until }) => ({ from, until, source: 'directory' as const })),
    ...staffTimeOff.map(({ from, until }) => ({ from, until, source: 'staff' as const })),
  ]
}

/** What tables show of absences. */
export const absenceColumns = columnsOf<SourcedAbsence>('from', 'until', 'source')
