import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// Prints the files of src and db whose code runs during a call. A file counts if two calls run more of its lines than
// one call.
// Run it with `bun test/bench/entered.ts`.
const goals = { PAGES: ['a warm page of search', 15], BOOKINGS: ['a booking', 45] } as const

async function runsByFile(call: string, times: number): Promise<Map<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'entered-'))
  const words = ['test', '--coverage', '--coverage-reporter=lcov', `--coverage-dir=${folder}`]
  const { exitCode } = Bun.spawnSync([process.execPath, ...words, './test/bench/entered-calls.ts'], {
    cwd: join(import.meta.dir, '../..'),
    env: { ...process.env, [call]: String(times) },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  if (exitCode !== 0)
    throw new Error('the calls failed; run bun test ./test/bench/entered-calls.ts to see why')
  const runs = new Map<string, number>()
  for (const record of (await Bun.file(join(folder, 'lcov.info')).text()).split('end_of_record')) {
    const file = /^SF:(.+)$/m.exec(record)?.[1]
    const counts = [...record.matchAll(/^DA:\d+,(\d+)/gm)].map(([, count]) => Number(count))
    if (file)
      runs.set(
        file,
        counts.reduce((sum, count) => sum + count, 0),
      )
  }
  rmSync(folder, { recursive: true })
  return runs
}

for (const [call, [name, goal]] of Object.entries(goals)) {
  const [fewer, more] = [await runsByFile(call, 1), await runsByFile(call, 2)]
  const entered = [...more].filter(
    ([file, runs]) => /^(src|db)\//.test(file) && runs !== (fewer.get(file) ?? 0),
  )
  console.log(`${name} enters ${entered.length} files (goal: at most ${goal})`)
  for (const [file] of entered.toSorted()) console.log(`  ${file}`)
}
