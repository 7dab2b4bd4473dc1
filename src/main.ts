import { printVersionLine } from './cli/version-line'

const words = process.argv.slice(2)
// Whoever asks for no more does not wait for the rest to be loaded.
if (words.length !== 1 || words[0] !== '--version' || !(await printVersionLine())) {
  await import('./production')
  const { logUnanswered, run } = await import('./cli/program')
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) process.on(event, logUnanswered)
  process.exitCode = await run(words)
}
