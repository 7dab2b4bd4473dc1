import { describe, expect, test } from 'bun:test'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename } from 'node:path'
import {
  asidePath,
  beginFile,
  beginFolder,
  removeAbandoned,
  removeAbandonedFiles,
  writeDurably,
} from '../../src/files/durable'
import { Folder } from '../support/folder'

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

describe('files: a new durable file', () => {
  test('a new file gets its name only when it is complete, and leaves no temporary file', () => {
    using folder = new Folder()
    const path = folder.file('a')
    {
      using file = beginFile(path)
      writeFileSync(file.path, 'half')
      expect(readdirSync(folder.path)).toEqual([
        expect.stringMatching(/^a\.unfinished-[0-9a-f]+-\d+-[0-9a-f]{8}$/),
      ])
      writeFileSync(file.path, 'whole')
      file.publish()
    }
    expect(readdirSync(folder.path)).toEqual(['a'])
    expect([readFileSync(path, 'utf8'), modeOf(path)]).toEqual(['whole', '600'])
  })

  test('a new file leaves no temporary file if writing it fails', () => {
    using folder = new Folder()
    expect(() => {
      using file = beginFile(folder.file('a'))
      writeFileSync(file.path, 'half')
      throw new Error('no room')
    }).toThrow('no room')
    expect(readdirSync(folder.path)).toEqual([])
  })

  test.each([
    ['a file', (path: string) => writeFileSync(path, 'theirs')],
    ['a folder', (path: string) => mkdirSync(path)],
    ['a dangling link', (path: string) => symlinkSync('/nowhere/at/all', path)],
  ])('a new file never replaces %s that has the same name', (_, make) => {
    using folder = new Folder()
    make(folder.file('a'))
    expect(() => writeDurably(folder.file('a'), 'ours')).toThrow(expect.objectContaining({ code: 'EEXIST' }))
    expect(readdirSync(folder.path)).toEqual(['a'])
  })

  test('a new file never replaces a file that another process created meanwhile', () => {
    using folder = new Folder()
    using file = beginFile(folder.file('a'))
    writeFileSync(folder.file('a'), 'theirs')
    expect(() => file.publish()).toThrow(expect.objectContaining({ code: 'EEXIST' }))
    expect(readFileSync(folder.file('a'), 'utf8')).toBe('theirs')
  })

  test('a durable write with `replace` replaces a file, also behind a link, but never a folder', () => {
    using folder = new Folder()
    writeFileSync(folder.file('a'), 'old')
    symlinkSync(folder.file('a'), folder.file('link'))
    writeDurably(folder.file('link'), 'new', { replace: true })
    expect(readFileSync(folder.file('a'), 'utf8')).toBe('new')
    mkdirSync(folder.file('folder'))
    expect(() => writeDurably(folder.file('folder'), 'new', { replace: true })).toThrow(
      expect.objectContaining({ code: 'EEXIST' }),
    )
  })
})

/** The temporary path of a process that was killed. No system assigns a process id this large. */
const killed = (path: string) => asidePath(path).replace(`-${process.pid}-`, '-99999999-')

test('files: temporary files of a killed process are removed at once, and temporary files of a running process are kept', () => {
  using folder = new Folder()
  const [a, b] = [folder.file('a'), folder.file('b')]
  const kept = [a, asidePath(a), killed(b)]
  for (const path of [...kept, killed(a), `${killed(a)}-journal`]) writeFileSync(path, '')
  const left = killed(a)
  mkdirSync(left)
  writeFileSync(`${left}/made`, '')
  removeAbandoned(a)
  expect(readdirSync(folder.path).sort()).toEqual(kept.map((path) => basename(path)).sort())
  removeAbandonedFiles(a)
  expect(readdirSync(folder.path)).not.toContain(basename(kept[2] as string))
})

test('files: temporary files of another machine or container are removed after ten minutes', () => {
  using folder = new Folder()
  const longAgo = new Date(Date.now() - 11 * 60_000)
  const [old, recent] = ['1', '2'].map((end) => folder.file(`a.unfinished-00000000-1-0000000${end}`)) as [
    string,
    string,
  ]
  for (const path of [old, recent]) writeFileSync(path, '')
  utimesSync(old, longAgo, longAgo)
  removeAbandoned(folder.file('a'))
  expect(readdirSync(folder.path)).toEqual([basename(recent)])
})

test.if(process.getuid?.() === 0)(
  'files: temporary files of another user in a shared folder do not prevent a new file',
  () => {
    using folder = new Folder()
    chmodSync(folder.path, 0o1777)
    const theirs = folder.file('a.unfinished-00000000-1-00000001')
    const longAgo = new Date(Date.now() - 11 * 60_000)
    writeFileSync(theirs, '')
    utimesSync(theirs, longAgo, longAgo)
    process.seteuid?.('nobody')
    try {
      using made = beginFolder(folder.file('a'))
      expect(readdirSync(folder.path).sort()).toEqual([basename(theirs), basename(made.path)].sort())
    } finally {
      process.seteuid?.(0)
    }
    expect(readdirSync(folder.path)).toEqual([basename(theirs)])
  },
)
