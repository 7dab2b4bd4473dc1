import { expect, setDefaultTimeout } from 'bun:test'
import { blocksOf, PageCommands, scriptOf } from './support/page-commands'
import { startPostgres } from './support/postgres'
import { testOnPostgres } from './support/postgres-databases'

// Runs the commands of the page about PostgreSQL as they are written, on an empty server.

setDefaultTimeout(300_000)

const page = 'docs/beyond-one-machine.md'

testOnPostgres(
  'docs: the commands of beyond-one-machine.md start two and four nodes on PostgreSQL, and move a database there and back',
  async () => {
    using commands = new PageCommands()
    await commands.begin()
    // doctor complains about a server without fsync.
    await using server = await startPostgres({ fsync: true, password: 'of the administrator' })
    const statements = blocksOf(page, 'sql').join('').split(/;\n/).filter(Boolean)
    expect(statements.length).toBe(4)
    for (const statement of statements)
      await server.run(statement, /^CREATE (ROLE|DATABASE)/.test(statement) ? 'postgres' : 'anteroom')
    const script = scriptOf(page).replaceAll('127.0.0.1:5432', `127.0.0.1:${server.port}`)
    const { code, output } = await commands.runInCopy(script, 'beyond')
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
    expect(output).toMatch(/service +up, 2 of 2 servers\n/)
    expect(output).toMatch(/^ *1 201\n *3 400\n/m)
    expect(output).toMatch(/service +up, 4 of 4 servers\n/)
  },
)
