import { expect, test } from 'bun:test'
import { Glob } from 'bun'

// The parts of db that both engines share.
const ofBothEngines = ['audit', 'findings', 'move', 'queries', 'sealed', 'settings.ts'].map(
  (name) => `db/${name}`,
)

// The import rules of docs/architecture.md. `mayImport`: the folders that each folder may import. `homes`: the
// folders that may import each package.
const mayImport: Record<string, readonly string[]> = {
  'src/scheduling': [],
  'src/domain': ['src/scheduling'],
  'src/zones': ['src/domain', 'src/scheduling'],
  'src/files': [],
  'src/vault': ['src/domain', 'src/scheduling', 'src/files'],
  'src/auth': ['src/domain'],
  'src/directory': ['src/domain', 'src/scheduling'],
  'src/directory-files': ['src/domain', 'src/scheduling', 'fixtures'],
  'src/operations': ['src/domain', 'src/scheduling', 'src/directory', 'src/directory-files', 'src/auth'],
  'db/findings': ['src/domain'],
  'db/sealed': ['src/domain', 'db/findings'],
  'db/settings.ts': ['src/domain', 'db/audit', 'db/findings', 'db/queries', 'db/sealed'],
  'db/audit': ['src/domain', 'src/files', 'db/findings'],
  'db/queries': ['src/domain', 'db/sealed', 'db/findings', 'db/audit'],
  'db/move': ['src/domain', 'db/findings', 'db/sealed', 'db/queries'],
  // db/sqlite reads the version of the program from package.json, because a backup contains this version.
  'db/sqlite': ['src/domain', 'src/scheduling', 'src/files', 'package.json', ...ofBothEngines],
  'db/postgres': ['src/domain', 'src/scheduling', ...ofBothEngines],
  // src/http serves the guide for partners at /docs.
  'src/http': [
    ...['src/operations', 'src/domain', 'src/scheduling', 'src/auth', 'fixtures', 'docs/integrating.md'],
  ],
  'src/sandbox': [
    'src/operations',
    'src/directory-files',
    'src/files',
    'src/domain',
    'src/scheduling',
    'src/http',
    'src/config.ts',
    'src/settings.ts',
    'src/service.ts',
  ],
  'src/cli': [
    'src/operations',
    'src/sandbox',
    'src/directory-files',
    'src/files',
    'src/domain',
    'src/scheduling',
    'src/http',
    'src/config.ts',
    'src/settings.ts',
    'src/service.ts',
    'src/built.ts',
    'src/production.ts',
    'package.json',
  ],
  'src/built.ts': ['src/domain', 'src/zones'],
  'src/settings.ts': ['src/domain', 'src/scheduling'],
  'src/setting-sources.ts': ['src/domain', 'src/settings.ts'],
  'src/config.ts': ['src/domain', 'src/settings.ts', 'src/setting-sources.ts', 'src/serving.ts'],
  'src/keyring.ts': ['src/domain', 'src/files', 'src/vault', 'src/config.ts'],
  'src/service.ts': [
    'src/operations',
    'src/directory',
    'src/domain',
    'src/zones',
    'src/vault',
    'src/config.ts',
    'src/keyring.ts',
    'src/serving.ts',
    // src/service.ts selects the engine by the kind of database address.
    'db/sqlite/database.ts',
    'db/postgres/database.ts',
  ],
  'src/serving.ts': ['src/operations', 'src/domain', 'src/vault', 'src/http'],
  'src/production.ts': [],
  'src/main.ts': ['src/cli', 'src/production.ts'],
}

const homes: Record<string, readonly string[]> = {
  elysia: ['src/http'],
  '@elysiajs/bearer': ['src/http'],
  '@elysiajs/swagger': ['src/http'],
  'swagger-ui-dist': ['src/http'],
  '@sinclair/typebox': ['src/domain', 'src/directory-files', 'src/http'],
  'drizzle-orm': ['db/queries', 'db/move', 'db/sqlite', 'db/postgres'],
  'bun:sqlite': ['db/sqlite'],
  // Bun's PostgreSQL client.
  bun: ['db/postgres'],
  jose: ['src/auth'],
  'age-encryption': ['src/vault'],
  'node:crypto': ['src/vault', 'src/sandbox'],
  'temporal-polyfill': ['src/scheduling'],
  'moment-timezone': ['src/zones'],
  'bcp-47': ['src/domain'],
  'iso-3166': ['src/domain'],
  commander: ['src/cli'],
  pino: ['src/cli'],
  'sonic-boom': ['src/cli'],
  'csv-parse': ['src/directory-files'],
  'csv-stringify': ['src/directory-files'],
  'node:fs': [
    'src/files',
    'src/cli',
    'src/sandbox',
    'src/setting-sources.ts',
    'src/keyring.ts',
    'src/vault',
    'src/zones',
    'db/sqlite',
    // db/postgres reads the password file and the certificate authorities.
    'db/postgres',
    // db/audit writes and reads the archives of the audit log.
    'db/audit',
    // src/http reads the kernel's socket table in /proc.
    'src/http',
  ],
  'node:net': ['src/domain', 'src/http'],
  'node:dns/promises': ['src/http'],
  'node:os': ['src/cli', 'src/sandbox'],
  'node:readline/promises': ['src/cli'],
  'node:tty': ['src/cli'],
  'node:util': ['src/cli', 'src/domain'],
  'node:zlib': ['src/http'],
  'node:path': ['src/files', 'src/cli', 'src/sandbox', 'src/zones', 'db/sqlite'],
}

