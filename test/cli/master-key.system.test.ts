import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Folder, folders } from '../support/folder'
import { Operator } from '../support/operator'
import { theProgram } from '../support/process'

describe('cli: the master key of a database', () => {
  const operator = new Operator(theProgram)
  const key = operator.folder.file('keys/master.key')
  const there = ['--master-key-file', key]

  beforeAll(async () => {
    mkdirSync(operator.folder.file('keys'), { mode: 0o700 })
    await operator.do('init')
    renameSync(`${operator.database}.key`, key)
  })
  afterAll(() => operator[Symbol.dispose]())

  const list = ['organization', 'list']
  const refused = (stderr: string) => ({ code: 6, signal: null, stdout: '', stderr: `error: ${stderr}\n` })

  test('the key is read from a file, a file descriptor, the environment or a systemd credential', async () => {
    const listed = await operator.run([...list, ...there])
    expect([listed.code, listed.stderr]).toEqual([0, ''])
    const base64 = (await Bun.file(key).text()).trim()
    expect(await operator.run(list, '', { ANTEROOM_MASTER_KEY: base64 })).toEqual(listed)
    expect(await operator.run(list, `${base64}\n`, { ANTEROOM_MASTER_KEY_FD: '0' })).toEqual(listed)
    expect(await operator.runShell(`organization list --master-key-fd 3 3< '${key}'`)).toEqual(listed)
    const pipe = { ANTEROOM_DATABASE: operator.database, ANTEROOM_MASTER_KEY_FD: '0' }
    const piped = Bun.spawnSync(
      ['sh', '-c', 'cat "$0" | { sleep 0.2; "$@"; }', key, ...theProgram, ...list],
      {
        env: { PATH: '/usr/bin:/bin', ...pipe },
      },
    )
    expect(piped.stdout.toString()).toBe(listed.stdout)
    const credentials = operator.folder.file('credentials')
    mkdirSync(credentials)
    const settings = { CREDENTIALS_DIRECTORY: credentials }
    const absent = 'set LoadCredential in the unit, or use --master-key-file'
    expect(await operator.run(list, '', settings)).toEqual(
      refused(`systemd passed no credential anteroom-master-key\nTry: ${absent}`),
    )
    copyFileSync(key, join(credentials, 'anteroom-master-key'))
    chmodSync(join(credentials, 'anteroom-master-key'), 0o440)
    expect(await operator.run(list, '', settings)).toEqual(listed)
  })

  test.each(['644', '640', '604', '660', '601', '770'])(
    'a key file with mode %s is refused, and the error names the chmod command',
    async (mode) => {
      chmodSync(key, Number.parseInt(mode, 8))
      const line = refused(`other users can access the master key file ${key}\nTry: chmod 600 ${key}`)
      for (const words of [list, ['doctor'], ['serve', '--base-url', 'https://x.example'], ['migrate']]) {
        expect(await operator.run([...words, ...there]), words[0]).toEqual(line)
      }
      chmodSync(key, 0o600)
    },
  )

  test('for a symbolic link, the mode of the target file is checked', async () => {
    const link = operator.folder.file('link')
    symlinkSync(key, link)
    expect((await operator.run([...list, '--master-key-file', link])).code).toBe(0)
    chmodSync(key, 0o644)
    expect(await operator.run([...list, '--master-key-file', link])).toEqual(
      refused(`other users can access the master key file ${link}\nTry: chmod 600 ${link}`),
    )
    chmodSync(key, 0o600)
    rmSync(link)
  })

  test.if(process.getuid?.() === 0)(
    'a key file of another user is refused, unless that user also owns the database',
    async () => {
      chownSync(key, 12_345, 12_345)
      expect(await operator.run([...list, ...there])).toEqual(
        refused(
          `the master key file ${key} belongs to another user\nTry: change its owner, then run chmod 600 ${key}`,
        ),
      )
      chownSync(operator.database, 12_345, 12_345)
      expect((await operator.run([...list, ...there])).code).toBe(0)
      for (const path of [key, operator.database]) chownSync(path, 0, 0)
    },
  )

  test('a key from an open pipe is refused after 10 s, and a key from a device or a closed descriptor is refused at once', async () => {
    const start = performance.now()
    expect(await operator.runShell('organization list --master-key-fd 3 3< /dev/zero')).toEqual(
      refused("the master key's file descriptor is a device or folder\nTry: use a file or a pipe"),
    )
    expect(await operator.runShell('organization list --master-key-fd 9 9<&-')).toEqual(
      refused("the master key's file descriptor is not open"),
    )
    expect(performance.now() - start).toBeLessThan(5_000)
    Bun.spawnSync(['mkfifo', operator.folder.file('pipe')])
    // The shell keeps the pipe open while the command runs.
    expect(await operator.runShell('organization list --master-key-fd 3 3<> pipe')).toEqual(
      refused(
        "the master key's file descriptor did not end within 10 s\nTry: close the pipe in the program that writes to it",
      ),
    )
    expect((await operator.run(list, 'y\n'.repeat(100_000), { ANTEROOM_MASTER_KEY_FD: '0' })).stderr).toBe(
      'error: the master key from the file descriptor is too large\n',
    )
  })
})

