import { describe, test } from 'bun:test'

const given = process.env.TEST_ENGINE ?? 'embedded'
if (!['embedded', 'postgres'].includes(given)) throw new Error(`TEST_ENGINE: there is no engine ${given}`)

/** Whether services and commands of tests run on PostgreSQL, as TEST_ENGINE=postgres has it, and not on a file. */
export const isOnPostgres = given === 'postgres'

/** Tests of what is so by nature of a database in a file; where the other engine runs they are skipped, and counted so. */
export const testOfFile = test.skipIf(isOnPostgres)
export const describeOfFile = describe.skipIf(isOnPostgres)
