import type { Provider } from '../domain/provider'
import type { TimeZone } from '../scheduling/time-zone'
import type { Schedule } from '../scheduling/working-hours'
import { compileLicenses, compileSchedule, type LicensedTime } from './compile'

/** What was compiled of one provider, and is so of all who have the same lists. */
interface Of<Compiled> {
  readonly provider: Provider
  readonly compiled: Compiled
}

/** Compiles providers who are read together: what they have in common, down to the object, is made and held once. */
export class CompiledOnce {
  readonly #schedules = new Map<Provider['workingHours'], Of<Schedule>>()
  readonly #licenses = new Map<Provider['licenses'], Of<readonly LicensedTime[]>>()

  scheduleOf(provider: Provider, zone: TimeZone): Schedule {
    const { workingHours, overrides, timeOff, timeZone } = provider
    const known = this.#schedules.get(workingHours)
    const isSame =
      known?.provider.overrides === overrides &&
      known.provider.timeOff === timeOff &&
      known.provider.timeZone === timeZone
    if (known && isSame) return known.compiled
    const compiled = compileSchedule(provider, zone)
    this.#schedules.set(workingHours, { provider, compiled })
    return compiled
  }

  licensesOf(provider: Provider, zone: TimeZone): readonly LicensedTime[] {
    const { licenses, timeZone } = provider
    const known = this.#licenses.get(licenses)
    if (known?.provider.timeZone === timeZone) return known.compiled
    const compiled = compileLicenses(licenses, zone)
    this.#licenses.set(licenses, { provider, compiled })
    return compiled
  }
}
