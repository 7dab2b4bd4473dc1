import { describe, expect, test } from 'bun:test'
import type { Command } from 'commander'
import { errorText } from '../../src/cli/errors'
import { createProgram } from '../../src/cli/program'
import { Refusal } from '../../src/domain/errors'
import { provider, region } from '../support/builders'
import { CommandLine, runInProcess } from '../support/command-line'

async function errorOf(line: string): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(line.split(' '))
  expect([code, stdout]).toEqual([2, ''])
  return stderr
}

describe('cli: errors of a command line', () => {
  test.each([
    ['request refuse 12', 'refuse', 'anteroom request decline'],
    ['request reject', 'reject', 'anteroom request decline'],
    ['request reschedule', 'reschedule', 'anteroom request move'],
    ['partner create', 'create', 'anteroom partner add'],
    ['partner NEW', 'NEW', 'anteroom partner add'],
    ['partner ls', 'ls', 'anteroom partner list'],
    ['member delete', 'delete', 'anteroom member erase'],
    ['token delete', 'delete', 'anteroom token revoke'],
    ['provider time-off delete', 'delete', 'anteroom provider time-off remove'],
    ['request delete', 'delete', 'anteroom request --help'],
    ['tokn', 'tokn', 'anteroom token'],
    ['request declien', 'declien', 'anteroom request decline'],
    ['nosuch', 'nosuch', 'anteroom --help'],
  ])(
    'the error of "%s" suggests the existing command with a similar meaning or spelling',
    async (line, word, hint) => {
      expect(await errorOf(line)).toBe(`error: unknown command '${word}'\nTry: ${hint}\n`)
    },
  )

  test.each([
    ['partner add', "missing argument 'name'", 'partner add [options] <name>'],
    ['request accept', "missing argument 'requests'", 'request accept [options] <requests...>'],
    ['partner list Lantern', 'too many arguments', 'partner list [options]'],
  ])('the error of "%s" shows the usage line', async (line, fault, usage) => {
    expect(await errorOf(line)).toBe(`error: ${fault}\nUsage: anteroom ${usage}\n`)
  })

  test('the error of each missing required option shows the usage line', async () => {
    const required: string[][] = []
    const visit = (command: Command, path: string[]) => {
      const values = command.registeredArguments.map(({ argChoices }) => argChoices?.[0] ?? '1')
      if (command.options.some(({ mandatory }) => mandatory)) required.push([...path, ...values])
      for (const below of command.commands) visit(below, [...path, below.name()])
    }
    visit(await createProgram(), [])
    expect(required.length).toBeGreaterThan(3)
    for (const words of required) {
      expect(await errorOf(words.join(' '))).toMatch(
        /^error: missing option '--?[^']+'\nUsage: anteroom [^\n]+\n$/,
      )
    }
  })

  test.each([
    ['doctor --jsn', "unknown option '--jsn'", '--json'],
    ['request decline 1 --dryrun', "unknown option '--dryrun'", '--dry-run'],
    ['doctor --nosuch', "unknown option '--nosuch'", 'anteroom doctor --help'],
  ])(
    'the error of "%s" suggests the option with the nearest spelling, or the help',
    async (line, fault, hint) => {
      expect(await errorOf(line)).toBe(`error: ${fault}\nTry: ${hint}\n`)
    },
  )

  test('the error of an option with an unexpected value does not repeat the value', async () => {
    expect(await errorOf('doctor --json=x')).toBe("error: option '--json' takes no value\n")
  })

  test.each([
    [['foo\nTry: bar'], "error: unknown command 'foo Try: bar'\nTry: anteroom --help\n"],
    [['doctor', '--foo\nTry: bar'], "error: unknown option '--foo Try: bar'\nTry: anteroom doctor --help\n"],
  ])('line breaks in the words %p add no line to the error', async (words, text) => {
    expect((await runInProcess(words)).stderr).toBe(text)
  })

  test.each([
    ['request show Quinn', "argument 'request' must be a whole number from 1"],
    ['completion Quinn', "argument 'shell' must be one of bash, zsh, fish"],
    [
      'audit list --since Quinn',
      "option '--since <instant>' must be a UTC time, for example 2026-12-01T14:00:00Z",
    ],
    ['doctor --nosuch=Quinn', "unknown option '--nosuch'\nTry: anteroom doctor --help"],
  ])('the error of "%s" does not repeat the rejected value', async (line, fault) => {
    expect(await errorOf(line)).toBe(`error: ${fault}\n`)
  })

  test('a storage option without a value at the end of the line is an error', async () => {
    expect(await errorOf('partner list --database')).toBe("error: option '--database' needs a value\n")
  })

  test.each([
    ['ANTEROOM_DATABSE', 'ANTEROOM_DATABASE'],
    ['ANTEROOM_MASTERKEY', 'ANTEROOM_MASTER_KEY'],
  ])('the misspelled setting %s is reported with the correct name %s', async (misspelled, meant) => {
    const { code, stderr } = await runInProcess(['doctor'], { settings: { [misspelled]: '/nowhere' } })
    const fault = `${misspelled}: is not a setting; did you mean ${meant}?`
    expect([code, stderr.includes(fault)]).toEqual([2, true])
  })

  test('the tokens that `sandbox -- COMMAND` passes on are not taken for misspelled settings', async () => {
    const settings = { ANTEROOM_TOKEN: 'a', ANTEROOM_CONTROL_TOKEN: 'b', ANTEROOM_DATABSE: 'c' }
    const { stderr } = await runInProcess(['doctor'], { settings })
    expect([stderr.includes('DATABSE'), stderr.includes('TOKEN')]).toEqual([true, false])
  })
})

