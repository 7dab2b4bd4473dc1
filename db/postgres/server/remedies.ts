import type { Remedies } from '../../../src/domain/upkeep'

const fromBackup = 'stop all nodes, and bring the database back on its server as of a moment before'
const backupTools = 'point-in-time recovery by the provider, WAL-G or pgBackRest, or else pg_dump -Fc'

const whenNoted = {
  settings: 'have an administrator grant pg_read_all_settings to the role',
  'audit log': 'find out who could write to the database, and hold it to a backup',
  backup: `see there that one is made, and restored now and then: ${backupTools}`,
}

/** What there is to do on a server: about a file it is something else. */
export const remedies: Remedies = {
  whenNoted,
  whenBad: { ...whenNoted, schema: fromBackup, integrity: fromBackup, orphans: fromBackup },
}
