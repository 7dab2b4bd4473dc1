import { booking } from '../support/builders'
import { type Encoding, search, settled, textOf } from './asks'
import { Bare } from './bare'
import { Connection, parseAnswer } from './connection'
import { comparing, type Row, type RowSpec, rounds } from './row'
import type { Serving } from './service'

/** The number of searches in a round, per server. A booking precedes each search. */
const searches = 50
/** The number of searches in the warm-up round, in which the runtime compiles the code. */
const searchesToWarmUp = 250

/**
 * Measures searches for a page. One of the slots on the page is booked before each search. wrk cannot alternate
 * requests, so one client sends both on one connection. Only the searches are timed. Both servers get the bookings, so
 * that the conditions are the same. The bare server does not update its page.
 * @throws Error if a search still offers a booked slot
 */
export async function searchAfterBooking(spec: RowSpec, serving: Serving, encoding: Encoding): Promise<Row> {
  const ask = search(serving, 1, encoding)
  const figures: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] }
  using service = await Connection.open(serving.baseUrl)
  for (let round = -1; round < rounds; round++) {
    const page = await settled(serving.baseUrl, ask)
    const slots = slotsOf(textOf(page))
    await using bare = await Bare.start(page)
    using reference = await Connection.open(bare.baseUrl)
    const request = requestOf('GET', ask.path, ask.headers)
    let [ourMillis, theirMillis] = [0, 0]
    for (let done = 0; done < (round < 0 ? searchesToWarmUp : searches); done++) {
      const slot = await book(service, serving.token, slots)
      const [answer, millis] = await timed(() => service.ask(request))
      ourMillis += millis
      requireGone(slot, answer)
      await book(service, serving.token, slots)
      theirMillis += (await timed(() => reference.ask(request)))[1]
    }
    if (round < 0) continue
    figures.ours.push((searches / ourMillis) * 1_000)
    figures.theirs.push((searches / theirMillis) * 1_000)
  }
  return comparing(spec, { ...figures, unit: 'a second' })
}

export interface Slot {
  readonly providerId: number
  readonly utcStartTime: string
}

interface Page {
  readonly results: readonly {
    readonly providerId: number
    readonly availability: readonly Omit<Slot, 'providerId'>[]
  }[]
}

/** Lists the slots of a page, alternating between providers. */
export function* slotsOf(text: string): Generator<Slot, void> {
  const { results }: Page = JSON.parse(text)
  const most = Math.max(...results.map(({ availability }) => availability.length))
  for (let place = 0; place < most; place++) {
    for (const { providerId, availability } of results) {
      const slot = availability[place]
      if (slot) yield { providerId, utcStartTime: slot.utcStartTime }
    }
  }
}

export function offers(text: string, { providerId, utcStartTime }: Slot): boolean {
  const { results }: Page = JSON.parse(text)
  const slots = results.find((one) => one.providerId === providerId)?.availability ?? []
  return slots.some((slot) => slot.utcStartTime === utcStartTime)
}

let members = 0

export async function book(
  connection: Connection,
  token: string,
  slots: Iterator<Slot, void>,
): Promise<Slot> {
  const { value: slot, done } = slots.next()
  if (done) throw new Error('no slot is left to book')
  const body = JSON.stringify(booking(`booked-${++members}`, slot))
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Content-Length': String(body.length),
  }
  const answer = await connection.ask(requestOf('POST', '/partners/v1/booking-request/', headers) + body)
  const { status } = parseAnswer(answer)
  if (status !== 201) throw new Error(`a booking was answered ${status}`)
  return slot
}

function requireGone(slot: Slot, answer: Buffer): void {
  const parsed = parseAnswer(answer)
  if (parsed.status !== 200) throw new Error(`a search was answered ${parsed.status}`)
  if (offers(textOf(parsed), slot)) throw new Error('a search still offers a booked slot')
}

export async function timed<T>(act: () => Promise<T>): Promise<[T, millis: number]> {
  const begunAt = performance.now()
  const value = await act()
  return [value, performance.now() - begunAt]
}

export function requestOf(method: string, path: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ Host: 'localhost', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}
