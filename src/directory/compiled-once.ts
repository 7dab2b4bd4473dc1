import type { Provider } from '../domain/provider'
import type { TimeZone } from '../scheduling/time-zone'
import type { Schedule } from '../scheduling/working-hours'
import { compileLicenses, compileSchedule, type LicensedTime } from './compile'

/** What was compiled in one zone: the last schedule of those working hours, and of whom. */
interface Known {
  readonly schedules: Map<
    Provider['workingHours'],
    { readonly provider: Provider; readonly schedule: Schedule }
  >
  readonly licenses: Map<Provider['licenses'], readonly LicensedTime[]>
}

/** What else a schedule is made of. */
const others = ['overrides', 'timeOff', 'staffTimeOff'] as const

/** Compiles providers who are read together: what they have in common, down to the object, is made and held once. */
export class CompiledOnce {
  readonly #zones = new Map<TimeZone, Known>()

  scheduleOf(provider: Provider, zone: TimeZone): Schedule {
    const { workingHours } = provider
    const { schedules } = this.#knownIn(zone)
    const known = schedules.get(workingHours)
    if (known && others.every((list) => known.provider[list] === provider[list])) return known.schedule
    const schedule = compileSchedule(provider, zone)
    schedules.set(workingHours, { provider, schedule })
    return schedule
  }

  licensesOf({ licenses }: Provider, zone: TimeZone): readonly LicensedTime[] {
    const known = this.#knownIn(zone).licenses
    const compiled = known.get(licenses) ?? compileLicenses(licenses, zone)
    known.set(licenses, compiled)
    return compiled
  }

  #knownIn(zone: TimeZone): Known {
    let known = this.#zones.get(zone)
    if (!known) {
      known = { schedules: new Map(), licenses: new Map() }
      this.#zones.set(zone, known)
    }
    return known
  }
}
