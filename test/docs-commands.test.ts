import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Folder, theProgram } from './support/process'

// The commands of the pages, run as they are written. Those of a page of docs/ are one script, which ends at the first that
// fails; it goes on from where docs/operating.md ends, beside the service, as that page says.

const root = new URL('..', import.meta.url).pathname
const operating = 'docs/operating.md'
/** The commands of each block of a page that is for a shell. */
function blocksOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, commands = '']) => commands)
}
const scriptOf = (page: string) => blocksOf(page).join('\n')
const pages = readdirSync(join(root, 'docs'))
  .map((name) => `docs/${name}`)
  .filter((page) => page.endsWith('.md') && page !== operating && scriptOf(page) !== '')

const folder = new Folder()
const bin = folder.file('bin')
const home = folder.file('home')
/** Where the operating page was run to its end. */
const practice = folder.file('practice')

beforeAll(async () => {
  for (const path of [bin, home, practice]) mkdirSync(path)
  writeFileSync(join(bin, 'anteroom'), `#!/bin/sh\nexec ${theProgram.join(' ')} "$@"\n`, { mode: 0o755 })
  const { code, output } = await run(scriptOf(operating), practice)
  if (code !== 0) throw new Error(`${operating} ended with ${code}:\n${output}`)
}, 60_000)

afterAll(() => folder[Symbol.dispose]())

/** A port that nobody listens on: the pages name 8080, which somebody may. */
function freePort(): number {
  using server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
  return server.port as number
}

async function run(script: string, cwd: string, env: Record<string, string> = {}) {
  // What a page leaves running ends with its shell.
  const shell = `set -euo pipefail
trap 'kill "$service" $(jobs -p) 2>/dev/null || true' EXIT
service=
${script.replaceAll('8080', String(freePort()))}`
  const child = Bun.spawn(['bash', '-c', shell], {
    cwd,
    env: { PATH: `${bin}:${process.env.PATH}`, HOME: home, TMPDIR: folder.path, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: 55_000,
  })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  await child.exited
  return { code: child.exitCode, output: `${stdout}\n${stderr}` }
}

/** Runs commands in a copy of what the operating page leaves. */
function practise(script: string, name: string) {
  const cwd = folder.file(name)
  cpSync(practice, cwd, { recursive: true })
  // A service that is no job of the shell's, since the page may count its own.
  const beside = `rm -f serve.log
anteroom serve --base-url https://api.example.org --port 8080 > serve.log 2>&1 & service=$!
disown
until [ -s serve.log ]; do sleep 0.1; done`
  const isServing = script.includes('anteroom serve')
  const whole = isServing ? script : `${beside}\n${script}`
  return run(whole, cwd, { ANTEROOM_DATABASE: join(cwd, 'anteroom.sqlite') })
}

test('the operating page ends with a booking', async () => {
  const { output } = await practise('anteroom request list', 'booked')
  expect(output).toContain('booking  pending')
})

test('commands of a page that fail are found', async () => {
  const { code } = await practise('anteroom request show 99\nanteroom request list', 'failing')
  expect(code).toBe(3)
})

test('there are pages whose commands are run', () => {
  expect(pages.length).toBeGreaterThan(9)
})

test.concurrent.each(pages)(
  'the commands of %s do what they say',
  async (page) => {
    const { code, output } = await practise(scriptOf(page), page.replaceAll(/\W/g, '-'))
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
  },
  60_000,
)

// A clone's own commands are npm's, which not everybody has who has Bun.
const ofReadme = blocksOf('README.md').filter((block) => Bun.which('npm') || !/^npm /m.test(block))

test.concurrent.each(ofReadme.map((block, index) => [index + 1, block] as const))(
  'block %d of the README does what it says',
  async (_, block) => {
    const { code, output } = await run(block, root)
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
  },
  60_000,
)
