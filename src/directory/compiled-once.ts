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

/** Compiles providers who are read together: what they have in common, down to the object, is made and held once. */
export class CompiledOnce {
  readonly #zones = new Map<TimeZone, Known>()

  scheduleOf(provider: Provider, zone: TimeZone): Schedule {
    const { workingHours, overrides, timeOff, staffTimeOff } = provider
    const { schedules } = this.#knownIn(zone)
    const known = schedules.get(workingHours)
    const isSame =
      known?.provider.overrides === overrides &&
      known.provider.timeOff === timeOff &&
      known.provider.staffTimeOff === staffTimeOff
    if (known && isSame) return known.schedule
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
