import type { AuditHead } from '../domain/audit'
import type { Clock } from '../domain/clock'
import type { CopyNote } from '../domain/copy-note'
import type { DatabasePlace, Purpose } from '../domain/database'
import { Refusal } from '../domain/errors'
import type { CopiedRow, CopiedTable, CopiedValue, Moment, Unfinished } from '../domain/moment'
import type { TellStep } from '../domain/upkeep'
import type { MasterKey } from '../domain/vault'

/** Which database is copied where. */
export interface Copying {
  readonly from: DatabasePlace
  readonly to: DatabasePlace
  readonly purpose: Purpose
  /** Gives the master key under which the one is sealed, and the other will be. */
  readonly takeKey: () => Promise<MasterKey>
  /** Whether a server may work with the one that is copied, and go on with it. */
  readonly whileServing: boolean
  readonly clock: Clock
}

/** What a copy holds. */
export interface Copied {
  /** By table: its records, and the SHA-256 of all of them, in hex, the same on both sides. */
  readonly tables: Readonly<Record<string, { readonly rows: number; readonly sha256: string }>>
  /** The newest act of the audit log. */
  readonly auditHead: AuditHead
  /** Whether the one that was copied notes where to, so that it is not served beside its copy. */
  readonly deactivated: boolean
  /** What that noted of an earlier copy; null for none. */
  readonly copiedBefore: CopyNote | null
}

/**
 * Copies a database as of one moment to a place where nothing is, whatever engine has either: every record, id and sealed
 * value, and the audit log. Each table is read back and compared, and the log walked, before there is a database. Neither log
 * gets a line of it: the copy's is to be the one that was there, and what others noted of its head shall hold for both.
 *
 * What no server may work with is left for its copy: it notes where that is, and is not served from then on.
 *
 * @throws Refusal database_unusable, storage_busy where a server is at work that is not to be
 */
export async function copyDatabase(copying: Copying, tell: TellStep): Promise<Copied> {
  const { from, to, purpose, takeKey, whileServing, clock } = copying
  return from.readMoment({ purpose, takeKey, whileServing }, async (moment) => {
    const at = clock.now()
    const masterKey = await takeKey()
    const fill = (unfinished: Unfinished) => carryOver(moment, unfinished, tell)
    const carried = await to.makeOfMoment({ purpose, masterKey, fill, tell })
    // Last of all: one that is killed before leaves no database that is kept from being served for nothing.
    const deactivated = !whileServing && (await moment.noteCopy({ to: to.fullName, at }))
    return { ...carried, deactivated, copiedBefore: moment.copyNote }
  })
}

type Carried = Pick<Copied, 'tables' | 'auditHead'>

async function carryOver(moment: Moment, unfinished: Unfinished, tell: TellStep): Promise<Carried> {
  tell('checking the audit log')
  const spans = await moment.proveLog()
  const all = moment.tables.reduce((sum, { rows }) => sum + rows, 0)
  let copying = 0
  let comparing = 0
  const tables: Record<string, { rows: number; sha256: string }> = {}
  for (const table of moment.tables) {
    const content = new Content(table)
    for await (const rows of moment.rowsOf(table)) {
      content.take(rows)
      await unfinished.add(table, rows)
      copying += rows.length
      tell(`copying ${table.name}`, copying / all)
    }
    if (table.lastId !== null) await unfinished.keepIds(table, table.lastId)
    tables[table.name] = content.end()
  }
  for (const table of moment.tables) {
    const content = new Content(table)
    for await (const rows of unfinished.rowsOf(table)) {
      content.take(rows)
      comparing += rows.length
      tell(`comparing ${table.name}`, comparing / all)
    }
    if (content.end().sha256 !== tables[table.name]?.sha256)
      throw new Refusal('database_unusable', `${table.name} was not stored as it was read: nothing was made`)
  }
  tell('checking the audit log of the copy')
  await unfinished.keepLog(spans)
  await moment.requireAlone()
  return { tables, auditHead: spans.acts.head }
}

/** The hash of a table's records, as they come. */
class Content {
  readonly #hash = new Bun.CryptoHasher('sha256')
  #rows = 0

  constructor({ name, columns }: CopiedTable) {
    this.#hash.update(`${name} ${columns.join(' ')}\n`)
  }

  take(rows: readonly CopiedRow[]): void {
    for (const row of rows) this.#hash.update(`${row.map(textOf).join(',')}\n`)
    this.#rows += rows.length
  }

  end(): { readonly rows: number; readonly sha256: string } {
    return { rows: this.#rows, sha256: this.#hash.digest('hex') }
  }
}

/** A text that no other value has: bytes in hex, texts in quotes. */
function textOf(value: CopiedValue): string {
  return value instanceof Uint8Array ? `x${value.toHex()}` : JSON.stringify(value)
}
