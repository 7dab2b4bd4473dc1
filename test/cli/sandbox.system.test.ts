import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { exitCodes } from '../../src/cli/exit-code'
import type { DirectoryFile } from '../../src/directory-files/document'
import { booking, countryWide, provider, region } from '../support/builders'
import {
  eventually,
  Folder,
  type OfferedSlot,
  Program,
  runProgram,
  type Sandbox,
  startSandbox,
  withFewProviders,
} from '../support/process'

setDefaultTimeout(300_000)

const { fileInvalid, databaseUnusable, failed, misused } = exitCodes

const withTemporary = (path: string) => ({ ...(process.env as Record<string, string>), TMPDIR: path })

const regionsOf = (country: string) => `/partners/v1/provider-regions/?country_code=${country}`
const lookUp = (externalUserId: string) => `/partners/v1/user/?external_user_id=${externalUserId}`

async function freePort(): Promise<number> {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
  const { port } = server
  await server.stop(true)
  return port as number
}

function directoryFile(folder: Folder, document: unknown): string {
  const path = folder.file('directory.json')
  writeFileSync(path, typeof document === 'string' ? document : JSON.stringify(document))
  return path
}

const small: DirectoryFile = {
  regions: [region(), countryWide('GB', 'United Kingdom')],
  providers: [provider('only', { firstName: 'Only', lastName: 'One' })],
}

describe('cli: a sandbox with a temporary database', () => {
  const temporary = new Folder()
  let sandbox: Sandbox
  beforeAll(async () => {
    sandbox = await startSandbox([], { env: withTemporary(temporary.path) })
  })
  afterAll(async () => {
    await sandbox[Symbol.asyncDispose]()
    temporary[Symbol.dispose]()
  })

  test('prints its report as one line of JSON', () => {
    expect(sandbox.stdout).toBe(`${JSON.stringify(sandbox.report)}\n`)
    const { baseUrl } = sandbox.report
    const token = expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)
    expect(sandbox.report as unknown).toEqual({
      baseUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      docsUrl: `${baseUrl}/docs`,
      openapiUrl: `${baseUrl}/openapi.json`,
      controlUrl: `${baseUrl}/sandbox/v1/`,
      controlToken: expect.stringMatching(/^[\w-]{43}$/),
      database: expect.any(String),
      frozen: false,
      outcomes: [],
      now: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/),
      partners: [
        { name: expect.any(String), state: 'active', token, organization: expect.any(String) },
        { name: expect.any(String), state: 'active', token, organization: expect.any(String) },
        { name: expect.any(String), state: 'partner_inactive', token, organization: expect.any(String) },
        {
          name: expect.any(String),
          state: 'organization_deactivated',
          token,
          organization: expect.any(String),
        },
        { name: expect.any(String), state: 'no_organization', token, organization: null },
        { name: expect.any(String), state: 'rotated', token, organization: expect.any(String) },
      ],
      examples: {
        deactivatedMember: expect.any(String),
        countryCode: 'CA',
        regionId: expect.any(Number),
        providerId: expect.any(Number),
        utcStartTime: expect.any(String),
        utcEndTime: expect.any(String),
      },
    })
    const { partners } = sandbox.report
    expect(new Set(partners.map((partner) => partner.token)).size).toBe(6)
    expect(partners[0]?.organization).not.toBe(partners[1]?.organization as string)
    expect(partners[5]?.name).toBe(partners[0]?.name as string)
    expect(Math.abs(Date.parse(sandbox.report.now) - Date.now())).toBeLessThan(60_000)
  })

  test('answers at the addresses in its report', async () => {
    const { docsUrl, openapiUrl } = sandbox.report
    for (const url of [docsUrl, openapiUrl]) expect((await fetch(url)).status, url).toBe(200)
  })

  const refusedWith = (code: string, message: string) => ({ status: 401, body: { code, message } })

  test.each([
    ['active', 0, { status: 200, body: expect.any(Array) }],
    ['active', 1, { status: 200, body: expect.any(Array) }],
    ['partner_inactive', 0, refusedWith('partner_inactive', 'the partner is deactivated')],
    ['rotated', 0, refusedWith('token_invalid', 'the token is missing, malformed or not valid')],
    [
      'organization_deactivated',
      0,
      { status: 403, body: { message: "the partner's organization is deactivated", status: 403 } },
    ],
    [
      'no_organization',
      0,
      { status: 409, body: { message: 'the partner has no organization configured', status: 409 } },
    ],
  ])(
    'answers the token in the state %s (index %i) with the response for this state',
    async (state, position, expected) => {
      const { status, body } = await sandbox.get(regionsOf('CA'), sandbox.token(state, position))
      expect({ status, body }).toEqual(expected)
    },
  )

  test('has at least 20 booked slots from the start', () => {
    const database = new Database(sandbox.report.database, { readonly: true })
    const taken = database
      .query<{ count: number }, []>(
        "SELECT count(*) AS count FROM booking_requests WHERE state = 'pending' AND starts_at IS NOT NULL",
      )
      .get()
    database.close()
    expect(taken?.count).toBeGreaterThanOrEqual(20)
  })

  test('has an example slot to book, and a member who is deactivated only for the first partner', async () => {
    const { examples } = sandbox.report
    expect(Date.parse(examples.utcEndTime) - Date.parse(examples.utcStartTime)).toBe(45 * 60_000)
    const answer = await sandbox.post(booking('member-1001', examples))
    expect(answer.status).toBe(201)
    expect(answer.body.providerId).toBe(examples.providerId)
    expect(answer.body.utcStartTime).toBe(examples.utcStartTime)
    const deactivated = { message: 'the member is deactivated', status: 403 }
    expect((await sandbox.get(lookUp(examples.deactivatedMember))).body).toEqual(deactivated)
    expect((await sandbox.post(booking(examples.deactivatedMember))).body).toEqual(deactivated)
    const elsewhere = await sandbox.get(lookUp(examples.deactivatedMember), sandbox.token('active', 1))
    expect(elsewhere.status).toBe(404)
  })

  test('keeps its data only in the temporary folder, which only its owner can read', () => {
    const { database } = sandbox.report
    const folder = database.slice(0, database.lastIndexOf('/'))
    expect(folder.startsWith(`${temporary.path}/`)).toBe(true)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    for (const name of readdirSync(folder)) {
      expect(statSync(`${folder}/${name}`).mode & 0o777, name).toBe(0o600)
    }
    expect(readdirSync(temporary.path)).toHaveLength(1)
  })

  test('stops on SIGTERM with exit code 0, and leaves no output and no file', async () => {
    const line = sandbox.stdout
    expect(await sandbox.stop('SIGTERM')).toEqual({ code: 0, signal: null, stdout: line, stderr: '' })
    expect(readdirSync(temporary.path)).toEqual([])
  })
})

