import { availableParallelism, cpus, loadavg } from 'node:os'
import { benchBookings } from './bookings'
import { benchNeighbours } from './neighbours'
import { benchPlain } from './plain'

// Prints what the service takes beside a bare server and a bare database in the same run. Machines differ and
// are noisy: the ratios are what can be compared, each the median over rounds that take turns.

const parts: Record<string, () => Promise<void>> = {
  neighbours: benchNeighbours,
  bookings: benchBookings,
  plain: benchPlain,
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !Object.hasOwn(parts, name))
if (unknown.length > 0) {
  console.error(`no such part: ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}`)
  process.exit(1)
}

console.log(
  `${availableParallelism()} cores (${cpus()[0]?.model}), which the service and what asks it share with all else that ` +
    `runs: load ${loadavg()[0]?.toFixed(1)} before this`,
)
for (const [name, bench] of Object.entries(parts)) {
  if (wanted.length === 0 || wanted.includes(name)) await bench()
}
