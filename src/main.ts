import { printVersionLine } from './cli/version-line'

const words = process.argv.slice(2)
// Fast path: `--version` does not load the rest of the program.
if (words.length !== 1 || words[0] !== '--version' || !(await printVersionLine())) {
  await import('./production')
  const { logUnanswered, run } = await import('./cli/program')
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) process.on(event, logUnanswered)
  process.exitCode = await run(words)
}
