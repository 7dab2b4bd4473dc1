import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { dependencies, devDependencies, optionalDependencies } from '../package.json'
import { exitCodes } from '../src/cli/exit-code'
import { errorCodes } from '../src/http/errors'
import { slotReasons } from '../src/operations/explain-slot'
import { minuteMillis } from '../src/scheduling/calendar'
import { formatLocal } from '../src/scheduling/time-zone'
import { settings } from '../src/settings'
import { builtInZones } from '../src/zones/packed'

const root = new URL('..', import.meta.url).pathname
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(`${root}docs`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const textOf = (page: string) => readFileSync(join(root, page), 'utf8')

/** The anchors of a page's headings. */
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

test('docs: the example of local times in the guide is true for the built-in zones', () => {
  const [, example = ''] = /^An example: (.*?)Try it/ms.exec(textOf('docs/integrating.md')) ?? []
  const starts = [...example.matchAll(/`(\d[\dT:-]+Z)`/g)].map(([, at = '']) => Date.parse(at) / minuteMillis)
  const zones = { 'America/Toronto': example, 'America/Chicago': example.slice(example.indexOf('Chicago')) }
  for (const [name, text] of Object.entries(zones)) {
    expect(example).toContain(name.replace('America/', ''))
    const zone = builtInZones().find(name)
    if (!zone) throw new Error(`no zone ${name}`)
    const [, time] = /(\d\d:\d\d)/.exec(text) ?? []
    expect(starts.map((at) => formatLocal(zone, at))).toEqual([
      `Fri 2027-03-12 ${time}`,
      `Mon 2027-03-15 ${time}`,
    ])
  }
})

test('docs: README links to every page', () => {
  const readme = textOf('README.md')
  expect(pages.filter((page) => page !== 'README.md' && !readme.includes(`(${page}`))).toEqual([])
})

test('docs: README has at most 110 lines, and docs/ at most 18 pages with 2,250 lines altogether', () => {
  const linesOf = (page: string) => textOf(page).trimEnd().split('\n').length
  const inDocs = pages.filter((page) => page.startsWith('docs/'))
  expect(linesOf('README.md')).toBeLessThanOrEqual(110)
  expect(inDocs.length).toBeLessThanOrEqual(18)
  expect(inDocs.reduce((sum, page) => sum + linesOf(page), 0)).toBeLessThanOrEqual(2_250)
})

test('docs: every threat in the security page links to a test', () => {
  const [, table = ''] = textOf('docs/security.md').split('| Threat')
  const rows = table.split('\n\n')[0]?.match(/^\| (?!---).*$/gm) ?? []
  expect(rows.length).toBeGreaterThan(10)
  expect(rows.filter((row) => !/\]\(\.\.\/test\/[\w./-]+\.test\.ts\)/.test(row))).toEqual([])
})

/** Matches the first words of the commands that an operator runs as root on a server machine. */
const onTheMachine =
  /^(install|useradd|runuser|systemctl (?!list)|systemd-|printf|mkdir|mv|rm|echo|last=|cd|as_service |nginx)/

test('docs: every command for a server machine occurs in the same words in the scripts of test/deploy', () => {
  const whole = (text: string) => text.replaceAll(/\\\n\s*/g, '')
  // nodes-in-machine.sh runs two nodes on one machine, so the first node has port 8081 instead of 8080.
  const ofNodes = textOf('test/deploy/nodes-in-machine.sh').replaceAll('@8081', '@8080')
  // The scripts cannot answer questions, so they use --yes and no terminal.
  const tried = whole(textOf('test/deploy/in-machine.sh') + ofNodes).replaceAll(' --yes', '')
  const pages = ['deploying', 'keeping-data', 'beyond-one-machine'].map((page) => `docs/${page}.md`)
  const written = pages.flatMap((page) => {
    const [prose = ''] = textOf(page).split('## In a container')
    const blocks = [...prose.matchAll(/^```console\n([\s\S]*?)^```/gm)].map(([, block = '']) => whole(block))
    return blocks.flatMap((block) => block.split('\n').map((line) => line.trim())).filter(Boolean)
  })
  const lines = written
    .filter((line) => onTheMachine.test(line) && line !== 'as_service() {')
    .map((line) => line.replace('systemd-run --quiet -t ', 'systemd-run --quiet --pipe '))
  expect(lines.length).toBeGreaterThan(40)
  expect(lines.filter((line) => !tried.includes(line))).toEqual([])
})

