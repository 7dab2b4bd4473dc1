import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'

const root = new URL('..', import.meta.url).pathname
const readme = readFileSync(`${root}README.md`, 'utf8')

test('README leads to files and sections that are there', () => {
  const links = [...readme.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
  const slug = (title: string) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-')
  const sections = new Set([...readme.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => `#${slug(title)}`))
  const missing = links.filter((target) => {
    if (/^https?:/.test(target)) return false
    return target.startsWith('#') ? !sections.has(target) : !existsSync(root + target)
  })
  expect(links.length).toBeGreaterThan(20)
  expect(missing).toEqual([])
})

test('every threat in it names what holds it off', () => {
  const [, security = ''] = readme.split('\n## Security\n')
  const rows = security.split('\n## ')[0]?.match(/^\| (?!---|Threat).*$/gm) ?? []
  expect(rows.length).toBeGreaterThan(10)
  expect(rows.filter((row) => !/\]\(test\/[\w/-]+\.test\.ts\)/.test(row))).toEqual([])
})
