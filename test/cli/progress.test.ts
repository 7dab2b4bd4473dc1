import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { startProgress } from '../../src/cli/terminal/progress'

const wasTerminal = process.stderr.isTTY
let written: string[] = []
let spy: ReturnType<typeof spyOn<typeof process.stderr, 'write'>>
beforeEach(() => {
  written = []
  spy = spyOn(process.stderr, 'write').mockImplementation(((text: string) => written.push(text) > 0) as never)
})
afterEach(() => {
  spy.mockRestore()
  process.stderr.isTTY = wasTerminal
})

function reportAll(): void {
  const { progress, end } = startProgress()
  progress('copying', 0)
  progress('copying', 0.001)
  progress('copying', 0.429)
  progress('checking the copy')
  progress('encrypting', 1.02)
  end()
}

test('cli: progress on a terminal overwrites the previous step, and shows the percentage if it is known', () => {
  process.stderr.isTTY = true
  reportAll()
  const shown = ['copying… 0 %', 'copying… 42 %', 'checking the copy…', 'encrypting… 100 %', '']
  expect(written).toEqual(shown.map((text) => `\r\x1b[K${text}`))
})

test('cli: progress prints nothing if stderr is not a terminal', () => {
  process.stderr.isTTY = false
  reportAll()
  expect(written).toEqual([])
})
