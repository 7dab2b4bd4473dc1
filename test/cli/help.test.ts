import { expect, test } from 'bun:test'
import type { Command } from 'commander'
import { createProgram } from '../../src/cli/program'
import { runProgram } from '../support/process'

// What every command says of itself, kept as one page so that it is read whenever it changes.
const page = new URL('../../fixtures/help.txt', import.meta.url).pathname

function textsOf(command: Command, words: readonly string[]): string[] {
  command.configureHelp({ helpWidth: 100 })
  const own = `$ ${[...words, '--help'].join(' ')}\n${command.helpInformation()}`
  return [own, ...command.commands.flatMap((below) => textsOf(below, [...words, below.name()]))]
}

test('the help of every command is the agreed one; RENEW_HELP=1 writes it anew', async () => {
  const program = await createProgram()
  const texts = textsOf(program, [program.name()]).join('\n')
  if (process.env.RENEW_HELP) await Bun.write(page, texts)
  expect(texts).toBe(await Bun.file(page).text())
})

test('every command and every option says what it does', async () => {
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

test('help of words tells of the command that they all name', async () => {
  for (const words of [['backup', 'verify'], ['token', 'issue'], ['backup']]) {
    const { code, stdout } = await runProgram(['help', ...words])
    expect([code, stdout]).toEqual([0, (await runProgram([...words, '--help'])).stdout])
    expect(stdout).toStartWith(`Usage: anteroom ${words.join(' ')} [options]`)
  }
})
