import { expect, test } from 'bun:test'
import { chmodSync, chownSync } from 'node:fs'
import { Operator } from '../support/operator'
import { theProgram } from '../support/process'

const isRoot = process.geteuid?.() === 0

test.skipIf(!isRoot)(
  'files: the error for a database in a folder that is not writable names the folder as the cause',
  async () => {
    using operator = new Operator()
    await operator.do('init')
    for (const path of [operator.database, `${operator.database}.key`]) chownSync(path, 65534, 65534)
    chmodSync(operator.folder.path, 0o755)
    const program = [...theProgram, 'partner', 'list', '--database', operator.database]
    const child = Bun.spawnSync(['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', ...program])
    expect([child.exitCode, child.stderr.toString()]).toEqual([
      6,
      `error: the database ${operator.database} cannot be written: its folder is not writable\n`,
    ])
  },
)
