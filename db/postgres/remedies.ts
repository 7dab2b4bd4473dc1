import type { Finding } from '../../src/domain/upkeep'

const fromBackup = 'stop all nodes, and bring the database back on its server as of a moment before'
const backupTools = 'point-in-time recovery by the provider, WAL-G or pgBackRest, or else pg_dump -Fc'

type Remedies = Readonly<Record<string, string>>

/** What to do about what is worth knowing, by the check, unless the finding says what. */
const whenNoted: Remedies = {
  settings: 'have an administrator grant pg_read_all_settings to the role',
  'audit log': 'find out who could write to the database, and hold it to a backup',
  backup: `see there that one is made, and restored now and then: ${backupTools}`,
}

/** The same about what is bad. */
const whenBad: Remedies = { ...whenNoted, schema: fromBackup, integrity: fromBackup, orphans: fromBackup }

/** A finding with what to do about it on a server: what there is to do about a file is something else. */
export function withRemedy(finding: Finding): Finding {
  const remedy = finding.remedy ?? (finding.state === 'bad' ? whenBad : whenNoted)[finding.check]
  return finding.state === 'ok' || remedy === undefined ? finding : { ...finding, remedy }
}
