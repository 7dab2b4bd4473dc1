import { cpuMicrosOf, mainThreadMillisOf } from '../support/cpu'
import { type Ask, lookUp, search, settled, textOf } from './asks'
import { book, type Slot, slotsOf, timed } from './booked'
import { Connection } from './connection'
import { addPastBookings } from './past'
import { median, type Row, rounds, toText } from './row'
import { Serving } from './service'
import { start } from './start'
import { run } from './wrk'

const pasts = [0, 100_000, 5_000_000]
const providersWithPast = 1_000
const member = 'member-1001'
const bookingsOfRound = 50
/** A process that uses no CPU time for this long counts as idle. */
const quietMillis = 1_000

interface Point {
  readonly figure: number
  readonly cpu: number
}

/** Compares response times with many past bookings to response times without past bookings. */
export async function benchGrowth(): Promise<Row[]> {
  await using services = await startAll(pasts, async (past) => {
    const serving = await Serving.start(providersWithPast)
    await serving.pause()
    addPastBookings(serving.operator.database, past)
    return serving
  })
  const named = pasts.map((past) => `${count(past)} past bookings`)
  const starts = await curve('start to the first response', 'ms', named, services.all, async (serving) => {
    const { millis, cpuMillis } = await start(serving.startWords, search(serving))
    return { figure: millis, cpu: cpuMillis }
  })
  const checks: Point[] = []
  for (const serving of services.all) {
    await serving.resume()
    const [, millis] = await timed(() => quiet(serving))
    checks.push({ figure: (millis - quietMillis) / 1_000, cpu: await cpuMicrosOf(serving.pid) })
    await serving.addMember(member)
  }
  const free = await Promise.all(services.all.map(freeSlots))
  return [
    ...starts,
    // The service checks its database once after each start, on another thread, so the check delays no request.
    ...rowsOf('database check after the start', 's', named, [checks]),
    ...(await curve('warm search', 'a second', named, services.all, (serving) =>
      perSecond(serving, search(serving)),
    )),
    ...(await curve('sequential bookings', 'ms', named, services.all, (serving, place) =>
      bookSome(serving, free[place] as Iterator<Slot, void>),
    )),
    ...(await curve('user look-up', 'a second', named, services.all, (serving) =>
      perSecond(serving, lookUp(serving, member)),
    )),
  ]
}

async function curve(
  name: string,
  unit: string,
  named: readonly string[],
  services: readonly Serving[],
  measure: (serving: Serving, place: number) => Promise<Point>,
): Promise<Row[]> {
  const taken: Point[][] = []
  for (let round = 0; round < rounds; round++) {
    const figures: Point[] = []
    for (const [place, serving] of services.entries()) figures.push(await measure(serving, place))
    taken.push(figures)
  }
  return rowsOf(name, unit, named, taken)
}

function rowsOf(name: string, unit: string, named: readonly string[], taken: readonly Point[][]): Row[] {
  const of = (key: keyof Point, place: number) => taken.map((points) => (points[place] as Point)[key])
  return named.map((point, place) => {
    const figures = of('figure', place)
    const row = { name: `${name}, ${point}`, figure: `${toText(median(figures))} ${unit}` }
    if (place === 0) return row
    const ratios = figures.map((figure, round) => figure / (of('figure', 0)[round] as number))
    return {
      ...row,
      reference: `${toText(median(of('figure', 0)))} ${unit} (${named[0]})`,
      ratio: median(ratios),
      spread: [Math.min(...ratios), Math.max(...ratios)],
      cpuRatio: median(of('cpu', 0).map((cpu, round) => cpu / (of('cpu', place)[round] as number))),
    }
  })
}

async function perSecond(server: Serving, ask: Ask): Promise<Point> {
  const { bytes } = await settled(server.baseUrl, ask)
  const { perSecond, cpuMicros } = await run({ server, ask }, bytes.length)
  return { figure: perSecond, cpu: cpuMicros }
}

async function freeSlots(serving: Serving): Promise<Iterator<Slot, void>> {
  return slotsOf(textOf(await settled(serving.baseUrl, search(serving))))
}

async function bookSome(serving: Serving, slots: Iterator<Slot, void>): Promise<Point> {
  const { baseUrl, token } = serving
  using connection = await Connection.open(baseUrl)
  const before = await mainThreadMillisOf(serving.pid)
  const [, millis] = await timed(async () => {
    for (let done = 0; done < bookingsOfRound; done++) await book(connection, token, slots)
  })
  return { figure: millis / bookingsOfRound, cpu: (await mainThreadMillisOf(serving.pid)) - before }
}

/** Waits until a server without requests uses no CPU time. */
export async function quiet({ pid }: Serving): Promise<void> {
  for (let before = -1; ; ) {
    const now = await cpuMicrosOf(pid)
    if (now === before) return
    before = now
    await Bun.sleep(quietMillis)
  }
}

export async function startAll<Of>(points: readonly Of[], make: (point: Of) => Promise<Serving>) {
  await using stack = new AsyncDisposableStack()
  const all: Serving[] = []
  for (const point of points) all.push(stack.use(await make(point)))
  const ending = stack.move()
  return { all, [Symbol.asyncDispose]: () => ending.disposeAsync() }
}

function count(value: number): string {
  return value.toLocaleString('en')
}
