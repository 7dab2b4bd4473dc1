import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, Program } from '../support/process'
import { Project } from './project'

const root = new URL('../..', import.meta.url).pathname
const fewProviders = join(root, 'test/support/few-providers.json')
const node = Bun.which('node')
const runtimes = [...(node ? [node] : []), process.execPath]

let project: Project
beforeAll(() => {
  project = new Project()
  cpSync(join(import.meta.dir, 'acts.ts'), project.file('acts.mts'))
  const program = readFileSync(project.file('acts.mts'), 'utf8')
  writeFileSync(project.file('acts.mjs'), new Bun.Transpiler({ loader: 'ts' }).transformSync(program))
})
afterAll(() => project[Symbol.dispose]())

const leftovers = () => readdirSync(project.temporary).filter((name) => name.startsWith('anteroom-'))

/** What acts.ts prints. */
const acts = `alike [true,true,"q=500"]
moved [["accepted",1,"2026-12-01T16:45:00Z"],["pending",2,"2026-12-01T16:45:00Z"]]
cancelled [["cancelled",2,"2026-12-01T16:45:00Z"],[409,"move_unknown","a request that is cancelled cannot be accepted"]]
declined [["pending",1,"2026-12-01T15:15:00Z"],["declined",1,"2026-12-01T15:15:00Z"]]
closed [["closed",null,null],[404,"record_unknown","there is no such request"]]
assigned [["pending",2,null]]
refused [[400,"field_invalid","utcStartTime: is required"]]
deactivated [{"externalUserId":"member/1","active":false},403]
reactivated [{"externalUserId":"member/1","active":true},200]
erased [{"externalUserId":"member/1","erased":true},404]
refused [[404,"record_unknown","there is no member with that id"]]
deactivated [{"name":"Willow Commons","active":false},401]
reactivated [{"name":"Willow Commons","active":true},200]
advanced [{"now":"2026-12-01T10:30:00Z","frozen":true}]
rotated [401,200]
later [{"now":"2027-01-01T09:00:00Z","frozen":true},"2027-01-01T16:45:00Z",6]
unfrozen [false,true]
refused [[400,"field_invalid","to: must not be before the present time of the clock"]]
outcomes [{"operation":"listProviderRegions","times":1,"code":"overloaded"}]
overloaded [503,200]
dropped ["dropped",200]
cleared [null,200]
refused [[400,"field_invalid","drop: must be one of before, after"]]
reset [true,404,2]
reset ["2028-02-03T16:45:00Z",{"now":"2026-12-01T09:00:00Z","frozen":true}]
refused [[null,null,"startSandbox has no option forzen"],[null,null,"anteroom-sandbox: option '--now <instant>' must be a UTC time from 2000 to 2498, for example 2026-12-01T09:00:00Z"]]
refused [[null,null,"startSandbox has no limit reads"]]
stopped [true]
`

describe('packages: startSandbox', () => {
  test('has types for strict projects without other types, and rejects wrong arguments', async () => {
    const words = [
      '--noEmit',
      '--strict',
      '--target',
      'es2022',
      '--lib',
      'es2022,dom',
      '--module',
      'nodenext',
    ]
    const compiler = [process.execPath, join(root, 'node_modules/typescript/bin/tsc')]
    const { code, stdout } = await project.run([...compiler, ...words, '--types', '', 'acts.mts'])
    expect([code, stdout]).toEqual([0, ''])
  })

  test.each(runtimes)('sets the clock and outcomes, and acts as staff, in %s', async (runtime) => {
    const words = [runtime, 'acts.mjs', fewProviders, readFileSync(fewProviders, 'utf8')]
    const { stdout, stderr } = await project.run(words)
    expect([stderr, stdout]).toEqual(['', acts])
    expect(leftovers()).toEqual([])
  })

  test.each(runtimes)(
    'leaves nothing behind when the test runner is killed or does not stop it, in %s',
    async (runtime) => {
      const start =
        "import { startSandbox } from 'anteroom-sandbox'; console.log((await startSandbox()).baseUrl)"
      writeFileSync(project.file('forgets.mjs'), start)
      writeFileSync(project.file('waits.mjs'), `${start}; setInterval(() => {}, 1000)`)
      const { env } = project
      const forgetful = await project.run([runtime, 'forgets.mjs'])
      expect(forgetful).toEqual({ code: 0, stdout: expect.stringContaining('http://127.0.0.1:'), stderr: '' })
      await using killed = new Program(['waits.mjs'], { command: [runtime], cwd: project.file(''), env })
      await eventually('the sandbox to be ready', () => killed.stdout !== '')
      expect(leftovers()).not.toEqual([])
      await killed.stop('SIGKILL')
      await eventually('the data to be deleted', () => leftovers().length === 0)
      const refused = await fetch(killed.stdout.trim()).then(
        () => false,
        () => true,
      )
      expect(refused).toBe(true)
    },
  )
})