test('docs: every metric is documented', () => {
  const [, section = ''] = textOf('docs/monitoring.md').split('## Metrics')
  const firstColumn = section.split('## Alerts')[0]?.match(/^\| `.*? \|/gm) ?? []
  const documented = firstColumn.flatMap((cell) =>
    Array.from(cell.matchAll(/`(\w+)`/g), ([, name = '']) => name),
  )
  const source = ['listening/metrics', 'request-measures']
    .map((name) => textOf(`src/http/${name}.ts`))
    .join('\n')
  const named = Array.from(source.matchAll(/'((?:anteroom|process)_\w+)'/g), ([, name = '']) => name)
  expect(named.length).toBeGreaterThan(20)
  // The source code adds the suffix _timestamp_seconds to some names at runtime.
  expect(documented.map((name) => name.replace('_timestamp_seconds', '')).sort()).toEqual(
    [...new Set(named)].map((name) => name.replace('_timestamp_seconds', '')).sort(),
  )
})

test('docs: every alert has a row in the table of alerts, and every alert rule links to that table', () => {
  const rules = textOf('deploy/prometheus/anteroom-rules.yml')
  const alerts = Array.from(rules.matchAll(/- alert: (\w+)/g), ([, name = '']) => name)
  const [, table = ''] = textOf('docs/monitoring.md').split('## Alerts')
  const rows = Array.from(table.matchAll(/^\| (Anteroom\w+) \|/gm), ([, name = '']) => name)
  expect(rows.sort()).toEqual(alerts.sort())
  const runbooks = Array.from(rules.matchAll(/runbook: (\S+)/g), ([, link]) => link)
  expect(runbooks).toEqual(alerts.map(() => 'docs/monitoring.md#alerts'))
})

test('docs: every dependency has a documented reason', () => {
  const [, section = ''] = textOf('docs/architecture.md').split('## Dependencies')
  const cells = section.split('## ')[0]?.match(/^\| `.*? \|/gm) ?? []
  const documented = cells.flatMap((cell) => Array.from(cell.matchAll(/`(.+?)`/g), ([, name]) => name))
  const installed = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })
  expect(documented.sort()).toEqual(installed.sort())
})

test('docs: every setting and every exit code is documented', () => {
  const [named = '', codes = ''] = textOf('docs/settings.md').split('## Exit codes')
  const all = [...Object.values(settings).map(({ variable }) => variable), 'ANTEROOM_MASTER_KEY']
  expect(all.filter((variable) => !named.includes(`| \`${variable}\``))).toEqual([])
  const documented = Array.from(codes.matchAll(/^\| (\d) /gm), ([, code]) => Number(code))
  expect(documented).toEqual(Object.values(exitCodes))
})

test('docs: every error code is in one group of the guide for partners', () => {
  const [, section = ''] = textOf('docs/integrating.md').split('## Errors')
  const groups = section.split('## ')[0]?.match(/^\| \*\*.*$/gm) ?? []
  const documented = groups.flatMap((row) =>
    Array.from(row.split(' | ')[1]?.matchAll(/`(\w+)`/g) ?? [], ([, code = '']) => code),
  )
  expect(new Set(documented).size).toBe(documented.length)
  expect(Object.keys(errorCodes).filter((code) => !documented.includes(code))).toEqual([])
})

test('docs: every reason why a slot is not offered is documented, in the order of the checks', () => {
  const [, section = ''] = textOf('docs/directory.md').split('## Why a slot is not offered')
  const firstColumn = section.match(/^\| `.*? \|/gm) ?? []
  const documented = firstColumn.flatMap((cell) =>
    Array.from(cell.matchAll(/`(\w+)`/g), ([, reason]) => reason),
  )
  expect(documented).toEqual([...slotReasons])
})
