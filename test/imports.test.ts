import { expect, test } from 'bun:test'
import { Glob } from 'bun'

// The import rule of the README: who may import whom, and which package has which home.
const mayImport: Record<string, readonly string[]> = {
  'src/scheduling': [],
  'src/domain': ['src/scheduling'],
  'src/zones': ['src/domain', 'src/scheduling'],
  'src/vault': ['src/domain', 'src/scheduling'],
  'src/auth': ['src/domain', 'src/scheduling'],
  'src/directory': ['src/domain', 'src/scheduling'],
  'src/directory-files': ['src/domain', 'src/scheduling', 'fixtures'],
  'src/operations': ['src/domain', 'src/scheduling', 'src/directory', 'src/directory-files', 'src/auth'],
  'db/sqlite': ['src/domain', 'src/scheduling'],
  'src/http': ['src/operations', 'src/domain', 'src/scheduling', 'src/auth'],
  'src/cli': [
    'src/operations',
    'src/directory-files',
    'src/domain',
    'src/scheduling',
    'src/http',
    'src/config.ts',
    'src/service.ts',
    'package.json',
  ],
  'src/config.ts': ['src/domain'],
  'src/service.ts': ['src', 'db/sqlite'],
  'src/production.ts': [],
  'src/main.ts': ['src/cli', 'src/production.ts'],
}

const homes: Record<string, readonly string[]> = {
  elysia: ['src/http'],
  '@elysiajs/bearer': ['src/http'],
  '@elysiajs/swagger': ['src/http'],
  'swagger-ui-dist': ['src/http'],
  '@sinclair/typebox': ['src/domain', 'src/directory-files', 'src/http'],
  'drizzle-orm': ['db/sqlite'],
  'bun:sqlite': ['db/sqlite'],
  jose: ['src/auth'],
  'node:crypto': ['src/vault', 'src/auth'],
  'temporal-polyfill': ['src/scheduling', 'src/domain'],
  'moment-timezone': ['src/zones'],
  'bcp-47': ['src/domain'],
  'iso-3166': ['src/domain'],
  commander: ['src/cli'],
  'csv-parse': ['src/directory-files'],
  'csv-stringify': ['src/directory-files'],
  'node:fs': ['src/cli', 'src/service.ts', 'src/vault', 'src/zones', 'db/sqlite'],
  'node:os': ['src/cli'],
  'node:readline/promises': ['src/cli'],
  'node:util': ['src/cli'],
  'node:path': ['src/cli', 'src/zones', 'src/service.ts'],
}

const root = new URL('..', import.meta.url).pathname

test('every import of src and db keeps to the rule of the README', async () => {
  const broken: string[] = []
  for (const [file, imported] of await importsOf(['src/**/*.ts', 'db/**/*.ts'])) {
    const room = roomOf(file)
    const allowed = mayImport[room]
    if (!allowed) broken.push(`${file} stands in no room`)
    else if (!isAllowed(room, allowed, imported)) broken.push(`${file} imports ${imported}`)
  }
  expect(broken).toEqual([])
})

test('the rule speaks of rooms that exist, and the check can fail', async () => {
  for (const room of Object.keys(mayImport)) {
    const files = await Array.fromAsync(new Glob(room.endsWith('.ts') ? room : `${room}/**/*.ts`).scan(root))
    expect(files.length, room).toBeGreaterThan(0)
  }
  expect(isAllowed('src/scheduling', mayImport['src/scheduling'] ?? [], 'src/domain/errors.ts')).toBe(false)
  expect(isAllowed('src/domain', mayImport['src/domain'] ?? [], 'drizzle-orm')).toBe(false)
})

function isAllowed(room: string, allowed: readonly string[], imported: string): boolean {
  const home = Object.keys(homes).find((name) => imported === name || imported.startsWith(`${name}/`))
  if (home) return homes[home]?.includes(room) ?? false
  return [room, ...allowed].some((place) => imported === place || imported.startsWith(`${place}/`))
}

/** The room of a file: its folder below src or db, or the file itself where it stands beside the rooms. */
function roomOf(file: string): string {
  return file.split('/').slice(0, 2).join('/')
}

/** Each import of the files: the file, and the file or package that it imports. */
async function importsOf(patterns: readonly string[]): Promise<[file: string, imported: string][]> {
  const found: [string, string][] = []
  for (const pattern of patterns) {
    for await (const file of new Glob(pattern).scan(root)) {
      const text = await Bun.file(`${root}/${file}`).text()
      for (const [, specifier = ''] of text.matchAll(/^(?:import|export)\b[^'"`]*?from '([^']+)'/gm)) {
        found.push([file, resolve(file, specifier)])
      }
    }
  }
  expect(found.length).toBeGreaterThan(100)
  return found
}

function resolve(file: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier
  const path = new URL(specifier, `file:///${file}`).pathname.slice(1)
  return /\.\w+$/.test(path) ? path : `${path}.ts`
}