interface Home {
  readonly what: RegExp
  /** The folders and files that may contain the pattern `what`. */
  readonly where: readonly string[]
}

// Only the listed files may use global state of the process. All other files get this state as arguments, so that tests
// can replace the state.
const processHomes: Record<string, Home> = {
  'the environment: settings, the user who called sudo, and production mode': {
    what: /\bprocess\.env\b/,
    where: ['src/config.ts', 'src/cli/storage.ts', 'src/production.ts'],
  },
  // The engines wait for locks in real time. All other code uses the service's clock, which tests can set.
  'the clock: one for the service, and the waiting times of engines': {
    what: /\bDate\.now\b|\bnew Date\(\)|\bperformance\.(now|timeOrigin)\b/,
    where: ['src/domain/ports/time.ts', 'db/sqlite', 'db/postgres', 'db/findings/readiness.ts', 'src/files'],
  },
  'the runtime: listening, hashing, compression, printing and storage': {
    what: /\bBun\./,
    where: [
      ...['listening/listen', 'documents/docs', 'documents/page', 'representation'].map(
        (name) => `src/http/${name}.ts`,
      ),
      'src/cli',
      'src/sandbox',
      'db/sqlite',
      // db/settings.ts hashes the migrations.
      'db/settings.ts',
      // database-copy.ts hashes tables to compare a copy with its source.
      'src/operations/database-copy.ts',
      'db/audit/archive.ts',
    ],
  },
  'the output: a filter removes control characters': {
    what: /\bprocess\.std(out|err)\.write\b|\bconsole\.log\b/,
    where: [
      'src/cli/terminal/output.ts',
      'src/cli/terminal/question.ts',
      'src/cli/terminal/progress.ts',
      'src/main.ts',
    ],
  },
  // All code that logs gets a logger as an argument. The logger lists the fields of a request that are logged.
  'the logger: one file lists the fields that are logged of a request': {
    what: /from 'pino'/,
    where: ['src/cli/terminal/json-log.ts'],
  },
  'the store: operations use it, and commands call operations': {
    what: /\.store\b|\{[^{}=]*\bstore\b[^{}]*\}(: Context)?\s*(=|[,)])/,
    where: [
      ...['auth', 'directory', 'domain', 'http', 'operations', 'service.ts', 'serving.ts'].map(
        (room) => `src/${room}`,
      ),
      'db/sqlite',
      'db/postgres',
    ],
  },
}

const root = new URL('..', import.meta.url).pathname

test('imports: every import of src and db follows the rule of the architecture', async () => {
  const broken: string[] = []
  for (const [file, imported] of await importsOf(['src/**/*.ts', 'db/**/*.ts'])) {
    const room = roomOf(file)
    const allowed = mayImport[room]
    if (!allowed) broken.push(`${file} has no import rule`)
    else if (!isAllowed(room, allowed, imported)) broken.push(`${file} imports ${imported}`)
  }
  expect(broken).toEqual([])
})

test('imports: no files of src and db import each other in a circle, not even for types', async () => {
  expect(inCircles(await importsOf(['src/**/*.ts', 'db/**/*.ts']))).toEqual([])
  const above = [
    ['c', 'a'],
    ['a', 'b'],
    ['b', 'a'],
    ['b', 'd'],
  ] as const
  expect(inCircles(above)).toEqual(['a', 'b', 'c'])
})

