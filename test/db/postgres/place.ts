import { serverDatabase } from '../../../db/postgres/database'
import type { Opened } from '../../../src/domain/ports/database'
import { masterKeyOf } from '../../../src/vault/vault'
import { type ActingStore, withActs } from '../../support/acts'
import { runSql } from '../../support/postgres'
import { newDatabase } from '../../support/postgres-databases'
import type { Place } from '../furniture'
import { testKey } from '../place'

/** Opens the engine on a database, which is created if it does not exist. */
export async function openPostgresEngine(url: string): Promise<Opened & { readonly store: ActingStore }> {
  const engine = await serverDatabase(url, { password: null, passFile: null }).open({
    ...{ purpose: 'sandbox', create: true, upgrade: false, alone: false },
    takeKey: async () => masterKeyOf(testKey),
  })
  return { ...engine, store: withActs(engine) }
}

/** A new, empty database with the program's schema. */
export async function openPostgresPlace(): Promise<Place & { readonly url: string }> {
  const fill = async (url: string) => (await openPostgresEngine(url)).close()
  const database = await newDatabase({ name: 'anteroom', fill })
  const { url } = database
  const open: Opened[] = []
  const openOne = async (target = url) => {
    const engine = await openPostgresEngine(target)
    open.push(engine)
    return engine
  }
  return {
    ...(await openOne()),
    url,
    freeTarget: null,
    openAgain: openOne,
    async forgetChanges() {
      // Keeps two rows. A reader needs the row of the last version that it read.
      const oldest = 'SELECT version FROM changes ORDER BY version DESC OFFSET 1 LIMIT 1'
      await runSql(url, `DELETE FROM changes WHERE version < (${oldest})`)
    },
    async beginRenaming(id, firstName) {
      const rename = `UPDATE providers SET first_name = '${firstName}' WHERE id = ${id}`
      const note = `INSERT INTO changes (noun, record_id) VALUES ('provider', ${id})`
      return async () => void (await runSql(url, `BEGIN; ${rename}; ${note}; COMMIT`))
    },
    async [Symbol.asyncDispose]() {
      for (const one of open) await one.close()
      await database.drop()
    },
  }
}
