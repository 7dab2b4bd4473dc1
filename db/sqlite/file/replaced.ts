import type { Database } from 'bun:sqlite'
import { type AuditHead, auditStart } from '../../../src/domain/audit'
import { Refusal } from '../../../src/domain/errors'
import type { RestoreDiff, TokenInForce } from '../../../src/domain/ports/database-copy'
import { unusable } from '../../findings/findings'
import { openUntouched } from './copy'
import { recognizeFile } from './guard'
import { isVacant } from './head'

/** Opens a database for reading. @throws Refusal database_unusable if it belongs to another program */
export function openReplaced(path: string): Database {
  try {
    if (isVacant(path)) throw unusable(`there is no database at ${path}`)
    recognizeFile(path, false)
  } catch (error) {
    throw error instanceof Refusal ? unusable(`--against: ${error.fault}`, error.action) : error
  }
  return openUntouched(path)
}

/**
 * Compares `replaced` with a backup.
 * @throws Refusal database_unusable if `replaced` is unreadable, or is not a later state of the backup
 */
export function compareWith(replaced: Database, backup: Database): RestoreDiff {
  try {
    requireLater(replaced, headOf(backup))
    return diffOf(backup, replaced)
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw unusable('--against: the database cannot be compared with the backup', 'omit the option')
  }
}

function headOf(database: Database): AuditHead {
  const newest = "SELECT id, hash FROM audit WHERE action <> 'authentication.refuse' ORDER BY id DESC LIMIT 1"
  return database.query<AuditHead, []>(newest).get() ?? auditStart
}

/** A later state must contain the newest audit line of the earlier state, unless that line was pruned. */
function requireLater(later: Database, { id, hash }: AuditHead): void {
  if (id === auditStart.id) return
  const line = later.query<AuditHead, [number]>('SELECT id, hash FROM audit WHERE id = ?').get(id)
  const oldest = later.query<{ id: number | null }, []>('SELECT min(id) AS id FROM audit').get()?.id ?? 0
  if (line ? line.hash === hash : oldest > id) return
  throw unusable('--against: the database is not a later state of the backup', 'omit the option')
}

const counted = ['organizations', 'partners', 'partner_keys', 'providers', 'members', 'booking_requests']

function diffOf(backup: Database, replaced: Database): RestoreDiff {
  const [members, membersThen] = [membersOf(replaced), membersOf(backup)]
  const kids = new Set(tokensOf(replaced).map(({ id }) => id))
  return {
    heads: { backup: headOf(backup), replaced: headOf(replaced) },
    counts: { backup: countsOf(backup), replaced: countsOf(replaced) },
    tokens: tokensOf(backup).filter(({ id }) => !kids.has(id)),
    deactivatedMembers: [...membersThen].flatMap(([id, active]) =>
      active === 1 && members.get(id) === 0 ? [id] : [],
    ),
    erasedMembers: [...membersThen.keys()].filter((id) => !members.has(id)),
  }
}

function countsOf(database: Database): Record<string, number> {
  const count = (table: string) =>
    database.query<{ count: number }, []>(`SELECT count(*) AS count FROM ${table}`).get()?.count ?? 0
  return Object.fromEntries(counted.map((table) => [table, count(table)]))
}

/** Returns the tokens in force, and the tokens that wait for their cutover. */
function tokensOf(database: Database): TokenInForce[] {
  const select = `SELECT kid AS id, partners.name AS partner FROM partner_keys JOIN partners ON partners.id = partner_id
     WHERE ends_at IS NULL OR (ends_at > ? AND ends_at > starts_at) ORDER BY partner_keys.id`
  return database.query<TokenInForce, [number]>(select).all(Date.now())
}

function membersOf(database: Database): Map<number, number> {
  const select = 'SELECT id, active FROM members ORDER BY id'
  return new Map(database.query(select).values() as [number, number][])
}
