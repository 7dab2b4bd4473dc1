import './production'
import { logUnanswered, run } from './cli/program'

// Whoever reads our output may stop reading, as `| head` does: that is no failure of ours.
process.stdout.on('error', (error: { code?: string }) => {
  if (error.code === 'EPIPE') process.exit(0)
  process.stderr.write('anteroom: the output could not be written\n')
  process.exit(1)
})

for (const event of ['uncaughtException', 'unhandledRejection'] as const) process.on(event, logUnanswered)

process.exitCode = await run(process.argv.slice(2))
