// `npm run test:all` runs the tests that `npm test` leaves out, in several runs. A failed run does not stop the next
// run.
// With arguments, for example `npm run test:all -- test/cli`, there is a single run. It tests the files whose paths
// contain an argument.
import { whyNoPostgres } from './support/postgres-programs'

const onPostgres = ['test/contract/', 'test/http/', 'test/operations/', 'test/races/']
const runs: [title: string, words: string[], env?: Record<string, string>][] = [
  ['tests of running programs', ['--parallel=4', '.system.test']],
  ['timing tests, one file at a time', ['.timing.test']],
]
if (whyNoPostgres() === null) {
  runs.push(['the contract on PostgreSQL', ['--parallel=4', ...onPostgres], { TEST_ENGINE: 'postgres' }])
}

const given = process.argv.slice(2)
let failed = false
for (const [title, words, env] of given.length > 0 ? [['chosen tests', given] as const] : runs) {
  console.log(`== ${title}`)
  const command = [
    process.execPath,
    'test',
    '--config=test/all.toml',
    '--only-failures',
    '--timeout=300000',
    ...words,
  ]
  const { exitCode } = Bun.spawnSync(command, {
    env: { ...process.env, ...env },
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  failed ||= exitCode !== 0
}
process.exitCode = failed ? 1 : 0
