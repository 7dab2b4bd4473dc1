import { eventually } from '../support/eventually'
import { printFigure } from '../support/long'
import { runSql } from '../support/postgres'
import { Standstill } from '../support/standstill'
import { type Call, Load, type Submission } from './load'
import type { Nodes } from './nodes'

export interface Fault {
  readonly title: string
  /** The nodes that may fail or be slow while the fault lasts. */
  readonly victims: readonly number[]
  /**
   * Causes the fault under load, and resolves when the fault is over. Afterwards all nodes must recover by themselves.
   */
  inject(nodes: Nodes): Promise<void>
}

export interface Report {
  readonly acknowledged: number
  /** The numbers of 5xx answers and failed connections, by kind, at the victims and at all other nodes. */
  readonly failed: { readonly victims: Record<string, number>; readonly others: Record<string, number> }
  /** The longest request at a node that is not a victim, in ms. */
  readonly longestMillis: number
  /** The longest request before the fault, in ms: a measure of how busy the machine is. */
  readonly usualMillis: number
  readonly standstill: Standstill
  readonly longestAtVictimsMillis: number
  /** The time from the end of the fault until each node has acknowledged a booking, in ms. */
  readonly againMillis: number
  /** One sentence for each failure, for example a lost booking. */
  readonly faults: readonly string[]
}

/** Prints a line and returns false if the machine stalled too long to measure times. */
export function showsTimes({ standstill }: Report): boolean {
  if (!standstill.isShort) console.log(`SKIPPED: the check of waiting times at other nodes: ${standstill}`)
  return standstill.isShort
}

/** The failures at nodes that are not victims. If the machine stalled, 503 storage_busy does not count. */
export function failedAtOthers({ standstill, failed }: Report): Record<string, number> {
  const { '503 storage_busy': refused = 0, ...rest } = failed.others
  return standstill.isShort && refused > 0 ? failed.others : rest
}

const enough = 5
/** How long to wait for every node, before a fault and after it. */
const recoveryTimeoutMillis = 60_000

/** Runs faults while partners book at all nodes of a database, and checks the database after each. */
export class Campaign {
  #next = 0
  readonly #before: Submission[] = []

  /** @param database returns the URL of a server that can be queried after the fault */
  constructor(
    private readonly nodes: Nodes,
    private readonly database: () => string,
    private readonly perNode = 4,
    private readonly portOf = (node: number) => nodes.node(node).port,
  ) {}