describe('cli: a sandbox that is stopped', () => {
  test('a sandbox that is stopped during its start leaves no file', async () => {
    using temporary = new Folder()
    await using program = new Program(['sandbox', '--port', '0', '--json'], {
      env: withTemporary(temporary.path),
    })
    await eventually('the temporary folder', () => readdirSync(temporary.path).length > 0)
    const { code } = await program.stop('SIGTERM')
    expect(code).toBe(0)
    expect(readdirSync(temporary.path)).toEqual([])
  })
})

test('cli: --open-requests and --email-conflicts-per-hour set the limits of a sandbox', async () => {
  const flags = ['--open-requests', '1', '--email-conflicts-per-hour', '1']
  await using sandbox = await startSandbox([...flags, ...withFewProviders])
  const slots = await sandbox.offered()
  const codeOf = async (name: string, slot?: OfferedSlot, email = `${name}@example.com`) => {
    const { status, headers } = await sandbox.post(booking(name, slot, { email }))
    return headers.get('x-error-code') ?? status
  }
  expect([await codeOf('a', slots[0]), await codeOf('a', slots.at(-1))]).toEqual([
    201,
    'too_many_open_requests',
  ])
  expect([await codeOf('c', undefined, 'a@example.com'), await codeOf('c')]).toEqual([
    'email_taken',
    'email_conflicts_limited',
  ])
})

