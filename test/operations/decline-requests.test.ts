import { expect, test } from 'bun:test'
import type { Directory } from '../../src/directory/directory'
import type { Act } from '../../src/domain/audit'
import type { Records } from '../../src/operations/context'
import { declineRequests } from '../../src/operations/requests'
import { act } from '../domain/values'
import { nextTurn } from '../support/turns'

test('many requests are declined a hundred at a time, and the directory shows it once they are', async () => {
  const did: string[] = []
  const store = {
    async declineAll(ids: readonly number[], by: Act) {
      expect(by).toBe(act)
      did.push(`${ids.length} from ${ids[0]}`)
      // One of each could not be declined any more.
      return ids.length - 1
    },
  }
  const directory = { catchUp: async () => void did.push('shown') } as unknown as Directory
  const records = { store, directory } as unknown as Records
  const ids = Array.from({ length: 250 }, (_, index) => index + 1)
  const declining = declineRequests(records, ids, act)
  // In between others have their turn.
  await nextTurn()
  did.push('another')
  expect(await declining).toBe(247)
  expect(did).toEqual(['100 from 1', 'another', '100 from 101', '50 from 201', 'shown'])
  expect(await declineRequests(records, [], act)).toBe(0)
})
