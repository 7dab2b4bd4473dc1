import { limitsOf } from '../config'
import { builtInDirectory, withGenerated } from '../directory-files/sandbox'
import type { Act } from '../domain/audit'
import { unlimited } from '../domain/limits'
import type { Report } from '../domain/measures'
import type { RandomSource } from '../domain/ports/random'
import type { Clock } from '../domain/ports/time'
import type { Context } from '../operations/context'
import { fillSandbox, loadDirectory } from '../operations/directory-loads'
import { dayMinutes, minuteMillis } from '../scheduling/calendar'
import { openService, type Service } from '../service'
import { type Values, valuesOf } from '../settings'

export const limitNames = [
  'readsPerMinute',
  'bookingsPerMinute',
  'intakesPerHour',
  'failedAuthenticationsPerMinute',
  'openRequests',
  'openIntakes',
  'emailConflictsPerHour',
] as const

export type LimitName = (typeof limitNames)[number]

export interface Filling extends Partial<Record<LimitName, number | null>> {
  readonly document: unknown
  readonly providers: number
  readonly zones?: string | undefined
  readonly clock: Clock
  readonly random: RandomSource | undefined
  readonly report: Report
  readonly resettable?: boolean
}

const noLimits: Values = {
  ...valuesOf({}),
  ...(Object.fromEntries(limitNames.map((name) => [name, null])) as Record<LimitName, null>),
}

export function openSandbox(
  database: string,
  key: string,
  filling: Filling,
  create = false,
): Promise<Service> {
  const { zones, clock, random, report, resettable = false } = filling
  const alone = resettable && !create
  return openService({
    ...{ purpose: 'sandbox', database, masterKey: { file: key }, create, alone, upgrade: true },
    ...{ zoneFolder: zones, clock, random, report },
    // The partners' limits must not apply while the data is generated.
    limits: create ? unlimited : limitsOf({ ...noLimits, ...filling }),
  })
}

export async function fill(database: string, key: string, filling: Filling): Promise<void> {
  const { context, close } = await openSandbox(database, key, filling, true)
  try {
    await loadGiven(context, filling)
    await fillSandbox(context, filling.document === undefined, actOf(context))
  } finally {
    await close()
  }
}

export async function loadGiven(context: Context, filling: Filling): Promise<void> {
  await loadDirectory(context, documentFor(context, filling), actOf(context))
}

function actOf({ clock }: Context): Act {
  return { actor: 'sandbox', at: clock.now() }
}

function documentFor({ clock }: Context, { document, providers }: Filling): unknown {
  const today = Math.floor(clock.now() / (dayMinutes * minuteMillis))
  const directory = document === undefined ? builtInDirectory(today) : document
  return providers > 0 ? withGenerated(directory, providers) : directory
}
