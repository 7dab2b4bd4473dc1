import packed from 'moment-timezone/data/packed/latest.json'
import { memo } from '../domain/memo'
import type { ZoneData } from '../domain/ports/time'
import type { TimeZone } from '../scheduling/time-zone'

/**
 * The built-in IANA data: moment-timezone's packed form, pinned in package.json. A zone is `name|abbreviations|offsets|offset
 * index of each period|period lengths|population`, in base-60 minutes, west positive. Transitions end in 2499.
 */
export function builtInZones(): ZoneData {
  const sources = new Map(packed.zones.map((zone) => [zone.slice(0, zone.indexOf('|')), zone]))
  for (const link of packed.links) {
    const [target, alias] = link.split('|') as [string, string]
    sources.set(alias, sources.get(target) as string)
  }
  const read = memo(sources.size, (name) => unpack(name, sources.get(name) as string))
  const builtIn: ZoneData = {
    edition: packed.version,
    folder: null,
    age: 'current',
    names: [...sources.keys()],
    find: (name) => (sources.has(name) ? read(name) : null),
    zonesOf(country) {
      const entry = packed.countries.find((one) => one.startsWith(`${country}|`))
      return entry ? entry.slice(country.length + 1).split(' ') : []
    },
    get builtIn() {
      return builtIn
    },
  }
  return builtIn
}

function unpack(name: string, source: string): TimeZone {
  const [, , offsets, rules, lengths] = source.split('|') as [string, string, string, string, string]
  const minutesEast = offsets.split(' ').map((offset) => -fromBase60(offset))
  const transitions: number[] = []
  let at = 0
  for (const length of lengths ? lengths.split(' ') : []) {
    at += fromBase60(length)
    transitions.push(Math.round(at))
  }
  return { name, transitions, offsets: Array.from(rules, (rule) => minutesEast[fromBase60(rule)] as number) }
}

const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX'

/** Parses a base-60 number with an optional sign and fraction (`-5.u` is -5½). */
function fromBase60(text: string): number {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  let value = 0
  for (const digit of whole) value = value * 60 + digits.indexOf(digit)
  for (const [place, digit] of [...fraction].entries()) value += digits.indexOf(digit) / 60 ** (place + 1)
  return text.startsWith('-') ? -value : value
}
