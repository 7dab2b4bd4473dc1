import type { Act, AuditHead, AuditLine, AuditVerdict } from '../domain/audit'
import { Refusal } from '../domain/errors'
import type { Finding } from '../domain/upkeep'
import type { Protection } from '../domain/vault'
import type { ZoneEdition } from '../domain/zone-data'
import type { Records } from './context'

/**
 * Writes a sound copy of the database to a place where nothing is.
 *
 * @param protection from whom it is kept; null for a copy that is not encrypted
 * @throws Refusal database_unusable, or field_invalid for what is no recipient
 */
export async function backUp(
  { upkeep, custody }: Records,
  target: string,
  protection: Protection | null,
  act: Act,
): Promise<void> {
  await upkeep.backUp(target, protection && (await custody.protect(protection)), act)
}

/** Notes which zone data is served, for the commands beside the server. */
export function noteZoneData({ upkeep }: Records, zones: ZoneEdition): Promise<void> {
  return upkeep.noteZoneData(zones)
}

/**
 * Why nothing may be changed by zone data that is not what the server works with: a slot would be judged by another
 * clock than it is offered by. Null if nothing speaks against it.
 */
export async function refuseOtherZoneData({ upkeep }: Records, zones: ZoneEdition): Promise<Refusal | null> {
  const served = await upkeep.findZoneData()
  const isSame =
    served?.edition === zones.edition && (zones.edition !== 'unknown' || served.folder === zones.folder)
  if (!served || isSame) return null
  const told = ({ edition, folder }: ZoneEdition) => `${edition} (${folder ?? 'built in'})`
  const way = served.folder === null ? 'leave --zones out' : `give it --zones ${served.folder}`
  const why = `the server works with zone data ${told(served)}, this command with ${told(zones)}: ${way}`
  return new Refusal('settings_invalid', `${why}, or start the server with the other`)
}

/** Whether the database is as it should be. */
export function checkDatabase({ upkeep, clock }: Records): Promise<Finding[]> {
  return upkeep.check(clock.now())
}

/** The newest lines of the audit log, at most so many and otherwise all, oldest first. */
export function listAudit({ store }: Records, limit = Number.MAX_SAFE_INTEGER): Promise<AuditLine[]> {
  return store.listAudit(limit)
}

/** Where the log stands. */
export function auditHead({ store }: Records): Promise<AuditHead> {
  return store.auditHead()
}

/** Whether every line is as it was written and none is gone, up to a head noted before if one is given. */
export function verifyAudit({ store }: Records, noted: AuditHead | null): Promise<AuditVerdict> {
  return store.verifyAudit(noted)
}
