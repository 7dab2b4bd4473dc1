import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { version } from '../../package.json'
import { paths } from '../contract/contract'
import { booking, provider, region } from '../support/builders'
import { isLong } from '../support/long'
import { Operator } from '../support/operator'
import { startSandbox, theProgram, withFewProviders } from '../support/process'

setDefaultTimeout(300_000)

const operator = new Operator(theProgram)
const file = (name: string) => operator.folder.file(name)
const key = `${operator.database}.key`

beforeAll(async () => {
  await operator.do('init')
  await operator.do('organization', 'add', 'North Care')
  await operator.do('partner', 'add', 'Lantern', '--organization', 'North Care')
  const providers = [provider('on-1', { firstName: 'Canaryprovider' })]
  await operator.loadDirectory({ regions: [region()], providers })
  const token = (await operator.do('token', 'issue', 'Lantern')).trim()
  await using service = await operator.serve()
  const answers = [{ question: 'Canaryquestion', answer: 'Canaryanswer' }]
  const member = { firstName: 'Canaryfirst', reasonForSeekingSupport: 'Canaryreason' }
  const body = { ...booking('Canaryexternal', undefined, member), phq9Data: answers }
  expect((await service.post(body, token)).status).toBe(201)
  await service.stop()
})
afterAll(() => operator[Symbol.dispose]())

const restore = (backup: string, to: string, ...flags: string[]) =>
  operator.run(['restore', backup, '--to', to, '--yes', ...flags])
const refused = (message: string, code = 6) => ({
  code,
  signal: null,
  stdout: '',
  stderr: `error: ${message}\n`,
})
const leftOf = (name: string) => readdirSync(operator.folder.path).filter((found) => found.startsWith(name))

async function expectComplete(database: string): Promise<void> {
  const at = ['--database', database, '--master-key-file', key]
  expect(await operator.do('request', 'show', '1', '--screening', ...at)).toContain('Canaryanswer')
  expect(await operator.do('provider', 'list', ...at)).toContain('Canaryprovider')
  expect((await operator.run(['audit', 'verify', ...at])).code).toBe(0)
}