test('imports: the command serve never loads the control routes of a sandbox', async () => {
  const imports = Map.groupBy(await importsOf(['src/**/*.ts', 'db/**/*.ts']), ([file]) => file)
  const loadedBy = (file: string, known = new Set<string>()) => {
    for (const [, imported] of imports.get(file) ?? [])
      if (!known.has(imported)) loadedBy(imported, known.add(imported))
    return [...known].filter((path) => /^src\/(sandbox|http\/control)\//.test(path))
  }
  expect(loadedBy('src/cli/commands/serve.ts')).toEqual([])
  expect(loadedBy('src/cli/commands/sandbox.ts')).toContain('src/http/control/control.ts')
})

test('imports: a folder has at most 20 files, and a file of src at most 300 lines', async () => {
  const files = Array.from(new Glob('{src,db}/**/*').scanSync(root))
  const inFolder = Map.groupBy(files, (file) => file.slice(0, file.lastIndexOf('/')))
  expect([...inFolder].filter(([, inside]) => inside.length > 20)).toEqual([])
  const sources = files.filter((file) => /^src\/.*\.ts$/.test(file))
  const lines = await Promise.all(
    sources.map(async (file) => (await Bun.file(`${root}/${file}`).text()).split('\n').length - 1),
  )
  expect(sources.filter((_, at) => (lines[at] as number) > 300)).toEqual([])
})

test('imports: only the listed files touch the process, its output and the store', async () => {
  const broken: string[] = []
  for (const [file, text] of await sourcesOf(['src/**/*.ts', 'db/**/*.ts'])) {
    for (const [name, { what, where }] of Object.entries(processHomes)) {
      const isHome = where.some((place) => file === place || file.startsWith(`${place}/`))
      if (!isHome && what.test(text)) broken.push(`${file} touches ${name}`)
    }
  }
  expect(broken).toEqual([])
})

test('imports: every folder of the rules exists, and the checks detect a violation', async () => {
  for (const room of Object.keys(mayImport)) {
    const files = await Array.fromAsync(new Glob(room.endsWith('.ts') ? room : `${room}/**/*.ts`).scan(root))
    expect(files.length, room).toBeGreaterThan(0)
  }
  expect(isAllowed('src/scheduling', mayImport['src/scheduling'] ?? [], 'src/domain/errors.ts')).toBe(false)
  expect(isAllowed('src/domain', mayImport['src/domain'] ?? [], 'drizzle-orm')).toBe(false)
  const ofService = mayImport['src/service.ts'] ?? []
  expect(isAllowed('src/service.ts', ofService, 'src/cli/program.ts')).toBe(false)
  expect(isAllowed('src/service.ts', ofService, 'src/zones/folder.ts')).toBe(true)
  expect(specifiersIn("import 'a'\nexport { b } from 'b'\nconst c = await import('c')")).toEqual([
    'a',
    'b',
    'c',
  ])
  for (const { what, where } of Object.values(processHomes)) {
    const texts = await sourcesOf(where.map((place) => (place.endsWith('.ts') ? place : `${place}/**/*.ts`)))
    expect(
      texts.some(([, text]) => what.test(text)),
      String(what),
    ).toBe(true)
  }
})

function isAllowed(room: string, allowed: readonly string[], imported: string): boolean {
  const home = Object.keys(homes).find((name) => imported === name || imported.startsWith(`${name}/`))
  if (home) return homes[home]?.includes(room) ?? false
  return [room, ...allowed].some((place) => imported === place || imported.startsWith(`${place}/`))
}

/**
 * Returns the files in import cycles, and the files that depend on a cycle. Removes files without imports
 * until no such file is left.
 */
function inCircles(imports: readonly (readonly [file: string, imported: string])[]): string[] {
  const files = new Set(imports.map(([file]) => file))
  const left = imports.filter(([, imported]) => files.has(imported))
  return left.length < imports.length ? inCircles(left) : [...files].toSorted()
}

/** The first folder below src or db that contains the file. For a file directly in src or db, the file itself. */
function roomOf(file: string): string {
  return file.split('/').slice(0, 2).join('/')
}

async function importsOf(patterns: readonly string[]): Promise<[file: string, imported: string][]> {
  const found = (await sourcesOf(patterns)).flatMap(([file, text]) =>
    specifiersIn(text).map((specifier): [string, string] => [file, resolve(file, specifier)]),
  )
  expect(found.length).toBeGreaterThan(100)
  return found
}

/** The specifiers in the import and export statements and import() calls of a module. */
function specifiersIn(text: string): string[] {
  const forms = /^(?:import|export)\b[^'"`]*?from '([^']+)'|^import '([^']+)'|\bimport\(\s*['"`]([^'"`]+)/gm
  return Array.from(text.matchAll(forms), ([, named, bare, called]) => named ?? bare ?? called ?? '')
}

/** The path and the text of each file. The text contains no comments. */
async function sourcesOf(patterns: readonly string[]): Promise<[file: string, text: string][]> {
  const files = await Promise.all(patterns.map((pattern) => Array.fromAsync(new Glob(pattern).scan(root))))
  return Promise.all(
    files.flat().map(async (file): Promise<[string, string]> => {
      const text = await Bun.file(`${root}/${file}`).text()
      return [file, text.replace(/^\s*(\/\/|\/?\*).*$/gm, '')]
    }),
  )
}

function resolve(file: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier
  const path = new URL(specifier, `file:///${file}`).pathname.slice(1)
  return /\.\w+$/.test(path) ? path : `${path}.ts`
}

test('imports: a test that sleeps, measures time or starts a program is a *.system.test.ts or *.timing.test.ts', async () => {
  const notQuick = /Bun\.(sleep|spawn)|setTimeout\(|support\/(process|operator|standstill|eventually)'/
  const quick = [...new Glob('**/*.test.ts').scanSync(import.meta.dir)].filter(
    (path) => !/\.(system|timing)\.test\.ts$/.test(path) && path !== 'imports.test.ts',
  )
  const texts = await Promise.all(quick.map((path) => Bun.file(`${import.meta.dir}/${path}`).text()))
  expect(quick.length).toBeGreaterThan(100)
  expect(quick.filter((_, at) => notQuick.test(texts[at] as string))).toEqual([])
})
