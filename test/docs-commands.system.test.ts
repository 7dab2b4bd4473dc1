import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { blocksOf, operating, PageCommands, root, scriptOf } from './support/page-commands'

// Runs the commands of each page as one script. The script ends at the first failing command. It starts in a folder
// where the commands of docs/operating.md were run before. The service of that page is still running.

// test/docs-on-postgres.system.test.ts runs the page that needs a PostgreSQL server.
const others = [operating, 'docs/beyond-one-machine.md']
const pages = readdirSync(join(root, 'docs'))
  .map((name) => `docs/${name}`)
  .filter((page) => page.endsWith('.md') && !others.includes(page) && scriptOf(page) !== '')

const commands = new PageCommands()
beforeAll(() => commands.begin(), 300_000)
afterAll(() => commands[Symbol.dispose]())

test('docs: the commands of the operating page end with a booking', async () => {
  const { output } = await commands.runInCopy('anteroom request list', 'booked')
  expect(output).toContain('booking  pending')
})

test('docs: a failing command of a page is detected', async () => {
  const { code } = await commands.runInCopy('anteroom request show 99\nanteroom request list', 'failing')
  expect(code).toBe(3)
})

test('docs: at least ten pages contain commands to run', () => {
  expect(pages.length).toBeGreaterThan(9)
})

test.concurrent.each(pages)(
  'docs: the commands of %s succeed',
  async (page) => {
    const { code, output } = await commands.runInCopy(scriptOf(page), page.replaceAll(/\W/g, '-'))
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
  },
  300_000,
)

// If npm is not installed, blocks that need npm are left out.
const ofReadme = blocksOf('README.md').filter((block) => Bun.which('npm') || !/^npm /m.test(block))

test.concurrent.each(ofReadme.map((block, index) => [index + 1, block] as const))(
  'docs: block %d of the README succeeds',
  async (_, block) => {
    const { code, output } = await commands.run(block, root)
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
  },
  300_000,
)

// The console blocks are not run here: `npm test` would run this test again, and the next test runs `npm start`.
test('docs: the console blocks of the README contain only npm start and npm test', () => {
  expect(blocksOf('README.md', 'console').join('')).toBe('npm start\nnpm test\n')
})

const isPortTaken = await fetch('http://127.0.0.1:8080/', { redirect: 'manual' }).then(
  () => true,
  () => false,
)

test.skipIf(isPortTaken || !Bun.which('npm'))(
  'docs: npm start, as the README shows it, serves the documentation at http://127.0.0.1:8080',
  async () => {
    const script = `cd '${root}'
npm start > "$TMPDIR/start.txt" 2>&1 &
for _ in $(seq 600); do grep -q 'curl' "$TMPDIR/start.txt" && break; sleep 0.1; done
curl -sfL http://127.0.0.1:$((8000 + 80))/
kill %1`
    const { code, output } = await commands.run(script, root)
    expect([code, output.includes('swagger')]).toEqual([0, true])
  },
  300_000,
)
