import { expect, test } from 'bun:test'
import type { Directory } from '../../src/directory/directory'
import type { Records } from '../../src/operations/context'
import { endRequests } from '../../src/operations/requests'
import { act, booking } from '../domain/values'
import { factsStore } from '../support/facts-store'
import { nextTurn } from '../support/turns'

test('operations: many requests are declined in batches of a hundred, and the directory catches up once at the end', async () => {
  const did: string[] = []
  const findAll = (ids: readonly number[]) => {
    did.push(`${ids.length} from ${ids[0]}`)
    // The first request of each batch is already declined.
    return ids.map((id, index) => ({ ...booking, id, state: index === 0 ? 'declined' : 'pending' }) as const)
  }
  const store = factsStore({ requests: { findAll } })
  const directory = { catchUp: async () => void did.push('shown') } as unknown as Directory
  const records = { store, directory } as unknown as Records
  const ids = Array.from({ length: 250 }, (_, index) => index + 1)
  const declining = endRequests(records, 'decline', ids, act)
  // Other work runs between two batches.
  await nextTurn()
  did.push('another')
  expect(await declining).toBe(247)
  expect(did).toEqual(['100 from 1', 'another', '100 from 101', '50 from 201', 'shown'])
  expect(store.written.map(([by]) => by)).toEqual([act, act, act])
  expect(await endRequests(records, 'decline', [], act)).toBe(0)
})
