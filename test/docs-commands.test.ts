import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Folder, theProgram } from './support/process'

// The commands of the pages, run as they are written: each page's in one shell that ends at the first that fails. Those of
// docs/ go on from where docs/operating.md ends, as that page says.

const root = new URL('..', import.meta.url).pathname
const operating = 'docs/operating.md'
const pages = ['README.md', ...readdirSync(`${root}docs`).map((name) => `docs/${name}`)].filter((page) =>
  page.endsWith('.md'),
)
/** What is in the blocks of a page that are for a shell, each behind a line that says where it stands. */
function scriptOf(page: string): string {
  const text = readFileSync(join(root, page), 'utf8')
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)]
  return blocks.map(([, commands]) => commands).join('\n')
}
const withCommands = pages.filter((page) => page !== operating && scriptOf(page) !== '')

const folder = new Folder()
const bin = folder.file('bin')
const home = folder.file('home')
/** Where the operating page was run to its end. */
const practice = folder.file('practice')

beforeAll(async () => {
  for (const path of [bin, home, practice]) mkdirSync(path)
  writeFileSync(join(bin, 'anteroom'), `#!/bin/sh\nexec ${theProgram.join(' ')} "$@"\n`, { mode: 0o755 })
  const { code, output } = await run(operating, practice)
  if (code !== 0) throw new Error(`${operating} ended with ${code}:\n${output}`)
}, 60_000)

afterAll(() => folder[Symbol.dispose]())

/** A port that nobody listens on: the pages name 8080, which somebody may. */
function freePort(): number {
  using server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
  return server.port as number
}

async function run(page: string, cwd: string): Promise<{ code: number | null; output: string }> {
  const script = scriptOf(page).replaceAll('8080', String(freePort()))
  // What a page leaves running ends with its shell.
  const shell = `set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${script}`
  const child = Bun.spawn(['bash', '-c', shell], {
    cwd,
    env: {
      PATH: `${bin}:${process.env.PATH}`,
      HOME: home,
      TMPDIR: folder.path,
      ...(page !== operating && page !== 'README.md' && { ANTEROOM_DATABASE: join(cwd, 'anteroom.sqlite') }),
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: 55_000,
  })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  await child.exited
  return { code: child.exitCode, output: `${stdout}\n${stderr}` }
}

test('the operating page ends with a booking', () => {
  const { stdout } = Bun.spawnSync([join(bin, 'anteroom'), 'request', 'list', '--json'], {
    cwd: practice,
    env: { ANTEROOM_DATABASE: join(practice, 'anteroom.sqlite') },
  })
  expect(String(stdout)).toContain('booking request')
})

test.each(withCommands)(
  'the commands of %s do what they say',
  async (page) => {
    const cwd = folder.file(page.replaceAll(/\W/g, '-'))
    if (page === 'README.md') cpSync(root, cwd, { recursive: true, filter: isOfTheProject })
    else cpSync(practice, cwd, { recursive: true })
    const { code, output } = await run(page, cwd)
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
  },
  60_000,
)

/** What a clone has, and the dependencies beside it. */
function isOfTheProject(path: string): boolean {
  return !/\/(dist|\.git)$/.test(path)
}