/** A folder on another disk than the test folders, or undefined. */
const otherDisk = [tmpdir(), '/dev/shm'].find(
  (folder) => existsSync(folder) && statSync(folder).dev !== statSync(folders).dev,
)

describe('cli: key rotate', () => {
  test('key rotate warns before its question that it overwrites the key file, and keeps the file if the answer is no', async () => {
    using operator = new Operator(theProgram)
    await operator.do('init')
    const key = `${operator.database}.key`
    const before = readFileSync(key, 'utf8')
    const asked = async (...flags: string[]) => {
      let shown = ''
      const child = Bun.spawn([...theProgram, 'key', 'rotate', ...flags], {
        env: { ANTEROOM_DATABASE: operator.database },
        terminal: {
          cols: 300,
          data(terminal, bytes) {
            const hadAsked = shown.includes('[y/N]')
            shown += Buffer.from(bytes).toString()
            if (!hadAsked && shown.includes('[y/N]')) terminal.write('n\n')
          },
        },
      })
      expect(await child.exited).toBe(2)
      return shown
    }
    expect(await asked()).toContain(
      'keep a copy of the key as long as you keep the backups. Its file will be overwritten. Replace the master key? [y/N]',
    )
    expect(await asked('--new-key-file', operator.folder.file('new'))).not.toContain('overwritten')
    expect(readFileSync(key, 'utf8')).toBe(before)
  })
})

describe('cli: init', () => {
  test('if the key file is in the folder of the database, init explains why and how to move the key file', async () => {
    using operator = new Operator(theProgram)
    const { database } = operator
    const output = await operator.do('init')
    expect(output).toContain(
      'The key file is in the same folder as the database. A copy of that folder is enough to read all sealed data.\n',
    )
    const place = process.getuid?.() === 0 ? '/etc/anteroom' : '~/.config/anteroom'
    expect(output).toContain(
      `  mkdir -p -m 700 ${place} && mv -n ${database}.key ${place}/anteroom.sqlite.key\n` +
        `  export ANTEROOM_MASTER_KEY_FILE=${place}/anteroom.sqlite.key\n`,
    )
    rmSync(database)
    mkdirSync(operator.folder.file('apart'))
    const apart = operator.folder.file('apart/key')
    const brief = await operator.do('init', '--master-key-file', apart)
    expect(brief).toContain(`Created the master key ${apart}. Keep a copy of it`)
    expect(brief).not.toContain('same folder')
    expect(statSync(apart).mode & 0o777).toBe(0o600)
  })

  test.if(otherDisk !== undefined)(
    'init can create the key and the database on different disks, and can continue after a kill',
    async () => {
      using operator = new Operator(theProgram)
      using folder = new Folder(otherDisk)
      const key = folder.file('key')
      await operator.do('init', '--master-key-file', key)
      expect([readdirSync(folder.path), statSync(key).mode & 0o777]).toEqual([['key'], 0o600])
      expect(readdirSync(operator.folder.path)).toEqual(['anteroom.sqlite'])
      await operator.do('organization', 'list', '--master-key-file', key)

      // Recreates the files of a killed init: the unfinished folder contains the key, and the database has no name yet.
      const aside = `${operator.database}.unfinished-0a1b2c3d`
      mkdirSync(aside)
      copyFileSync(key, `${aside}/key`)
      renameSync(operator.database, `${aside}/whole`)
      await operator.do('init', '--master-key-file', key)
      await operator.do('organization', 'list', '--master-key-file', key)
      expect(readdirSync(operator.folder.path)).toEqual(['anteroom.sqlite'])
    },
  )

  test('init with a key from a file descriptor creates a database for that key, and no key file', async () => {
    using operator = new Operator(theProgram)
    const key = `${Buffer.alloc(32, 9).toString('base64')}\n`
    const { code, stdout } = await operator.run(['init', '--master-key-fd', '0'], key)
    expect([code, stdout.split('\n')[1]]).toEqual([0, ''])
    expect(await Bun.file(`${operator.database}.key`).exists()).toBe(false)
    expect((await operator.run(['organization', 'list'], key, { ANTEROOM_MASTER_KEY_FD: '0' })).code).toBe(0)
  })
})
