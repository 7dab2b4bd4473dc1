import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { Folder } from '../support/folder'

const canTrace =
  Bun.which('strace') !== null && Bun.spawnSync(['strace', '-o', '/dev/null', 'true']).exitCode === 0

/** Runs createMasterKey under strace and returns its sync, link and rename calls in the folder. */
function callsFor(folder: Folder, ...words: string[]): (string | undefined)[] {
  const module = new URL('../../src/vault/master-key-file.ts', import.meta.url).pathname
  const { exitCode } = Bun.spawnSync([
    ...['strace', '-f', '-y', '-e', 'trace=fsync,fdatasync,link,linkat,rename,renameat,renameat2', ...words],
    ...['-o', folder.file('trace'), process.execPath, '-e'],
    `(await import(${JSON.stringify(module)})).createMasterKey(${JSON.stringify(folder.file('key'))})`,
  ])
  expect(exitCode).toBe(0)
  return readFileSync(folder.file('trace'), 'utf8')
    .split('\n')
    .filter((line) => line.includes(folder.path))
    .map((line) => line.replaceAll(folder.path, 'FOLDER').replace(/unfinished-[\w-]+/g, 'unfinished'))
    .map((line) => /(fsync|link|rename)\w*\((?:.*?<)?"?(FOLDER[^>",]*)/.exec(line)?.slice(1).join(' '))
}

test.skipIf(!canTrace)(
  'files: a new master key file is synced before it gets its name, and the folder is synced afterwards (skipped without strace)',
  () => {
    using folder = new Folder()
    expect(callsFor(folder)).toEqual([
      'fsync FOLDER/key.unfinished',
      'link FOLDER/key.unfinished',
      'fsync FOLDER',
    ])
  },
)

test.skipIf(!canTrace)(
  'files: a new file gets its name by a rename if the file system has no hard links (skipped without strace)',
  () => {
    using folder = new Folder()
    expect(callsFor(folder, '-e', 'inject=link,linkat:error=EPERM')).toEqual([
      'fsync FOLDER/key.unfinished',
      'link FOLDER/key.unfinished',
      'rename FOLDER/key.unfinished',
      'fsync FOLDER',
    ])
    expect(readdirSync(folder.path).sort()).toEqual(['key', 'trace'])
  },
)
