import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import { dependencies, devDependencies, optionalDependencies } from '../package.json'
import { exitCodes } from '../src/cli/exit-code'
import { createProgram } from '../src/cli/program'
import { slotReasons } from '../src/operations/explain-slot'
import { settings } from '../src/settings'

const root = new URL('..', import.meta.url).pathname
const pages = [
  'README.md',
  ...readdirSync(`${root}docs`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const textOf = (page: string) => readFileSync(join(root, page), 'utf8')

/** What a page's headings are called in links. */
function sectionsOf(page: string): Set<string> {
  const prose = textOf(page).replaceAll(/^```[\s\S]*?^```/gm, '')
  const titles = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => title)
  return new Set(
    titles.map((title) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
}

test('docs: every link of a page leads to an existing file and section', () => {
  const missing = pages.flatMap((page) => {
    const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
    return links.filter((target) => {
      if (/^https?:/.test(target)) return false
      const [path, section] = target.split('#')
      const file = path ? join(dirname(page), path) : page
      return !existsSync(join(root, file)) || (section !== undefined && !sectionsOf(file).has(section))
    })
  })
  expect(pages.length).toBeGreaterThan(15)
  expect(missing).toEqual([])
})

test('docs: README links to every page', () => {
  const readme = textOf('README.md')
  expect(pages.filter((page) => page !== 'README.md' && !readme.includes(`(${page}`))).toEqual([])
})

test('docs: README has fewer than 150 lines', () => {
  expect(textOf('README.md').split('\n').length).toBeLessThan(150)
})

test('docs: every threat in the security page links to a test', () => {
  const [, table = ''] = textOf('docs/security.md').split('| Threat')
  const rows = table.split('\n\n')[0]?.match(/^\| (?!---).*$/gm) ?? []
  expect(rows.length).toBeGreaterThan(10)
  expect(rows.filter((row) => !/\]\(\.\.\/test\/[\w./-]+\.test\.ts\)/.test(row))).toEqual([])
})

/** The first words of what an operator does as root on a machine of their own. */
const onTheMachine =
  /^(install|useradd|runuser|systemctl (?!list)|systemd-|printf|mkdir|mv|rm|echo|last=|cd|as_service |nginx)/

test('docs: every command for a machine is run in the same words by the machine tests', () => {
  const whole = (text: string) => text.replaceAll(/\\\n\s*/g, '')
  // Two nodes on one machine have ports of their own.
  const ofNodes = textOf('test/deploy/nodes-in-machine.sh').replaceAll('@8081', '@8080')
  const tried = whole(textOf('test/deploy/in-machine.sh') + ofNodes)
  const pages = ['deploying', 'restoring', 'upgrading', 'beyond-one-machine'].map((page) => `docs/${page}.md`)
  const told = pages.flatMap((page) => {
    // What was not done there is said to be so.
    const prose = textOf(page).replaceAll(/^## (In a container)\n[\s\S]*?(?=^## )/gm, '')
    const blocks = [...prose.matchAll(/^```console\n([\s\S]*?)^```/gm)].map(([, block = '']) => whole(block))
    return blocks.flatMap((block) => block.split('\n').map((line) => line.trim())).filter(Boolean)
  })
  const lines = told.filter((line) => onTheMachine.test(line) && line !== 'as_service() {')
  expect(lines.length).toBeGreaterThan(40)
  expect(lines.filter((line) => !tried.includes(line))).toEqual([])
})

test('docs: every metric is documented', () => {
  const [, table = ''] = textOf('docs/metrics.md').split('## What is told')
  const firstColumn = table.split('## Alerts')[0]?.match(/^\| `.*? \|/gm) ?? []
  const told = firstColumn.flatMap((cell) => Array.from(cell.matchAll(/`(\w+)`/g), ([, name = '']) => name))
  const source = ['listening/metrics', 'request-measures']
    .map((name) => textOf(`src/http/${name}.ts`))
    .join('\n')
  const named = Array.from(source.matchAll(/'((?:anteroom|process)_\w+)'/g), ([, name = '']) => name)
  expect(named.length).toBeGreaterThan(20)
  // Of an instant, the source names what happened then.
  expect(told.map((name) => name.replace('_timestamp_seconds', '')).sort()).toEqual(
    [...new Set(named)].map((name) => name.replace('_timestamp_seconds', '')).sort(),
  )
})

test('docs: every alert links to a section that says what to do', () => {
  const rules = textOf('deploy/prometheus/anteroom-rules.yml')
  const names = Array.from(rules.matchAll(/- alert: (\w+)/g), ([, name = '']) => name)
  const runbooks = Array.from(
    rules.matchAll(/runbook: docs\/metrics\.md#(\w+)/g),
    ([, section = '']) => section,
  )
  expect(runbooks).toEqual(names.map((name) => name.toLowerCase()))
  const sections = sectionsOf('docs/metrics.md')
  expect(runbooks.filter((section) => !sections.has(section))).toEqual([])
})

test('docs: every dependency has a documented reason', () => {
  const reasonsIn = (page: string) => {
    const [, section = ''] = textOf(page).split('## Dependencies')
    const cells = section.match(/^\| `.*? \|/gm) ?? []
    return cells.flatMap((cell) => Array.from(cell.matchAll(/`(.+?)`/g), ([, name]) => name)).sort()
  }
  expect(reasonsIn('README.md')).toEqual(Object.keys(dependencies).sort())
  const ofDevelopment = Object.keys({ ...devDependencies, ...optionalDependencies }).sort()
  expect(reasonsIn('docs/architecture.md')).toEqual(ofDevelopment)
})

test('docs: every command is documented', async () => {
  const commands = textOf('docs/commands.md')
  const program = await createProgram()
  const names = listed(program).flatMap((command) =>
    command.commands.length === 0
      ? [command.name()]
      : listed(command).map((below) => `${command.name()} ${below.name()}`),
  )
  expect(names.length).toBeGreaterThan(30)
  expect(names.filter((name) => !commands.includes(`\`${name}`))).toEqual([])
})

test('docs: every setting and every exit code is documented', () => {
  const [named = '', codes = ''] = textOf('docs/settings.md').split('## Exit codes')
  const all = [...Object.values(settings).map(({ variable }) => variable), 'ANTEROOM_MASTER_KEY']
  expect(all.filter((variable) => !named.includes(`| \`${variable}\``))).toEqual([])
  const told = Array.from(codes.matchAll(/^\| (\d) /gm), ([, code]) => Number(code))
  expect(told).toEqual(Object.values(exitCodes))
})

test('docs: every reason why a slot is not offered is documented, in the order of the checks', () => {
  const firstColumn = textOf('docs/slots.md').match(/^\| `.*? \|/gm) ?? []
  const told = firstColumn.flatMap((cell) => Array.from(cell.matchAll(/`(\w+)`/g), ([, reason]) => reason))
  expect(told).toEqual([...slotReasons])
})

/** The commands below one that its help lists, but for help itself. */
function listed(command: Command): Command[] {
  return [...command.createHelp().visibleCommands(command)].filter((below) => below.name() !== 'help')
}
