import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { offersFor } from '../../src/cli/completion/completion'
import { createProgram } from '../../src/cli/program'
import { provider, region } from '../support/builders'
import { Operator } from '../support/operator'
import { theProgram } from '../support/process'

// Slow: the setup starts one process per command.
setDefaultTimeout(300_000)

const operator = new Operator()

beforeAll(async () => {
  await operator.do('init')
  await operator.do('organization', 'add', 'North Care')
  await operator.do('partner', 'add', 'Lantern', '--organization', 'North Care')
  const named = { firstName: 'Canary', lastName: 'Canary' }
  const providers = [provider('on-001', named), provider('on-002', named), provider('qc-001', named)]
  await operator.loadDirectory({ regions: [region()], providers })
})

afterAll(() => {
  operator[Symbol.dispose]()
})

function offers(line: string): Promise<readonly string[]> {
  const words = line.split(' ')
  return offersFor(['--database', operator.database, ...words], createProgram)
}

describe('cli: completion', () => {
  test.each<[string, readonly string[]]>([
    ['tok', ['token']],
    ['re', ['request', 'restore']],
    ['token iss', ['issue']],
    ['help back', ['backup']],
    ['help backup ', ['drill']],
    ['token list --js', ['--json']],
    ['--data', ['--database']],
    ['token --zon', ['--zones']],
    ['organization list --database ', [':files']],
    ['--zones ', [':folders']],
    ['completion ', ['bash', 'zsh', 'fish']],
    ['directory export --format ', ['json', 'csv']],
    ['directory export --format = c', ['csv']],
    ['directory export --format=c', ['--format=csv']],
    ['directory load ', [':files']],
    ['directory load one.json ', [':files']],
    ['partner show ', ['Lantern']],
    ['partner show Lantern ', []],
    ['partner add New --organization ', ['North Care']],
    ['partner set-organization Lantern N', ['North Care']],
    ['provider show on', ['on-001', 'on-002']],
    ['provider list --region ', ['CA-ON']],
    ['request show ', []],
    ['nosuch ', []],
  ])('the completions of the line %p are %p', async (line, offered) => {
    expect(await offers(line)).toEqual(offered)
  })

  test('the internal command complete is not offered', async () => {
    const all = await offers('')
    expect(all).toContain('completion')
    expect(all).not.toContain('complete')
  })
})

test('cli: completion prints nothing for a missing or damaged database, and creates no file', async () => {
  const before = readdirSync(operator.folder.path).sort()
  const missing = operator.folder.file('missing.sqlite')
  const damaged = operator.folder.file('directory.json')
  for (const database of [missing, damaged, operator.folder.path, '']) {
    const { code, stdout, stderr } = await operator.run(['complete', '--', 'partner', 'show', ''], '', {
      ANTEROOM_DATABASE: database,
    })
    expect([code, stdout, stderr]).toEqual([0, '', ''])
  }
  expect(await offers('partner show ')).toEqual(['Lantern'])
  expect(readdirSync(operator.folder.path).sort()).toEqual(before)
})

test('cli: completion never offers the name of a person', async () => {
  for (const line of ['provider show ', 'request show ', 'member show ', 'request assign 1 --provider ']) {
    expect((await offers(line)).join()).not.toContain('Canary')
  }
})

test('cli: completion next to a running service reads the latest changes', async () => {
  await using service = await operator.serve()
  await operator.do('partner', 'add', 'Beacon')
  expect(await offers('partner show ')).toEqual(['Lantern', 'Beacon'])
  expect((await service.stop()).code).toBe(0)
  await operator.do('partner', 'deactivate', 'Beacon', '--yes')
})

describe('cli: completion in a shell', () => {
  const path = `${dirname(theProgram[0] as string)}:${process.env.PATH}`

  async function shell(command: readonly string[]): Promise<string> {
    const child = Bun.spawn([...command], {
      cwd: operator.folder.path,
      env: { PATH: path, ...operator.settings, HOME: operator.folder.path, TERM: 'dumb' },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    return await child.stdout.text()
  }

  test.skipIf(!Bun.which('bash'))('bash completes commands and quotes values', async () => {
    const ask = (...words: string[]) =>
      `COMP_WORDS=(anteroom ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _anteroom 2>/dev/null; printf '%s|' "\${COMPREPLY[@]}"; echo`
    const script = [
      ask('req'),
      ask('directory', 'export', '--format', '=', 'c'),
      ask('organization', 'deactivate', 'N'),
    ]
    const text = await shell(['bash', '-c', `source <(anteroom completion bash)\n${script.join('\n')}`])
    expect(text).toBe('request|\ncsv|\nNorth\\ Care|\n')
  })

  test.skipIf(!Bun.which('bash'))('bash completion escapes special characters within quotes', async () => {
    await operator.do('organization', 'add', "$(touch x) `it's`")
    const ask = (word: string) =>
      `COMP_WORDS=(anteroom organization deactivate ${word}); COMP_CWORD=3; _anteroom 2>/dev/null; echo "\${COMPREPLY[0]}"`
    const script = [ask(`'"$'`), ask(`"'$"`)].join('\n')
    const text = await shell(['bash', '-c', `source <(anteroom completion bash)\n${script}`])
    expect(text).toBe("\\$(touch x) \\`it's\\`\n$(touch x) `it'\\''s`\n")
  })

  test.skipIf(!Bun.which('zsh'))(
    'zsh loads the completion from a sourced script and from a file in fpath',
    async () => {
      const sourced =
        'autoload -Uz compinit && compinit -u -D; source <(anteroom completion zsh); print $_comps[anteroom]'
      expect(await shell(['zsh', '-f', '-c', sourced])).toBe('_anteroom\n')
      await operator.runShell('completion zsh > _anteroom')
      const found = 'fpath=($PWD $fpath); autoload -Uz compinit && compinit -u -D; print $_comps[anteroom]'
      expect(await shell(['zsh', '-f', '-c', found])).toBe('_anteroom\n')
    },
  )

  test.skipIf(!Bun.which('fish'))(
    'fish completes commands and values, and file names only for file arguments',
    async () => {
      const ask = (line: string) => `complete -C '${line}'`
      const script = ['anteroom req', 'anteroom completion ', 'anteroom directory load direct']
        .map(ask)
        .join('\n')
      const text = await shell(['fish', '--no-config', '-c', `anteroom completion fish | source\n${script}`])
      expect(text).toBe('request\nbash\nfish\nzsh\ndirectory.json\n')
    },
  )
})