  async run({ title, victims, inject }: Fault): Promise<Report> {
    using standstill = new Standstill()
    const load = new Load(this.nodes, this.#next, this.perNode, this.portOf)
    const ready = (since: number) => this.nodes.nodes.every((_, node) => stored(load, node, since) >= enough)
    const began = performance.now()
    await eventually('every node to store', () => ready(began), recoveryTimeoutMillis)
    const from = performance.now()
    let over = 0
    try {
      await inject(this.nodes)
      over = performance.now()
      await eventually('every node to store again', () => ready(over), recoveryTimeoutMillis)
    } finally {
      await load.stop()
      this.#next = load.next
      this.#before.push(...load.submissions)
    }
    const { acknowledged, calls } = load
    const others = calls.filter(({ node }) => !victims.includes(node))
    const usualMillis = longest(calls.filter(({ endedAt }) => endedAt < from))
    const report = {
      acknowledged,
      usualMillis,
      standstill,
      failed: {
        victims: failures(calls, (node) => victims.includes(node)),
        others: failures(others, () => true),
      },
      longestMillis: longest(others),
      longestAtVictimsMillis: longest(calls.filter(({ node }) => victims.includes(node))),
      againMillis: Math.max(...this.nodes.nodes.map((_, node) => firstStored(load, node, over))),
      faults: [...load.faults, ...(await this.compare())],
    }
    const looked = `${load.searches} searches after a booking; ${load.recovered} retries returned a booking whose first attempt got no answer`
    printFigure(`${title}: ${summaryOf(report)}; ${looked}`)
    return report
  }

  /** Compares the database with everything acknowledged so far. Returns one sentence for each difference. */
  async compare(): Promise<string[]> {
    const url = this.database()
    const found: string[] = []
    const rows = await runSql<Row>(url, 'SELECT id, member_id, provider_id, starts_at FROM booking_requests')
    const byId = new Map(rows.map((row) => [Number(row.id), row]))
    for (const { number, slot, answer } of this.#before) {
      if (!answer) continue
      const row = byId.get(answer.id)
      byId.delete(answer.id)
      const should = [answer.memberId, slot?.providerId ?? 0, slot ? Date.parse(slot.utcStartTime) : 0]
      const is = row && [row.member_id, row.provider_id, row.starts_at].map(Number)
      if (!is) found.push(`submission ${number} is lost, or another submission was answered with the same id`)
      else if (!Bun.deepEquals(is, should))
        found.push(`submission ${number} is stored as ${is} instead of ${should}`)
    }
    const unknown = this.#before.filter(({ isUnknown }) => isUnknown).length
    if (byId.size > unknown)
      found.push(
        `${byId.size} stored requests were not acknowledged, but only ${unknown} submissions have an unknown outcome`,
      )
    for (const [what, select] of Object.entries(never))
      for (const { id } of await runSql<{ id: number }>(url, select)) found.push(`${what}: ${id}`)
    const messages = this.nodes.nodes.flatMap((node) => node.messages)
    found.push(...new Set(messages.filter((line) => line.includes('internal error'))))
    const { code, stdout, stderr } = await this.nodes.operator.run(['audit', 'verify'])
    if (code !== 0) found.push(`audit verify ended with ${code}: ${stdout}${stderr}`)
    return found
  }
}

interface Row {
  readonly id: string
  readonly member_id: string
  readonly provider_id: string | null
  readonly starts_at: string | null
}

const never = {
  'a member with two requests': 'SELECT member_id AS id FROM booking_requests GROUP BY 1 HAVING count(*) > 1',
  'a member without a request':
    'SELECT id FROM members WHERE NOT EXISTS (SELECT 1 FROM booking_requests WHERE member_id = members.id)',
  'a member stored twice':
    'SELECT min(id) AS id FROM members GROUP BY partner_id, external_user_id_hash HAVING count(*) > 1',
  'a slot booked twice': `SELECT a.id FROM booking_requests a JOIN booking_requests b
    ON b.provider_id = a.provider_id AND b.id > a.id AND b.starts_at < a.ends_at AND b.ends_at > a.starts_at`,
}

function isStored({ status }: Call): boolean {
  return status === 201
}

function stored({ calls }: Load, node: number, since: number): number {
  return calls.filter((call) => call.node === node && call.beganAt >= since && isStored(call)).length
}

function firstStored({ calls }: Load, node: number, since: number): number {
  const ends = calls.filter((call) => call.node === node && call.endedAt >= since && isStored(call))
  return Math.round(Math.min(...ends.map(({ endedAt }) => endedAt)) - since)
}

function longest(calls: readonly Call[]): number {
  return Math.round(Math.max(0, ...calls.map(({ beganAt, endedAt }) => endedAt - beganAt)))
}

function failures(calls: readonly Call[], isTheirs: (node: number) => boolean): Record<string, number> {
  const failed = calls.filter(({ node, status }) => isTheirs(node) && (status === null || status >= 500))
  const counted = Map.groupBy(failed, ({ status, code }) =>
    status === null ? 'no answer' : `${status} ${code}`,
  )
  return Object.fromEntries([...counted].map(([what, some]) => [what, some.length]))
}

function summaryOf({
  acknowledged,
  usualMillis,
  standstill,
  failed,
  longestMillis,
  longestAtVictimsMillis,
  againMillis,
  faults,
}: Report): string {
  const { victims, others } = failed
  return (
    `${acknowledged} bookings acknowledged, ${faults.length} violations; failures at the victims ${JSON.stringify(victims)}, at other nodes ` +
    `${JSON.stringify(others)}; longest request before the fault ${usualMillis} ms, at other nodes ${longestMillis} ms, at the victims ${longestAtVictimsMillis} ms; recovered after ${againMillis} ms; ` +
    `${standstill}`
  )
}
