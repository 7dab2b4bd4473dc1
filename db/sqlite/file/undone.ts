import type { Database } from 'bun:sqlite'
import { Refusal } from '../../../src/domain/errors'
import {
  type AbsenceOfStaff,
  type InForce,
  type Named,
  type TokenInForce,
  type Undone,
  undoneBy,
} from '../../../src/domain/undone'
import { unusable } from '../../findings/unusable'
import { recognizeFile } from './guard'
import { isVacant } from './head'
import { openUntouched } from './open-untouched'

/** The database that a backup is to take the place of. It is read and never written. */
export interface Replaced extends Disposable {
  /**
   * What it has done that a copy made of a backup knows nothing of.
   *
   * @throws Refusal database_unusable where the one does not go on from the other, or cannot be read
   */
  undoneBy(copy: Database): Undone
}

/** @throws Refusal database_unusable for what is no database of ours */
export function openReplaced(path: string): Replaced {
  try {
    if (isVacant(path)) throw unusable(`there is no database at ${path}`)
    recognizeFile(path, false)
  } catch (error) {
    throw error instanceof Refusal ? unusable(`--against: ${error.message}`) : error
  }
  const database = openUntouched(path)
  return {
    undoneBy(copy) {
      try {
        requireLater(database, copy)
        return undoneBy(inForceIn(copy), inForceIn(database))
      } catch (error) {
        if (error instanceof Refusal) throw error
        throw unusable('--against: that database cannot be compared with the backup; leave it out')
      }
    },
    [Symbol.dispose]: () => database.close(),
  }
}

interface Line {
  readonly id: number
  readonly told: string
}

// Not their hashes: an upgrade makes those anew.
const told = 'SELECT id, json_array(at, actor, action, record) AS told FROM audit'
const newestAct = `${told} WHERE action <> 'authentication.refuse' ORDER BY id DESC LIMIT 1`

/** The audit log tells: a later state has all its lines, but for those that were pruned since. */
function requireLater(later: Database, earlier: Database): void {
  const newest = earlier.query<Line, []>(newestAct).get()
  if (!newest) return
  const same = later.query<Line, [number]>(`${told} WHERE id = ?`).get(newest.id)
  const oldest = later.query<{ id: number | null }, []>('SELECT min(id) AS id FROM audit').get()?.id ?? 0
  if (same ? same.told === newest.told : oldest > newest.id) return
  throw unusable('--against: that database is no later state of the one that the backup was made of')
}

const staffAbsences = `SELECT ref || ', ' || (value ->> 'from') || ' to ' || (value ->> 'until') AS id
  FROM providers, json_each(staff_time_off) ORDER BY providers.id`

/** In words that every schema understands. */
function inForceIn(database: Database): InForce {
  const all = <T>(sql: string) => database.query<T, []>(sql).all()
  const columns = all<{ name: string }>("SELECT name FROM pragma_table_info('providers')")
  const isSuspendable = columns.some(({ name }) => name === 'suspended')
  const tokens = database.query<TokenInForce, [number]>(
    `SELECT kid AS id, partners.name AS partner FROM partner_keys JOIN partners ON partners.id = partner_id
     WHERE ends_at IS NULL OR (ends_at > ? AND ends_at > starts_at) ORDER BY partner_keys.id`,
  )
  return {
    tokens: tokens.all(Date.now()),
    partners: all<Named>('SELECT id, name FROM partners WHERE active ORDER BY id'),
    organizations: all<Named>('SELECT id, name FROM organizations WHERE active ORDER BY id'),
    providers: all<Named>(
      `SELECT id, ref AS name FROM providers WHERE active ${isSuspendable ? 'AND NOT suspended' : ''} ORDER BY id`,
    ),
    members: all<{ id: number; active: number }>('SELECT id, active FROM members ORDER BY id').map(
      ({ id, active }) => ({ id, active: active === 1 }),
    ),
    requests: all<InForce['requests'][number]>(
      'SELECT id, json_array(state, provider_id, starts_at) AS standing FROM booking_requests ORDER BY id',
    ),
    // Suspensions and absences of staff are of one schema.
    absences: isSuspendable ? all<AbsenceOfStaff>(staffAbsences) : [],
  }
}