describe('cli: the error of an unknown name', () => {
  const setUp = async () => {
    const operator = new CommandLine()
    await operator.do('init')
    await operator.do('organization', 'add', 'North Care')
    for (const name of ['Lantern', 'Beacon']) await operator.do('partner', 'add', name)
    const path = operator.folder.file('directory.json')
    const refs = ['on-0006', 'on-0012', 'on-0031', 'on-0046']
    await Bun.write(
      path,
      JSON.stringify({ regions: [region()], providers: refs.map((ref) => provider(ref)) }),
    )
    await operator.do('directory', 'load', path)
    return operator
  }

  test('suggests the partner, organization or provider with a similar name, or else the list command', async () => {
    using operator = await setUp()
    const hintOf = async (...words: string[]) => {
      const { code, stderr } = await operator.run(words)
      const [what, hint] = stderr.split('\nTry: ')
      expect([words, code, what]).toEqual([
        words,
        3,
        expect.stringMatching(/^error: there is no [a-z, ]+ (id|name)$/),
      ])
      return hint
    }
    expect(await hintOf('partner', 'show', 'Lantren')).toBe('Lantern\n')
    expect(await hintOf('request', 'list', '--partner', 'lantern')).toBe('Lantern\n')
    expect(await hintOf('organization', 'rename', 'North Caer', 'South Care')).toBe("'North Care'\n")
    expect(await hintOf('provider', 'show', 'on-006')).toBe('on-0006\n')
    expect(await hintOf('provider', 'show', 'on-6')).toBe('on-0006\n')
    expect(await hintOf('request', 'list', '--provider', 'on-0021')).toBe('on-0012\n')
    expect(await hintOf('partner', 'show', 'Nosuch')).toBe('anteroom partner list\n')
    expect(await hintOf('provider', 'show', 'zz-9')).toBe('anteroom provider list\n')
  })

  test('suggests nothing for an unknown member, also with --json', async () => {
    using operator = await setUp()
    for (const more of [[], ['--json']]) {
      const words = ['member', 'show', '--partner', 'Lantern', '--external-id', 'x', ...more]
      const { code, stdout, stderr } = await operator.run(words)
      expect([code, stdout, stderr.includes('Try:')]).toEqual([3, '', false])
    }
  })
})

describe('cli: the text of an error', () => {
  test('the hint of a refusal is on its own line', () => {
    expect(errorText(new Refusal('name_taken', 'a\nb', { action: 'c' }), [])).toBe('error: a\nb\nTry: c')
  })

  test.each([
    ['try again', 'the same command again'],
    ['free some space', 'free some space'],
    ['run anteroom doctor', 'anteroom doctor'],
  ])('the action "%s" is shown as "Try: %s"', (action, shown) => {
    expect(errorText(new Refusal('storage_busy', 'it failed', { action }), [])).toBe(
      `error: it failed\nTry: ${shown}`,
    )
  })

  test('an inserted value with a semicolon is not shown as an action', () => {
    const refusal = new Refusal('record_unknown', 'there is no file at x; run anteroom key rotate')
    expect(errorText(refusal, [])).toBe('error: there is no file at x; run anteroom key rotate')
  })

  test('the message of a refusal contains its fault and its action', () => {
    const { message, fault, action } = new Refusal('storage_failed', 'the disk is full', {
      action: 'free some space',
    })
    expect([message, fault, action]).toEqual([
      'the disk is full; free some space',
      'the disk is full',
      'free some space',
    ])
  })

  test('a port in use names the option for another port', () => {
    const error = { code: 'EADDRINUSE', port: '80', address: '127.0.0.1' }
    expect(errorText(error, [])).toBe('error: port 80 of 127.0.0.1 is in use\nTry: another --port')
  })

  test('a file system error names the given path', () => {
    const error = { code: 'ENOENT', path: '/nowhere/a.json' }
    expect(errorText(error, ['load', '/nowhere/a.json'])).toBe(
      'error: /nowhere/a.json: no such file or folder',
    )
  })

  test('an unexpected error hides its message', () => {
    const text = errorText(new TypeError('Quinn'), [])
    expect(text).toBe('error: unexpected error (TypeError)\nTry: a bug report with this line')
  })
})
