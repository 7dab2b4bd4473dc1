import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { blocksOf, operating, PageCommands, root, scriptOf } from './support/page-commands'

// The commands of the pages, run as they are written. Those of a page of docs/ are one script, which ends at the first that
// fails; it goes on from where docs/operating.md ends, beside the service, as that page says.

// What takes a PostgreSQL server is told by test/docs-on-postgres.system.test.ts.
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

// A clone's own commands are npm's, which not everybody has who has Bun.
const ofReadme = blocksOf('README.md').filter((block) => Bun.which('npm') || !/^npm /m.test(block))

test.concurrent.each(ofReadme.map((block, index) => [index + 1, block] as const))(
  'docs: block %d of the README succeeds',
  async (_, block) => {
    const { code, output } = await commands.run(block, root)
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
  },
  300_000,
)