describe('cli: backup', () => {
  test('without the key, a backup shows no name, no schema and no database header', async () => {
    expect(await operator.do('backup', file('backup.age'))).toBe(
      `Created the backup ${file('backup.age')}. A restore also needs the master key, which the backup does not contain.\n`,
    )
    expect(statSync(file('backup.age')).mode & 0o777).toBe(0o600)
    const [backup, plain] = [readFileSync(file('backup.age')), readFileSync(operator.database)]
    const words = [
      'Canary',
      'canary',
      'SQLite format',
      'CREATE TABLE',
      'North Care',
      'Lantern',
      'Ontario',
      'members',
    ]
    expect(words.filter((word) => backup.includes(word))).toEqual([])
    // The database file contains these words unencrypted. Finding the words there shows that the search works.
    const inTheClear = [
      'Canary',
      'SQLite format',
      'CREATE TABLE',
      'North Care',
      'Lantern',
      'Ontario',
      'members',
    ]
    expect(words.filter((word) => plain.includes(word))).toEqual(inTheClear)
    expect(leftOf('anteroom.sqlite').sort()).toEqual([
      'anteroom.sqlite',
      'anteroom.sqlite.key',
      'anteroom.sqlite.serving',
    ])
  })

  test('backup --json prints the file and the manifest of the backup', async () => {
    expect(await operator.ask('backup', file('told.age'))).toEqual({
      backup: file('told.age'),
      encrypted: true,
      manifest: {
        madeAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        version,
        schema: expect.any(Number),
        zoneData: expect.objectContaining({ folder: null }),
        counts: expect.objectContaining({ providers: 1, members: 1 }),
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    })
    expect(await operator.ask('backup', file('told.sqlite'), '--plain')).toMatchObject({ encrypted: false })
  })

  test('a backup made with --plain is not encrypted', async () => {
    const message = await operator.do('backup', file('plain.sqlite'), '--plain')
    expect(message).toContain('It is not encrypted. ')
    expect(readFileSync(file('plain.sqlite')).includes('Canaryprovider')).toBe(true)
    for (const word of ['Canaryfirst', 'Canaryexternal', 'Canaryanswer']) {
      expect(readFileSync(file('plain.sqlite')).includes(word)).toBe(false)
    }
    expect((await restore(file('plain.sqlite'), file('of-plain.sqlite'))).code).toBe(0)
    await expectComplete(file('of-plain.sqlite'))
  })

  test('a backup opens with the identity of a recipient', async () => {
    const identity = await generateIdentity()
    const recipient = await identityToRecipient(identity)
    const twice = [
      '--recipient',
      recipient,
      '--recipient',
      await identityToRecipient(await generateIdentity()),
    ]
    await operator.do('backup', file('shared.age'), ...twice)
    writeFileSync(file('identity'), `${identity}\n`, { mode: 0o600 })
    expect(
      (await restore(file('shared.age'), file('a.sqlite'), '--identity-file', file('identity'))).code,
    ).toBe(0)
    await expectComplete(file('a.sqlite'))
  })

  // Runs the source files with Bun, because the executable ignores --preload.
  const quick = [
    process.execPath,
    '--preload',
    new URL('../support/quick-passphrases.ts', import.meta.url).pathname,
    new URL('../../src/main.ts', import.meta.url).pathname,
  ]

  test('a backup can be opened with a passphrase instead of the key', async () => {
    await expectPassphraseBackup('quick', quick, 10)
  })

  test.if(isLong)('a backup with a passphrase uses 2^18 rounds of scrypt', async () => {
    await expectPassphraseBackup('slow', theProgram, 18)
  })

  /** Checks that a backup made with a passphrase opens only with that passphrase. */
  async function expectPassphraseBackup(name: string, program: readonly string[], workFactor: number) {
    const [backup, restored] = [file(`${name}.age`), file(`${name}.sqlite`)]
    writeFileSync(file('passphrase'), 'correct horse battery\n', { mode: 0o600 })
    const phrased = ['--passphrase-file', file('passphrase')]
    const { exitCode, stdout } = Bun.spawnSync([...program, 'backup', backup, ...phrased], {
      cwd: operator.folder.path,
      env: { ...operator.settings },
    })
    expect([exitCode, stdout.toString()]).toEqual([
      0,
      expect.stringContaining('It is encrypted with the passphrase. '),
    ])
    const head = new RegExp(`^age-encryption.org/v1\\n-> scrypt \\S+ ${workFactor}\\n`)
    expect(readFileSync(backup, 'latin1')).toMatch(head)
    expect((await restore(backup, restored)).stderr).toContain('the backup needs a passphrase')
    expect((await restore(backup, restored, ...phrased)).code).toBe(0)
    await expectComplete(restored)
  }

  test.each([
    [['--plain', '--recipient', 'age1x']],
    [['--plain', '--passphrase-file', 'x']],
    [['--passphrase-file', 'x', '--recipient', 'age1x']],
    [['--recipient', 'canary']],
  ])('backup with the options %p is refused and creates no file', async (flags) => {
    const { code, stdout, stderr } = await operator.run(['backup', file('refused'), ...flags])
    expect([code, stdout, leftOf('refused')]).toEqual([2, '', []])
    expect(stderr).not.toContain('canary')
  })
})

describe('cli: restore', () => {
  test('cursors of the list of changes from before and after the backup are invalid, and the list can be read again', async () => {
    using operator = new Operator(theProgram, null)
    await operator.do('init')
    const token = await operator.onboard('Lantern', 'North Care')
    const [backup, restored] = [operator.folder.file('list.age'), operator.folder.file('restored.sqlite')]
    const nexts: string[] = []
    await using service = await operator.serve()
    for (const member of ['before', 'after']) {
      expect((await service.post(booking(member), token)).status).toBe(201)
      nexts.push((await service.get(paths.changes, token)).body.next)
      if (member === 'before') await operator.do('backup', backup)
    }
    const list = nexts.map((next) => next.replace('https://api.example', ''))
    await service.stop()
    await operator.do('restore', backup, '--to', restored, '--yes')
    await using again = await operator.serve('--database', restored, '--master-key-file', operator.keyFile)
    expect((await again.post(booking('other'), token)).status).toBe(201)
    for (const path of list) {
      const { status, headers, body } = await again.get(path, token)
      expect([status, headers.get('x-error-code')]).toEqual([400, 'cursor_invalid'])
      expect(body.message).toStartWith('after: ')
    }
    const { body } = await again.get(paths.changes, token)
    expect(body.results.map(({ id }: { id: number }) => id)).toEqual([1, 2])
    const path = body.next.replace('https://api.example', '')
    expect((await again.get(path, token)).body.results).toEqual([])
  })

  test('restore creates a database that only its owner can read, even if others can read the backup', async () => {
    copyFileSync(file('plain.sqlite'), file('readable.sqlite'))
    chmodSync(file('readable.sqlite'), 0o644)
    expect((await restore(file('readable.sqlite'), file('of-readable.sqlite'))).code).toBe(0)
    expect(statSync(file('of-readable.sqlite')).mode & 0o777).toBe(0o600)
  })

  test('restore refuses a pipe or a folder at once, because it is not a file', async () => {
    Bun.spawnSync(['mkfifo', file('pipe')])
    for (const backup of [file('pipe'), '/dev/stdin', operator.folder.path]) {
      expect(await restore(backup, file('piped.sqlite'))).toEqual(refused('the backup path is not a file'))
    }
    expect(leftOf('piped')).toEqual([])
  })

  test('restore from an encrypted backup uses the configured key, and the database is complete', async () => {
    const { code, stdout } = await restore(file('backup.age'), file('restored.sqlite'))
    expect([code, stdout.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/, 'INSTANT')]).toEqual([
      0,
      `Created the database ${file('restored.sqlite')} from the backup ${file('backup.age')}.\n` +
        'Changes after INSTANT are not in it: tokens revoked and members erased since then are back.\n',
    ])
    expect(statSync(file('restored.sqlite')).mode & 0o777).toBe(0o600)
    expect(leftOf('restored.sqlite')).toEqual(['restored.sqlite'])
    await expectComplete(file('restored.sqlite'))
  })

  test('restore uses the key next to the new database if no other key is configured', async () => {
    copyFileSync(key, `${file('fresh.sqlite')}.key`)
    chmodSync(`${file('fresh.sqlite')}.key`, 0o600)
    const words = ['restore', file('backup.age'), '--to', file('fresh.sqlite'), '--yes']
    const child = Bun.spawnSync([...theProgram, ...words], { env: {} })
    expect([child.exitCode, child.stderr.toString()]).toEqual([0, ''])
  })

  test('restore never overwrites a file, and is refused next to the log of another database', async () => {
    writeFileSync(file('there.sqlite'), 'as it was')
    expect(await restore(file('backup.age'), file('there.sqlite'))).toEqual(
      refused('the file already exists\nTry: choose another path'),
    )
    expect(readFileSync(file('there.sqlite'), 'utf8')).toBe('as it was')
    for (const end of ['-wal', '-shm', '-journal']) {
      const left = `${file('log.sqlite')}${end}`
      writeFileSync(left, '')
      expect(await restore(file('backup.age'), file('log.sqlite'))).toEqual(
        refused(
          `${left} belongs to another database\nTry: stop all servers of this path, then move the file away (docs/incident.md)`,
        ),
      )
      rmSync(left)
    }
  })

  test('restore creates no file for a missing backup, a damaged backup, a backup of a sandbox or a wrong master key', async () => {
    const to = file('nothing.sqlite')
    writeFileSync(file('text'), 'canary')
    copyFileSync(file('backup.age'), file('cut.age'))
    truncateSync(file('cut.age'), 70_000)
    copyFileSync(file('plain.sqlite'), file('cut.sqlite'))
    truncateSync(file('cut.sqlite'), 70_000)
    writeFileSync(file('other.key'), `${Buffer.alloc(32, 9).toString('base64')}\n`, { mode: 0o600 })
    const other = ['--master-key-file', file('other.key')]
    const kept = file('sandbox.sqlite')
    {
      await using sandbox = await startSandbox(['--database', kept, ...withFewProviders])
      await sandbox.stop()
    }
    const cases: [string, string[], string | RegExp][] = [
      [file('text'), [], /: the file is not a backup$/],
      [file('cut.age'), [], /: the backup is damaged\nTry: use another backup$/],
      [
        file('cut.sqlite'),
        [],
        /: (the copy is damaged\nTry: check the disk, then try again|the database file is damaged\nTry: .*)$/,
      ],
      [
        file('backup.age'),
        other,
        /: the master key does not decrypt the backup\nTry: use the master key from the time of the backup$/,
      ],
      [
        file('plain.sqlite'),
        other,
        /: the master key does not fit this database\nTry: use its current master key$/,
      ],
      [kept, ['--master-key-file', `${kept}.key`], /: the database is not a production database$/],
      [file('absent'), [], /: no such file or folder$/],
    ]
    for (const [backup, flags, message] of cases) {
      const { code, stdout, stderr } = await restore(backup, to, ...flags)
      expect([backup, code === 0, stdout]).toEqual([backup, false, ''])
      expect(stderr.trim(), backup).toMatch(message)
      expect(leftOf('nothing.sqlite')).toEqual([])
    }
  })

  test('restore needs the old master key for backups before a rotation, and the new master key for later backups', async () => {
    copyFileSync(key, file('old.key'))
    chmodSync(file('old.key'), 0o600)
    expect(await operator.ask('key', 'rotate', '--yes')).toEqual({
      masterKeyFile: key,
      resumed: false,
      purged: true,
    })
    await operator.do('backup', file('after.age'))
    expect((await restore(file('backup.age'), file('before.sqlite'))).stderr).toContain(
      'does not decrypt the backup',
    )
    expect((await restore(file('after.age'), file('after.sqlite'))).code).toBe(0)
    await expectComplete(file('after.sqlite'))
    const old = ['--master-key-file', file('old.key')]
    expect((await restore(file('backup.age'), file('before.sqlite'), ...old)).code).toBe(0)
    expect((await restore(file('after.age'), file('never.sqlite'), ...old)).code).toBe(6)
  })
})
