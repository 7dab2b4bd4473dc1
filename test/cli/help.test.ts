import { expect, test } from 'bun:test'
import type { Command } from 'commander'
import { findCommand } from '../../src/cli/command'
import { createProgram } from '../../src/cli/program'
import { runInProcess } from '../support/command-line'

// One file contains the help of every command. A reviewer sees each change there.
const page = new URL('../../fixtures/help.txt', import.meta.url).pathname

function textsOf(command: Command, words: readonly string[]): string[] {
  let shown = ''
  command.configureHelp({ ...command.configureHelp(), helpWidth: 100 }).configureOutput({
    writeOut: (text) => {
      shown += text
    },
  })
  command.outputHelp()
  const own = `$ ${[...words, '--help'].join(' ')}\n${shown}`
  return [own, ...command.commands.flatMap((below) => textsOf(below, [...words, below.name()]))]
}

test('cli: fixtures/help.txt contains the help of every command (RENEW_HELP=1 rewrites the file)', async () => {
  const program = await createProgram()
  const texts = textsOf(program, [program.name()]).join('\n')
  if (process.env.RENEW_HELP) await Bun.write(page, texts)
  expect(texts).toBe(await Bun.file(page).text())
})

test('cli: every command and every option has a description', async () => {
  const silent: string[] = []
  const visit = (command: Command, words: readonly string[]) => {
    if (!command.description()) silent.push(words.join(' '))
    for (const { flags, description } of command.options) {
      if (!description) silent.push([...words, flags].join(' '))
    }
    for (const below of command.commands) visit(below, [...words, below.name()])
  }
  visit(await createProgram(), [])
  expect(silent).toEqual([])
})

test('cli: help lists commands without loading them, with the same descriptions as the loaded commands', async () => {
  const [listed, loaded] = [await createProgram([]), await createProgram()]
  const described = ({ commands }: Command) =>
    commands.map((command) => [command.name(), command.description()])
  expect(described(listed)).toEqual(described(loaded))
})

test('cli: the help of a command lists storage options under a heading between the options and the examples', async () => {
  const { stdout } = await runInProcess(['token', 'issue', '--help'])
  const headings = stdout.match(/^\S.*:$/gm)
  expect(headings).toEqual([
    'Arguments:',
    'Options:',
    'Storage options (anywhere on the command line):',
    'Examples:',
  ])
})

test.each([
  ['nosuch', "unknown command 'nosuch'", 'anteroom --help'],
  ['nosuch --help', "unknown command 'nosuch'", 'anteroom --help'],
  ['tokn --help', "unknown command 'tokn'", 'anteroom token'],
  ['help tokn', "unknown command 'tokn'", 'anteroom token'],
  ['help token isue', "unknown command 'isue'", 'anteroom token issue'],
  ['help token issue Lantern', "unknown command 'Lantern'", 'anteroom token issue --help'],
  ['help token nosuch', "unknown command 'nosuch'", 'anteroom token --help'],
  ['help backup drlil', "unknown command 'drlil'", 'anteroom backup drill'],
  ['token isue --help', "unknown command 'isue'", 'anteroom token issue'],
  ['token help isue', "unknown command 'isue'", 'anteroom token issue'],
  ['token list --jsn', "unknown option '--jsn'", '--json'],
])('cli: the command line "%s" is an error with a hint', async (line, fault, hint) => {
  const { code, stdout, stderr } = await runInProcess(line.split(' '))
  expect([code, stdout, stderr]).toEqual([2, '', `error: ${fault}\nTry: ${hint}\n`])
})

test('cli: every command has examples with existing commands and options', async () => {
  const program = await createProgram()
  const found: string[] = []
  const visit = (command: Command) => {
    let shown = ''
    command.configureOutput({
      writeOut: (text) => {
        shown += text
      },
    })
    command.outputHelp()
    const shownWith = (shown.split('\nExamples:\n')[1] ?? '').split('\n').filter(Boolean)
    found.push(...shownWith)
    const needsNone = command.commands.length > 0 || ['complete', 'help'].includes(command.name())
    expect([command.name(), needsNone || shownWith.length > 0]).toEqual([command.name(), true])
    command.commands.forEach(visit)
  }
  visit(program)
  expect(found.length).toBeGreaterThan(8)
  for (const line of found) {
    const [first, ...words] = (line.trim().split(/ [|>] /)[0] ?? '').split(' ')
    expect([line, first]).toEqual([line, 'anteroom'])
    const { command, depth } = findCommand(program, words)
    expect([line, depth > 0]).toEqual([line, true])
    const own = words.join(' ').split(' -- ')[0]?.split(' ') ?? []
    const flags = own.filter((word) => /^-./.test(word)).map((word) => word.split('=')[0])
    const known = command.options.flatMap(({ long, short }) => [long, short])
    expect([line, flags.filter((flag) => !known.includes(flag))]).toEqual([line, []])
  }
})

test('cli: help followed by command words shows the help of that command', async () => {
  for (const words of [['backup', 'drill'], ['token', 'issue'], ['backup']]) {
    const { code, stdout } = await runInProcess(['help', ...words])
    expect([code, stdout]).toEqual([0, (await runInProcess([...words, '--help'])).stdout])
    expect(stdout).toStartWith(`Usage: anteroom ${words.join(' ')} [options]`)
  }
})
