import { unusable } from '../../findings/unusable'
import type { Connection } from '../client/connection'

const facts = `SELECT
  current_user,
  quote_ident(current_user),
  coalesce(has_schema_privilege(to_regnamespace('public')::oid, 'CREATE'), false),
  EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'btree_gist'),
  EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'btree_gist'),
  (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) OR (
    has_database_privilege(current_database(), 'CREATE')
    AND EXISTS (SELECT 1 FROM pg_available_extension_versions WHERE name = 'btree_gist' AND trusted))`

type Facts = [role: string, quoted: string, ...may: boolean[]]

/**
 * Holds the role to have the rights by which the tables are made.
 *
 * @throws Refusal database_unusable with what the server's administrator has to run
 */
export async function requireRights(connection: Connection): Promise<void> {
  const [row] = await connection.run(facts, [])
  const [role, quoted, mayMakeTables, hasExtension, isAvailable, mayExtend] = row as unknown as Facts
  const ask = "have the server's administrator run, in this database:"
  if (!mayMakeTables)
    throw unusable(
      `${role} may not make tables in the schema public: ${ask} GRANT CREATE ON SCHEMA public TO ${quoted}`,
    )
  if (hasExtension) return
  if (!isAvailable)
    throw unusable(
      "the server has no extension btree_gist: have its administrator install PostgreSQL's contrib package",
    )
  if (!mayExtend)
    throw unusable(`${role} may not create the extension btree_gist: ${ask} CREATE EXTENSION btree_gist`)
}
