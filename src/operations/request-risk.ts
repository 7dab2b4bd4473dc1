import type { Act } from '../domain/audit'
import { isAtRisk, type Risk, riskOf } from '../domain/screening'
import type { Store } from '../domain/store'
import type { Records } from './context'
import { noteAct } from './upkeep'

/** A request and what its screening says of the risk; null where no answers are held. */
export interface RequestRisk {
  readonly id: number
  readonly risk: Risk | null
}

/** Whose answers are opened at once. */
const openedAtOnce = 1_000

/** The risk of each of the requests named, in their order; the answers are forgotten at once. */
export async function* risksOf(store: Store, ids: readonly number[]): AsyncGenerator<RequestRisk> {
  for (let start = 0; start < ids.length; start += openedAtOnce) {
    const some = ids.slice(start, start + openedAtOnce)
    const answers = await store.read(({ requests }) => requests.readableAnswers(some))
    for (const id of some) {
      const given = answers.get(id) ?? null
      yield { id, risk: given?.length === 0 ? null : riskOf(given) }
    }
  }
}

/** Whether any request waits whose ninth item is not zero, or is for a person to look at. */
export async function isAnyAtRisk({ store }: Records): Promise<boolean> {
  const waiting = await store.read(({ requests }) => requests.listIds({ state: 'waiting' }))
  for await (const { risk } of risksOf(store, waiting)) {
    if (isAtRisk(risk)) return true
  }
  return false
}

/** Of how many of the requests named whose ninth item is not zero, or for a person to look at, nobody has read the answers. */
export async function countUnreadRisk(store: Store, ids: readonly number[]): Promise<number> {
  const atRisk: number[] = []
  for await (const { id, risk } of risksOf(store, ids)) if (isAtRisk(risk)) atRisk.push(id)
  return atRisk.length - (await store.read(({ audit }) => audit.looksAtRisk(atRisk))).length
}

/** Whether a request's ninth item is not zero, or for a person to look at; the audit log keeps that this was told. */
export async function readRisk(records: Records, id: number, act: Act): Promise<boolean> {
  for await (const { risk } of risksOf(records.store, [id])) {
    if (!isAtRisk(risk)) continue
    await noteAct(records, act, 'request.read-risk', `request ${id}`)
    return true
  }
  return false
}
