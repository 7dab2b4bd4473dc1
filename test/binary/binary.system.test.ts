import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import * as packageJson from '../../package.json'
import { booking } from '../support/builders'
import { buildWords, Folder, runProgram, startSandbox } from '../support/process'

setDefaultTimeout(300_000)

const root = new URL('../..', import.meta.url).pathname

const built = new Folder()
const executable = built.file('anteroom')

beforeAll(() => {
  const words = buildWords(executable)
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...words], { cwd: root })
  expect([exitCode, exitCode === 0 ? '' : stderr.toString()]).toEqual([0, ''])
})

afterAll(() => built[Symbol.dispose]())

/** A folder whose settings would run a script, and send temporary files elsewhere, if anything heeded them. */
function hostileFolder(): Folder {
  const folder = new Folder()
  writeFileSync(folder.file('bunfig.toml'), 'preload = ["./evil.ts"]\n\n[run]\npreload = ["./evil.ts"]\n')
  writeFileSync(
    folder.file('evil.ts'),
    `require('node:fs').writeFileSync(${JSON.stringify(folder.file('ran'))}, '')\n`,
  )
  writeFileSync(folder.file('.env'), `TMPDIR=${folder.path}/hijacked\n`)
  return folder
}

const command = { command: [executable], env: {} }

describe('the executable', () => {
  test('is the one file that was built', () => {
    expect(readdirSync(built.path)).toEqual(['anteroom'])
    expect(statSync(executable).mode & 0o111).toBeGreaterThan(0)
  })

  test('does not hold the path of the folder in which it was built: it is the same, built in another', () => {
    expect(readFileSync(executable).includes(root)).toBe(false)
  })

  test('tells its version from an empty folder, with an empty environment', async () => {
    using folder = new Folder()
    expect(await runProgram(['--version'], { ...command, cwd: folder.path })).toEqual({
      code: 0,
      signal: null,
      stdout: expect.stringMatching(new RegExp(`^${RegExp.escape(packageJson.version)} \\(commit `)),
      stderr: '',
    })
    expect(readdirSync(folder.path)).toEqual([])
  })

  test('answers a search, a booking, an intake and a look-up, and stops', async () => {
    using folder = new Folder()
    await using sandbox = await startSandbox([], { ...command, cwd: folder.path })
    const { examples, docsUrl, openapiUrl } = sandbox.report
    const search = await sandbox.get(`/partners/v1/providers/?region_id=${examples.regionId}&page_size=100`)
    expect(search.status).toBe(200)
    const found = search.body.results.find(
      (entry: { providerId: number }) => entry.providerId === examples.providerId,
    )
    expect(found.availability).toContainEqual({
      utcStartTime: examples.utcStartTime,
      utcEndTime: examples.utcEndTime,
    })
    const booked = await sandbox.post(booking('member-1001', examples))
    expect([booked.status, booked.body]).toEqual([
      201,
      {
        id: expect.any(Number),
        providerId: examples.providerId,
        authorizationNumber: expect.any(String),
        phoneNumber: '',
        preferredModality: '',
        acceptedAt: null,
        declinedAt: null,
        member: { id: expect.any(Number), firstName: 'Robin', email: 'member-1001@example.com' },
        utcStartTime: examples.utcStartTime,
      },
    ])
    const intake = await sandbox.post(booking('member-1001'))
    expect([intake.status, intake.body]).toEqual([
      201,
      {
        ...booked.body,
        id: expect.any(Number),
        providerId: null,
        authorizationNumber: null,
        utcStartTime: null,
      },
    ])
    const member = await sandbox.get('/partners/v1/user/?external_user_id=member-1001')
    expect([member.status, member.body]).toEqual([
      200,
      {
        id: booked.body.member.id,
        firstName: 'Robin',
        lastName: 'Sample',
        email: 'member-1001@example.com',
        userType: 'member',
        country: 'CA',
        preferredSpokenLanguage: 'English',
        preferredSpokenLanguageCode: 'en',
        externalUserId: 'member-1001',
      },
    ])
    for (const url of [docsUrl, openapiUrl]) expect((await fetch(url)).status, url).toBe(200)
    const { code, signal, stdout, stderr } = await sandbox.stop('SIGTERM')
    expect({ code, signal, lines: stdout.split('\n').length, stderr }).toEqual({
      code: 0,
      signal: null,
      lines: 2,
      stderr: '',
    })
    expect(existsSync(sandbox.report.database)).toBe(false)
    expect(readdirSync(folder.path)).toEqual([])
  })

  test('knows the law of today: a morning in Vancouver in December 2026 begins at 16:00Z', async () => {
    using folder = new Folder()
    const vancouver = {
      regions: [
        {
          countryCode: 'CA',
          stateProvinceCode: 'BC',
          stateProvinceNameLocal: 'BC',
          stateProvinceLabel: 'Province',
        },
      ],
      providers: [
        {
          ref: 'v',
          firstName: 'V',
          lastName: 'V',
          timeZone: 'America/Vancouver',
          languagesSpoken: ['en'],
          modalities: ['in-video'],
          licenses: [{ region: 'CA-BC', from: '2020-01-01' }],
          workingHours: [{ weekdays: ['tuesday'], start: '09:00', end: '17:00' }],
        },
      ],
    }
    writeFileSync(folder.file('directory.json'), JSON.stringify(vancouver))
    const args = [
      '--directory',
      'directory.json',
      '--now',
      '2026-12-01T00:00:00Z',
      '--database',
      'kept.sqlite',
    ]
    await using sandbox = await startSandbox(args, { ...command, cwd: folder.path })
    const { body } = await sandbox.get('/partners/v1/providers/?country_code=CA')
    expect(body.results[0].availability[0]).toEqual({
      utcStartTime: '2026-12-01T16:00:00Z',
      utcEndTime: '2026-12-01T16:45:00Z',
    })
  })

  test('heeds no bunfig.toml and no .env of the folder in which it is started', async () => {
    using folder = hostileFolder()
    // The traps work: Bun itself walks into both.
    const words = [process.execPath, '-e', 'console.log(process.env.TMPDIR)']
    const { stdout } = Bun.spawnSync(words, { cwd: folder.path, env: {} })
    expect(stdout.toString()).toBe(`${folder.path}/hijacked\n`)
    expect(existsSync(folder.file('ran'))).toBe(true)
    await Bun.file(folder.file('ran')).delete()

    await using sandbox = await startSandbox([], { ...command, cwd: folder.path })
    expect(sandbox.report.database).not.toContain('hijacked')
    expect((await sandbox.post(booking('member-1001', sandbox.report.examples))).status).toBe(201)
    const { code, stderr } = await sandbox.stop('SIGTERM')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(readdirSync(folder.path).sort()).toEqual(['.env', 'bunfig.toml', 'evil.ts'])
  })
})
