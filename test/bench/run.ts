import { Database } from 'bun:sqlite'
import { mkdirSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { dependencies, version } from '../../package.json'
import { printLines } from '../../src/cli/terminal/output'
import { table } from '../../src/cli/terminal/table'
import { failed, isFailed, isMet, type Row, rounds } from './row'
import { loadGenerator, wrkVersion } from './wrk'

// Compares the service with a bare server, a bare database or another run, and writes the figures as JSON. Machines are
// different and noisy, so only the ratios are comparable. Each ratio is the median of several rounds.

// Loaded lazily, because some parts build the executable when they are imported.
const parts: Record<string, () => Promise<readonly Row[]>> = {
  search: async () => (await import('./search')).benchSearch(),
  small: async () => (await import('./small')).benchSmall(),
  availability: async () => (await import('./availability')).benchAvailability(),
  memory: async () => (await import('./memory')).benchMemory(),
  start: async () => (await import('./start')).benchStart(),
  growth: async () => (await import('./growth')).benchGrowth(),
  changes: async () => (await import('./changes')).benchChanges(),
  bookings: async () => (await import('./bookings')).benchBookings(),
  nodes: async () => (await import('./nodes')).benchNodes(),
}

const path = join(import.meta.dir, '../../dist/bench.json')

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !Object.hasOwn(parts, name))
if (unknown.length > 0)
  end(`Unknown part: ${unknown.join(', ')}. The parts are ${Object.keys(parts).join(', ')}.`)
const wrk = wrkVersion()
if (wrk === null) end('The benchmark needs wrk. Install it with apt-get install wrk or brew install wrk.')

const run = {
  begunAt: new Date().toISOString(),
  load: `${loadGenerator}, version ${wrk}; open loops and bookings with Bun sockets (test/bench/load.ts)`,
  shared: 'the service, the reference and the load generator share all cores with other processes',
  rounds: `each figure is the median of ${rounds} rounds after a warm-up round; the service and the reference take turns; SPREAD is the smallest and the largest ratio of a round`,
  cpu: 'BY CPU is RATIO computed from the CPU time of the two servers, which other processes affect less',
  versions: {
    anteroom: version,
    bun: Bun.version,
    elysia: dependencies.elysia,
    drizzle: dependencies['drizzle-orm'],
    jose: dependencies.jose,
    sqlite: sqliteVersion(),
  },
  machine: {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    loadBefore: Number(loadavg()[0]?.toFixed(2)),
  },
}
const { versions, machine } = run
console.log(`load: ${run.load}`)
console.log(`shared: ${run.shared}`)
console.log(`rounds: ${run.rounds}`)
console.log(`cpu: ${run.cpu}`)
console.log(
  `versions: ${Object.entries(versions)
    .map((named) => named.join(' '))
    .join(', ')}`,
)
console.log(
  `machine: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, load ${machine.loadBefore} before`,
)

const rows: (Row & { readonly part: string; readonly met: boolean | null })[] = []
for (const [part, bench] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(part)) continue
  console.error(`measuring ${part}`)
  const found = await bench().catch((error: unknown) => [failed({ name: 'all rows of this part' }, error)])
  rows.push(...found.map((row) => ({ part, ...row, met: isMet(row) })))
}

console.log()
printLines(
  table(
    rows,
    {
      PART: ({ part }) => part,
      ROW: ({ name }) => name,
      SERVICE: ({ figure }) => figure,
      REFERENCE: ({ reference }) => reference ?? null,
      RATIO: ({ ratio }) => ratio?.toFixed(2) ?? null,
      SPREAD: ({ spread }) => spread?.map((ratio) => ratio.toFixed(2)).join('-') ?? null,
      'BY CPU': ({ cpuRatio }) => cpuRatio?.toFixed(2) ?? null,
      GOAL: ({ goal }) => goal ?? null,
      MET: ({ met }) => (met === null ? null : met ? 'yes' : 'no'),
    },
    'Nothing was measured.',
  ),
)
mkdirSync(dirname(path), { recursive: true })
await Bun.write(path, `${JSON.stringify({ ...run, rows }, null, 2)}\n`)
console.log(`\nThe results are also in ${path} as JSON.`)
process.exitCode = rows.some(isFailed) ? 1 : 0

function sqliteVersion(): string {
  using database = new Database(':memory:')
  return (
    database.query<{ version: string }, []>('SELECT sqlite_version() AS version').get()?.version ?? 'unknown'
  )
}

function end(why: string): never {
  console.error(why)
  process.exit(1)
}