describe('cli: --port, --host and --base-url of the sandbox', () => {
  test('the sandbox listens on --host and --port, and its links begin with --base-url', async () => {
    const port = await freePort()
    await using sandbox = await startSandbox([
      '--port',
      String(port),
      '--host',
      '127.0.0.2',
      '--base-url',
      'https://api.example.com/sandbox/',
      ...withFewProviders,
    ])
    const { baseUrl, docsUrl, openapiUrl, examples } = sandbox.report
    expect({ baseUrl, docsUrl, openapiUrl }).toEqual({
      baseUrl: 'https://api.example.com/sandbox',
      docsUrl: 'https://api.example.com/sandbox/docs',
      openapiUrl: 'https://api.example.com/sandbox/openapi.json',
    })
    const headers = { Authorization: `Bearer ${sandbox.token()}` }
    const path = `/partners/v1/providers/?region_id=${examples.regionId}&page_size=1&page=2`
    const response = await fetch(`http://127.0.0.2:${port}${path}`, { headers })
    const { next, previous } = (await response.json()) as { next: string; previous: string }
    const linked = (page: number) =>
      `https://api.example.com/sandbox/partners/v1/providers/?region_id=${examples.regionId}&page_size=1&page=${page}`
    expect({ next, previous }).toEqual({ next: linked(3), previous: linked(1) })
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow()
  })

  test('a second sandbox on a port in use fails and leaves no file, and the first sandbox continues to answer', async () => {
    using temporary = new Folder()
    await using first = await startSandbox(withFewProviders)
    const { port } = new URL(first.report.baseUrl)
    const exit = await runProgram(['sandbox', '--port', port, '--json'], {
      env: withTemporary(temporary.path),
    })
    expect(readdirSync(temporary.path)).toEqual([])
    expect(exit).toEqual({
      code: failed,
      signal: null,
      stdout: '',
      stderr: `error: port ${port} of 127.0.0.1 is in use\nTry: another --port\n`,
    })
    for (let call = 0; call < 20; call++) {
      expect((await first.get('/partners/v1/provider-regions/?country_code=CA')).status).toBe(200)
    }
  })
})

test('cli: --now sets the clock of the sandbox, which then advances', async () => {
  using folder = new Folder()
  // The first slot begins at 14:00Z, six seconds after this clock starts.
  await using sandbox = await startSandbox([
    '--now',
    '2026-12-01T13:59:54Z',
    '--directory',
    directoryFile(folder, small),
  ])
  expect(sandbox.report.now >= '2026-12-01T13:59:54Z').toBe(true)
  const first = async () => (await sandbox.offered())[0]?.utcStartTime
  expect(await first()).toBe('2026-12-01T14:00:00Z')
  await eventually('the slot to have begun', async () => (await first()) !== '2026-12-01T14:00:00Z')
  expect(await first()).toBe('2026-12-01T14:45:00Z')
})

describe('cli: --database of the sandbox', () => {
  test('a sandbox that starts again with the same --database has the same tokens, members, bookings and deactivations', async () => {
    using folder = new Folder()
    const path = folder.file('kept.sqlite')
    const first = await startSandbox(['--database', path])
    const { partners, examples, database } = first.report
    expect(database).toBe(path)
    const created = await first.post(booking('member-1001', examples))
    expect(created.status).toBe(201)
    const member = (await first.get(lookUp('member-1001'))).body
    const regions = (await first.get(regionsOf('US'))).body
    expect((await first.stop()).code).toBe(0)
    expect(readdirSync(folder.path).sort()).toEqual(['kept.sqlite', 'kept.sqlite.key'])
    for (const name of readdirSync(folder.path)) {
      expect(statSync(folder.file(name)).mode & 0o777, name).toBe(0o600)
    }

    await using again = await startSandbox(['--database', path])
    expect(again.report.partners).toEqual(partners)
    expect((await again.get(lookUp('member-1001'))).body).toEqual(member)
    expect((await again.get(regionsOf('US'))).body).toEqual(regions)
    expect((await again.get(lookUp(examples.deactivatedMember))).status).toBe(403)
    const slot = await again.post(booking('member-1002', examples))
    expect(slot.headers.get('x-error-code')).toBe('slot_unavailable')
  })

  test('a database without its key is refused, and no new key is created', async () => {
    using folder = new Folder()
    const path = folder.file('kept.sqlite')
    const sandbox = await startSandbox(['--database', path, ...withFewProviders])
    await sandbox.stop()
    const key = readFileSync(`${path}.key`)
    await Bun.file(`${path}.key`).delete()
    const exit = await runProgram(['sandbox', '--port', '0', '--database', path])
    expect([exit.code, exit.stdout]).toEqual([databaseUnusable, ''])
    expect(exit.stderr).toMatch(/^error: .*key.*\n$/)
    expect(existsSync(`${path}.key`)).toBe(false)
    writeFileSync(`${path}.key`, key, { mode: 0o600 })
    await using again = await startSandbox(['--database', path])
    expect(again.report.partners).toEqual(sandbox.report.partners)
  })
})

