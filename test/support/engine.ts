import { describe, test } from 'bun:test'

const given = process.env.TEST_ENGINE ?? 'embedded'
if (!['embedded', 'postgres'].includes(given)) throw new Error(`TEST_ENGINE: there is no engine ${given}`)

/** True if tests run on PostgreSQL (TEST_ENGINE=postgres) instead of a file. */
export const isOnPostgres = given === 'postgres'

/** For tests that make sense only for a database file. */
export const testOfFile = test.skipIf(isOnPostgres)
export const describeOfFile = describe.skipIf(isOnPostgres)
