import { eventually } from '../support/eventually'
import { tellFigure } from '../support/long'
import { runSql } from '../support/postgres'
import { Standstill } from '../support/standstill'
import { type Call, Load, type Submission } from './load'
import type { Nodes } from './nodes'

/** A fault, and where it is: at some nodes, or at the server that all of them need. */
export interface Fault {
  readonly title: string
  /** The nodes that may fail, and be slow, from its beginning until it is over. */
  readonly victims: readonly number[]
  /** Brings it about, under load, and resolves once it is over: whoever can then work must do so by itself. */
  inject(nodes: Nodes): Promise<void>
}

/** What came of a fault. */
export interface Report {
  readonly acknowledged: number
  /** 503 and failed connections, by node's share: at victims, and at all others. */
  readonly failed: { readonly victims: Record<string, number>; readonly others: Record<string, number> }
  /** The longest request at a node that was not a victim, in ms. */
  readonly longestMillis: number
  /** The longest before the fault, in ms: it tells how busy the machine is. */
  readonly usualMillis: number
  /** For how long the machine stood still at most. */
  readonly standstill: Standstill
  /** The longest at one that was, in ms: one that is halted answers nobody. */
  readonly longestAtVictimsMillis: number
  /** From the end of the fault to the first booking that was acknowledged behind it at the slowest node, in ms. */
  readonly againMillis: number
  /** What must never be, in words. */
  readonly faults: readonly string[]
}

/** Whether a report shows how long a fault makes others wait. */
export function showsTimes({ standstill }: Report): boolean {
  if (!standstill.isShort) console.log(`SKIPPED: how long others waited: ${standstill}`)
  return standstill.isShort
}

/** What failed at others, but for those who were refused in time where the machine stood still. */
export function failedAtOthers({ standstill, failed }: Report): Record<string, number> {
  const { '503 storage_busy': refused = 0, ...rest } = failed.others
  return standstill.isShort && refused > 0 ? failed.others : rest
}

/** How many a node must have acknowledged, before the fault begins and once it is over. */
const enough = 5
/** How long every node is waited for, before a fault and once it is over. */
const againPatienceMillis = 60_000

/** Faults, one after another, while partners book at all nodes of a database, and what holds of it after each. */
export class Campaign {
  #next = 0
  readonly #before: Submission[] = []

  /** @param database the database's URL, of a server that can be asked once the faults are over */
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
    await eventually('every node to store', () => ready(began), againPatienceMillis)
    const from = performance.now()
    let over = 0
    try {
      await inject(this.nodes)
      over = performance.now()
      await eventually('every node to store again', () => ready(over), againPatienceMillis)
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
    const looked = `${load.searches} searches, ${load.recovered} retries found what nobody had been told`
    tellFigure(`${title}: ${told(report)}; ${looked}`)
    return report
  }

  /** How the database differs from all that was acknowledged so far: each in words. */
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
      if (!is) found.push(`${number} is lost, or has another's id`)
      else if (!Bun.deepEquals(is, should)) found.push(`${number} is stored as ${is} and not ${should}`)
    }
    // What was neither acknowledged nor may have been stored is nobody's.
    const unknown = this.#before.filter(({ isUnknown }) => isUnknown).length
    if (byId.size > unknown) found.push(`${byId.size} are stored beside what was acknowledged, of ${unknown}`)
    for (const [what, select] of Object.entries(never))
      for (const { id } of await runSql<{ id: number }>(url, select)) found.push(`${what}: ${id}`)
    const told = this.nodes.nodes.flatMap((node) => node.told)
    found.push(...new Set(told.filter((line) => line.includes('internal error'))))
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
  'a member who is there twice':
    'SELECT min(id) AS id FROM members GROUP BY partner_id, external_user_id_hash HAVING count(*) > 1',
  'a slot that was sold twice': `SELECT a.id FROM booking_requests a JOIN booking_requests b
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

function told({
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
    `${acknowledged} acknowledged, ${faults.length} faults; failed at victims ${JSON.stringify(victims)}, at others ` +
    `${JSON.stringify(others)}; longest before ${usualMillis} ms, at others ${longestMillis} ms, at victims ${longestAtVictimsMillis} ms; works again after ${againMillis} ms; ` +
    `${standstill}`
  )
}