describe('cli: --directory of the sandbox', () => {
  test('only a sandbox with the built-in directory has booked slots', async () => {
    using folder = new Folder()
    const bookedOf = async (name: string, args: string[]) => {
      const path = folder.file(name)
      await (await startSandbox(['--database', path, ...args])).stop()
      using database = new Database(path, { readonly: true })
      return database.query('SELECT id FROM booking_requests WHERE provider_id IS NOT NULL').all().length
    }
    expect(await bookedOf('given', ['--directory', directoryFile(folder, small)])).toBe(0)
    expect(await bookedOf('built-in', [])).toBeGreaterThan(0)
  })

  test('a given directory replaces the built-in directory, and also the stored directory of an existing database', async () => {
    using folder = new Folder()
    const database = ['--database', folder.file('kept.sqlite')]
    const path = directoryFile(folder, small)
    const first = await startSandbox([...database, '--directory', path])
    const search = (sandbox: Sandbox) => sandbox.get('/partners/v1/providers/?region_id=1')
    const found = (await search(first)).body
    expect(found.count).toBe(1)
    expect(found.results[0].details.firstName).toBe('Only')
    expect((await first.get(regionsOf('US'))).body).toEqual([])
    await first.stop()

    directoryFile(folder, {
      ...small,
      providers: [provider('new'), provider('only', { firstName: 'Changed', lastName: 'One' })],
    })
    await using second = await startSandbox([...database, '--directory', path])
    const names = (await search(second)).body.results.map(
      (entry: { providerId: number; details: { firstName: string } }) => [
        entry.providerId,
        entry.details.firstName,
      ],
    )
    expect(names).toEqual([
      [found.results[0].providerId, 'Changed'],
      [expect.any(Number), 'Marlow'],
    ])
  })

  const bad = {
    regions: [region(), region()],
    providers: [
      provider('same', { timeZone: 'Nowhere' }),
      provider('same', { workingHours: [{ weekdays: ['monday'], start: '09:00', end: '09:00' }] }),
    ],
  }
  const faults = [
    'regions[1].stateProvinceCode: "ON": the region is listed twice',
    'providers[1].ref: "same": another provider has this ref',
    'providers[0].timeZone: "Nowhere" must be an IANA time zone',
    'providers[1].workingHours[0].end: "09:00" must not equal start',
  ]

  test('all faults of a directory are printed, and no temporary file is left', async () => {
    using folder = new Folder()
    using temporary = new Folder()
    const path = directoryFile(folder, bad)
    const env = withTemporary(temporary.path)
    const { code, stdout, stderr } = await runProgram(
      ['sandbox', '--port', '0', '--json', '--directory', path],
      { env },
    )
    expect([code, stdout]).toEqual([fileInvalid, ''])
    expect(
      stderr
        .replace(/^error: /, '')
        .trimEnd()
        .split('\n')
        .sort(),
    ).toEqual([...faults].sort())
    expect(readdirSync(temporary.path)).toEqual([])
  })

  test('a directory with faults does not change an existing database', async () => {
    using folder = new Folder()
    const database = ['--database', folder.file('kept.sqlite')]
    const before = await startSandbox(database)
    await before.stop()
    const { code } = await runProgram([
      'sandbox',
      '--port',
      '0',
      ...database,
      '--directory',
      directoryFile(folder, bad),
    ])
    expect(code).toBe(fileInvalid)
    await using after = await startSandbox(database)
    expect(after.report.partners).toEqual(before.report.partners)
    expect((await after.get(regionsOf('US'))).headers.get('x-total-count')).toBe('51')
  })
})

