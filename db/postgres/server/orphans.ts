import type { Finding } from '../../../src/domain/upkeep'
import { finding } from '../../findings/findings'
import type { Connection } from '../client/connection'

/** For each foreign key the statement that counts its violations: rows written while the keys were not in force. */
const counts = `SELECT format('SELECT count(*) FROM %s AS child WHERE child.%I IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM %s AS parent WHERE parent.%I = child.%I)',
    conrelid::regclass, own.attname, confrelid::regclass, other.attname, own.attname)
  FROM pg_constraint
  JOIN pg_attribute AS own ON own.attrelid = conrelid AND own.attnum = conkey[1]
  JOIN pg_attribute AS other ON other.attrelid = confrelid AND other.attnum = confkey[1]
  WHERE contype = 'f' AND connamespace = 'public'::regnamespace`

export async function orphansFinding(connection: Connection): Promise<Finding> {
  let orphans = 0
  for (const [count] of await connection.run(counts, [])) {
    const [row] = await connection.run(count as string, [])
    orphans += Number(row?.[0])
  }
  return finding('orphans', orphans > 0 && `${orphans} records point at nothing`, 'none')
}
