import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { blocksOf } from '../support/page-commands'
import { Project } from './project'

// Runs the tests that docs/integrating.md and the package's README.md show, like a partner, if the test runner is in the PATH.
const guide = 'docs/integrating.md'
const [nodeTest = ''] = blocksOf(guide, 'js')
const [readmeTest = ''] = blocksOf('packages/sandbox/README.md', 'js')
const [, conftest = ''] = blocksOf(guide, 'python')
const [testMain = ''] = blocksOf(guide, 'go')
const [actions = ''] = blocksOf(guide, 'yaml')

const withImport = (module: string) =>
  nodeTest.replace(/^import .* from 'node:test'$/m, `import { afterAll as after, test } from '${module}'`)

const usesFixture = `from urllib.request import Request, urlopen
def test_regions(sandbox):
    url = f"{sandbox['baseUrl']}/partners/v1/provider-regions/?country_code=CA"
    headers = {"Authorization": f"Bearer {sandbox['partners'][0]['token']}"}
    assert urlopen(Request(url, headers=headers)).status == 200
`
// Calls curl, because compiling net/http takes minutes.
const usesVariables = `package bookings

import (
	"os"
	"os/exec"
	"testing"
)

func TestRegions(t *testing.T) {
	url := os.Getenv("ANTEROOM_BASE_URL") + "/partners/v1/provider-regions/?country_code=CA"
	if err := exec.Command("curl", "-sf", "-H", "Authorization: Bearer "+os.Getenv("ANTEROOM_TOKEN"), url).Run(); err != nil {
		t.Fatal(err)
	}
}
`
const goModule = 'module example.com/bookings\n\ngo 1.21\n'

const runners: readonly [name: string, words: readonly string[], files: Record<string, string>][] = [
  ['node --test', ['node', '--test'], { 'a.test.mjs': nodeTest, 'b.test.mjs': readmeTest }],
  ['bun test', [process.execPath, 'test'], { 'a.test.ts': withImport('bun:test'), 'b.test.mjs': readmeTest }],
  ['vitest', ['vitest', 'run'], { 'a.test.ts': withImport('vitest') }],
  ['pytest', ['pytest', '-q'], { 'conftest.py': conftest, 'test_regions.py': usesFixture }],
  [
    'go test',
    ['go', 'test', './...'],
    { 'go.mod': goModule, 'a_test.go': testMain, 'b_test.go': usesVariables },
  ],
]

let project: Project
beforeAll(() => {
  project = new Project()
})
afterAll(() => project[Symbol.dispose]())

function place(name: string, files: Record<string, string>): string {
  const folder = project.file(name.replaceAll(/\W/g, '-'))
  mkdirSync(folder)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  return folder
}

describe('packages: tests that the guide shows', () => {
  test.each(runners)('%s starts a sandbox, passes and leaves nothing behind', async (name, words, files) => {
    if (!Bun.which(words[0] as string)) {
      console.warn(`${words[0]} is not in the PATH; its test is skipped.`)
      return
    }
    const { code, stdout, stderr } = await project.run(words, place(name, files))
    expect([code, code === 0 ? '' : stdout + stderr]).toEqual([0, ''])
    expect(readdirSync(project.temporary).filter((each) => each.startsWith('anteroom-'))).toEqual([])
  })

  test('the sandbox runs a test runner and passes on its exit code', async () => {
    const words = ['anteroom', 'sandbox', '--', process.execPath, '-e']
    const { code } = await project.run([
      ...words,
      'process.exit((await fetch(process.env.ANTEROOM_BASE_URL)).ok ? 3 : 4)',
    ])
    expect(code).toBe(3)
  })

  test.skipIf(!Bun.which('npm'))(
    'the steps for GitHub Actions install the package and run the tests',
    async () => {
      const { steps } = Bun.YAML.parse(actions) as { steps: { run?: string }[] }
      const manifest = { private: true, scripts: { test: 'node --test' } }
      const folder = place('actions', { 'package.json': JSON.stringify(manifest), 'a.test.mjs': nodeTest })
      const npm = ['npm', 'install', '--offline', '--no-audit', '--no-fund', '--package-lock-only']
      expect((await project.run([...npm, ...project.tarballs], folder)).code).toBe(0)
      const { code, stdout, stderr } = await project.run(
        ['sh', '-ec', steps.flatMap(({ run }) => run ?? []).join('\n')],
        folder,
      )
      expect([code, code === 0 ? '' : stdout + stderr]).toEqual([0, ''])
      expect(stdout).toContain('pass 1')
    },
  )
})