describe('cli: invalid options of the sandbox', () => {
  const invalid = (option: string, fault: string) => `error: option '${option}' must be ${fault}\n`
  const port = 'a whole number from 0 to 65535'
  const instant = 'a UTC time from 2000 to 2498, for example 2026-12-01T09:00:00Z'
  const address = 'an http or https address without a query'

  test.each([
    [['--port', 'abc'], invalid('--port <n>', port)],
    [['--port', '65536'], invalid('--port <n>', port)],
    [['--port='], invalid('--port <n>', port)],
    [['--port'], "error: option '--port <n>' needs a value\n"],
    [['--providers', 'many'], invalid('--providers <n>', 'a whole number from 0 to 1000000')],
    [['--now', 'tomorrow'], invalid('--now <instant>', instant)],
    [['--now', '1999-12-31T00:00:00Z'], invalid('--now <instant>', instant)],
    [['--base-url', 'ftp://example.com'], invalid('--base-url <url>', address)],
    // A path appended to this URL would become part of the empty query or fragment.
    [['--base-url', 'http://x.example/?'], invalid('--base-url <url>', address)],
    [['--base-url', 'http://x.example/#'], invalid('--base-url <url>', address)],
    [['--open-requests', '0'], invalid('--open-requests <n>', 'off or a whole number from 1')],
    [['--database', ''], /^(error|anteroom): .*--database.*\n$/],
    [['--nonsense'], "error: unknown option '--nonsense'\nTry: anteroom sandbox --help\n"],
    [['--prot', '1'], "error: unknown option '--prot'\nTry: --port\n"],
    [['extra'], 'error: a command for the sandbox comes after --\n'],
    [['--', '/no/such/command'], 'error: the command after -- cannot be run\n'],
  ])('the options %j are refused on stderr, with exit code 2', async (args, stderr) => {
    using folder = new Folder()
    mkdirSync(folder.file('tmp'))
    const exit = await runProgram(['sandbox', '--port', '0', ...args], {
      cwd: folder.path,
      env: withTemporary(folder.file('tmp')),
    })
    expect({ ...exit, stderr: '' }).toEqual({ code: misused, signal: null, stdout: '', stderr: '' })
    if (typeof stderr === 'string') expect(exit.stderr).toBe(stderr)
    else expect(exit.stderr).toMatch(stderr)
    expect(readdirSync(folder.path)).toEqual(['tmp'])
    expect(readdirSync(folder.file('tmp'))).toEqual([])
  })
})

describe('cli: the start message of the sandbox', () => {
  const hasCurl = Bun.which('curl') !== null

  test.skipIf(!hasCurl)(
    'contains a search and a booking that work when pasted (skipped without curl)',
    async () => {
      await using program = new Program(['sandbox', '--port', '0'])
      await eventually(
        'the card',
        () => program.stdout.includes('Press Ctrl-C to stop it.\n') || !program.isRunning,
      )
      const card = program.stdout
      expect(card).toMatch(/^Anteroom sandbox at http:\/\/127\.0\.0\.1:\d+\n/)
      for (const line of card.split('\n')) expect(line).toBe(line.trimEnd())
      const paste = (title: string) => {
        const [, lines = ''] = card.split(`${title}:\n`)
        const command = lines.slice(0, lines.indexOf('\n\n'))
        expect(command).toMatch(/^curl /)
        const { stdout, exitCode } = Bun.spawnSync(['sh', '-c', command])
        expect(exitCode).toBe(0)
        return JSON.parse(stdout.toString())
      }
      const found = paste('A first search')
      expect(Object.keys(found)).toEqual(['count', 'next', 'previous', 'results'])
      expect(found.results).toHaveLength(1)
      const booked = paste('A first booking')
      expect(booked).toEqual({
        id: expect.any(Number),
        providerId: expect.any(Number),
        authorizationNumber: expect.any(String),
        phoneNumber: '',
        preferredModality: '',
        acceptedAt: null,
        declinedAt: null,
        member: { id: expect.any(Number), firstName: 'Robin', email: 'robin@example.com' },
        utcStartTime: expect.stringMatching(/Z$/),
      })
      expect(program.stderr).toBe('')
      expect((await program.stop('SIGINT')).code).toBe(0)
    },
  )
})
