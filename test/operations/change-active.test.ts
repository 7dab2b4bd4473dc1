import { expect, test } from 'bun:test'
import type { CopyNote } from '../../src/domain/ports/database-copy'
import type { Records } from '../../src/operations/context'
import { changeActive } from '../../src/operations/maintenance'

const copied: CopyNote = { to: '/there', at: Date.UTC(2026, 11, 1, 12) }

function recordsWith(...notes: (CopyNote | null)[]): Records {
  return { maintenance: { findCopyNote: async () => notes.shift() ?? null } } as unknown as Records
}

async function tryChange(records: Records, change = async () => {}) {
  let made = 0
  const counted = () => {
    made += 1
    return change()
  }
  const refusal = await changeActive(records, counted).catch((error) => `${error.kind}: ${error.message}`)
  return [made, refusal]
}

test('operations: changeActive applies the change to a database that was not copied', async () => {
  expect(await tryChange(recordsWith(null, null))).toEqual([1, undefined])
})

test('operations: changeActive refuses to change a database that was copied', async () => {
  expect(await tryChange(recordsWith(copied))).toEqual([
    0,
    'database_unusable: the database was copied to /there at 2026-12-01T12:00:00Z: use the copy, or reactivate this database: ' +
      'anteroom database reactivate',
  ])
})

test('operations: changeActive reports a copy that was made during the change', async () => {
  expect(await tryChange(recordsWith(null, copied))).toEqual([
    1,
    'database_unusable: the database was copied to /there at 2026-12-01T12:00:00Z while this command ran: check whether ' +
      'the copy has the change',
  ])
})

test('operations: changeActive reports the error of a failed change, even if the database was copied meanwhile', async () => {
  const fail = () => Promise.reject(Object.assign(new Error('busy'), { kind: 'storage_busy' }))
  expect(await tryChange(recordsWith(null, copied), fail)).toEqual([1, 'storage_busy: busy'])
})
