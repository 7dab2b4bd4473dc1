import { booking } from '../support/builders'

// Loads a running service from a separate process. Takes a Load as JSON, and prints a Measured as JSON.
// A client library would need more CPU time than the plain sockets.

export interface Load {
  readonly baseUrl: string
  readonly token: string
  /** Paths to GET in rotation. An empty list submits booking requests and intakes of new members instead. */
  readonly paths: readonly string[]
  /** The slots to book. If absent, the load submits intakes. */
  readonly slots?: Slots
  readonly connections: number
  readonly seconds: number
  /** Open loop: requests per second, independent of the responses. Null for a closed loop. */
  readonly perSecond: number | null
}

/** Slots in booking order, alternating between providers. */
export interface Slots {
  readonly providerIds: readonly number[]
  readonly starts: readonly string[]
  /** The number of slots that are already booked. */
  readonly booked: number
}

/**
 * Figures for each status: the number of responses, the responses per second, and percentiles of the response time in
 * ms. In an open loop, the response time starts when the request is due (this avoids coordinated omission).
 */
export type Measured = Record<string, { count: number; perSecond: number; p50: number; p99: number }>

/** The time to wait for responses after the end of the load. Later responses count as `unanswered`. */
const patienceMillis = 3_000

export async function measure(load: Load): Promise<Measured> {
  const child = Bun.spawn([process.execPath, import.meta.path, JSON.stringify(load)], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  return (await child.stdout.json()) as Measured
}

const lastChunk = Buffer.from('\r\n0\r\n\r\n')

if (import.meta.main) {
  console.log(JSON.stringify(await run(JSON.parse(process.argv[2] as string))))
  process.exit()
}

interface Connection {
  dueAt: number
  received: Buffer
  /** Body bytes that have not arrived yet. Null before the head has arrived. */
  missing: number | null
  isChunked: boolean
  status: string
  unsent: Uint8Array
}

type Socket = Bun.Socket<Connection>

async function run({
  baseUrl,
  token,
  paths,
  slots,
  connections,
  seconds,
  perSecond,
}: Load): Promise<Measured> {
  const { hostname, port, host } = new URL(baseUrl)
  let endsAt = Number.POSITIVE_INFINITY
  const times: Record<string, number[]> = {}
  const inTime: Record<string, number> = {}
  const idle: Socket[] = []
  const due: number[] = []
  let count = 0
  let inFlight = 0

  const head = `Host: ${host}\r\nAuthorization: Bearer ${token}\r\n`
  const gets = paths.map((path) => Buffer.from(`GET ${path} HTTP/1.1\r\n${head}\r\n`))
  const intake = () => {
    const body = JSON.stringify(
      booking(`load-${process.pid}-${performance.timeOrigin}-${count}`, slots && slotAt(slots, count)),
    )
    const lines = `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    return Buffer.from(`POST /partners/v1/booking-request/ HTTP/1.1\r\n${lines}${body}`)
  }
  const send = (socket: Socket, dueAt: number) => {
    inFlight++
    socket.data.dueAt = dueAt
    socket.data.unsent = gets[count % gets.length] ?? intake()
    count++
    flush(socket)
  }
  const next = (socket: Socket) => {
    inFlight--
    if (perSecond === null && performance.now() > endsAt) return
    if (perSecond === null) send(socket, performance.now())
    else if (due.length > 0) send(socket, due.shift() as number)
    else idle.push(socket)
  }
  const answered = (socket: Socket) => {
    const { status, dueAt } = socket.data
    times[status] ??= []
    times[status].push(performance.now() - dueAt)
    if (performance.now() <= endsAt) inTime[status] = (inTime[status] ?? 0) + 1
    next(socket)
  }
  for (let made = 0; made < connections; made++) {
    const data = {
      dueAt: 0,
      received: Buffer.alloc(0),
      missing: null,
      isChunked: false,
      status: '',
      unsent: Buffer.alloc(0),
    }
    const opened = await Bun.connect<Connection>({
      hostname,
      port: Number(port),
      data,
      socket: { data: (socket, bytes) => receive(socket, bytes, answered), drain: flush },
    })
    idle.push(opened)
  }
  const begunAt = performance.now()
  endsAt = begunAt + seconds * 1_000
  if (perSecond === null) for (const socket of idle) send(socket, begunAt)
  let begun = 0
  const dueAt = (place: number) => begunAt + (place / (perSecond ?? 0)) * 1_000
  while (performance.now() < endsAt) {
    for (; perSecond !== null && dueAt(begun) <= performance.now(); begun++) {
      const socket = idle.pop()
      if (socket) send(socket, dueAt(begun))
      else due.push(dueAt(begun))
    }
    await Bun.sleep(1)
  }
  while ((inFlight > 0 || due.length > 0) && performance.now() < endsAt + patienceMillis) await Bun.sleep(1)
  if (inFlight + due.length > 0) {
    times.unanswered = Array.from({ length: inFlight + due.length }, () => Number.POSITIVE_INFINITY)
  }
  return Object.fromEntries(
    Object.entries(times).map(([status, taken]) => [
      status,
      summaryOf(taken, (inTime[status] ?? 0) / seconds),
    ]),
  )
}

function slotAt({ providerIds, starts, booked }: Slots, count: number) {
  const place = booked + count
  const providerId = providerIds[place % providerIds.length]
  const utcStartTime = starts[Math.floor(place / providerIds.length)]
  if (providerId === undefined || utcStartTime === undefined) throw new Error('no slot is left to book')
  return { providerId, utcStartTime }
}

function flush(socket: Socket): void {
  const { unsent } = socket.data
  if (unsent.length > 0) socket.data.unsent = unsent.subarray(Math.max(0, socket.write(unsent)))
}

function receive(socket: Socket, bytes: Uint8Array, answered: (socket: Socket) => void): void {
  const { data } = socket
  // After the head, keeps only the last few bytes, because the last chunk may begin in these bytes.
  const kept = data.missing === null ? data.received : data.received.subarray(-lastChunk.length)
  data.received = Buffer.concat([kept, bytes])
  let body = bytes.length
  if (data.missing === null) {
    const end = data.received.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = data.received.toString('latin1', 0, end)
    data.status = head.slice(9, 12)
    data.isChunked = /transfer-encoding: chunked/i.test(head)
    data.missing = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    body = data.received.length - end - 4
  }
  data.missing -= body
  if (data.isChunked ? !lastChunk.equals(data.received.subarray(-lastChunk.length)) : data.missing > 0) return
  data.missing = null
  data.received = Buffer.alloc(0)
  answered(socket)
}

function summaryOf(taken: number[], perSecond: number) {
  taken.sort((a, b) => a - b)
  const at = (share: number) => Number((taken[Math.floor(taken.length * share)] as number).toFixed(2))
  return { count: taken.length, perSecond: Math.round(perSecond), p50: at(0.5), p99: at(0.99) }
}
